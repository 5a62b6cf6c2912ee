// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `/proc/1`: what can be read about the kernel's own process, and its one thread.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use hadal_hal::cpu;
use hadal_linux::first::{self, NAME, PID};
use hadal_linux::process::Process;
use hadal_topology::Topology;
use hadal_topology::lists::{list, mask};
use hadal_vfs::FileKind;
use hadal_vfs::synthetic::{Child, Children};

use crate::machine_files::ticks;
use crate::{number_after, proc_file};

/// The directory of the process, or of its thread.
pub(super) struct Entries {
    /// Whose parent it is.
    pub(super) process: &'static Process,
    pub(super) of_thread: bool,
}

/// Content of a file, given the program's process.
type Content = fn(&Process) -> String;

const FILES: [(&str, Content); 9] = [
    ("cmdline", |_| format!("{NAME}\0")),
    ("comm", |_| format!("{NAME}\n")),
    ("loginuid", |_| String::from("4294967295")),
    ("oom_score", |_| String::from("0\n")),
    ("oom_score_adj", |_| String::from("0\n")),
    ("stat", stat),
    ("statm", |_| String::from("0 0 0 0 0 0 0\n")),
    ("status", |_| status()),
    ("wchan", |_| String::from("0")),
];

impl Children for Entries {
    fn lookup(&self, name: &[u8]) -> Option<Child> {
        let process = self.process;
        if name == b"task" && !self.of_thread {
            return Some(Child::Directory(Arc::new(Threads { process })));
        }
        let &(_, content) = FILES.iter().find(|(file, _)| file.as_bytes() == name)?;
        Some(proc_file(move || Ok(content(process).into_bytes())))
    }

    fn list(&self) -> hadal_vfs::Result<Vec<(Vec<u8>, FileKind)>> {
        let task = (!self.of_thread).then(|| (b"task".to_vec(), FileKind::Directory));
        let files = FILES.iter().map(|(name, _)| (name.as_bytes().to_vec(), FileKind::Regular));
        Ok(task.into_iter().chain(files).collect())
    }
}

/// `task`.
struct Threads {
    process: &'static Process,
}

impl Children for Threads {
    fn lookup(&self, name: &[u8]) -> Option<Child> {
        let process = self.process;
        (number_after(name, "") == Some(PID as usize))
            .then(|| Child::Directory(Arc::new(Entries { process, of_thread: true })))
    }

    fn list(&self) -> hadal_vfs::Result<Vec<(Vec<u8>, FileKind)>> {
        Ok([(format!("{PID}").into_bytes(), FileKind::Directory)].into())
    }
}

/// The 52 numbers of proc(5), as for a kernel thread: no memory, no terminal.
fn stat(process: &Process) -> String {
    let ran = ticks(first::run_time_ns(process));
    let before = format!("{PID} ({NAME}) S 0 {PID} {PID} 0 -1 0 0 0 0 0 0 {ran} 0 0 20 0 1 0 0 0 0");
    format!("{before} {}{}\n", u64::MAX, " 0".repeat(27))
}

fn status() -> String {
    let (cpus, zones) = (cpu::count(), Topology::get().zones);
    let all = |_| true;
    let sets = ["SigPnd", "ShdPnd", "SigBlk", "SigIgn", "SigCgt"].map(|set| format!("{set}:\t{:016x}\n", 0));
    format!(
        "Name:\t{NAME}\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t{PID}\nNgid:\t0\nPid:\t{PID}\nPPid:\t0\n\
         TracerPid:\t0\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nFDSize:\t64\nGroups:\t\nThreads:\t1\n{}\
         Cpus_allowed:\t{}\nCpus_allowed_list:\t{}\nMems_allowed:\t{}\nMems_allowed_list:\t{}\n",
        sets.concat(),
        mask(cpus, all),
        list(cpus, all),
        mask(zones, all),
        list(zones, all),
    )
}
