// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `/proc/PID/status`, `stat` and `statm`.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write};
use core::sync::atomic::Ordering;

use arrayvec::ArrayVec;
use hadal_hal::cpu;
use hadal_mem::space::{Name, PAGE_SIZE, Prot, VmaFlags};

use super::lists::{list, mask};
use super::machine_files::ticks;
use super::process_files;
use super::topology::Topology;
use crate::credentials::Ids;
use crate::first;
use crate::process::Process;
use crate::signal::SigSet;
use crate::task::{NAME_LEN, Task};

/// Sizes of the parts of a program, in bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Sizes {
    data: usize,
    stack: usize,
    code: usize,
    libraries: usize,
}

impl Sizes {
    /// Linux's division: writable private memory is data, executable mappings are the program's or a library's.
    fn of(process: &Process) -> Self {
        let mut sizes = Self::default();
        process.space.vmas(&mut |vma| {
            let len = vma.end - vma.start;
            if vma.flags.contains(VmaFlags::STACK) && vma.name == Name::Static("[stack]") {
                sizes.stack += len;
            } else if vma.prot.contains(Prot::EXEC) && !vma.prot.contains(Prot::WRITE) {
                let own = matches!(&vma.name, Name::Path(path) if path.as_bytes() == process.executable);
                *(if own { &mut sizes.code } else { &mut sizes.libraries }) += len;
            } else if vma.prot.contains(Prot::WRITE) && !vma.shared {
                sizes.data += len;
            }
        });
        sizes
    }
}

/// The letter and the word for what a thread does.
fn state(task: &Task) -> (char, &'static str) {
    if task.thread().is_parked() { ('S', "sleeping") } else { ('R', "running") }
}

pub(super) fn statm(process: &Process) -> String {
    let (stats, sizes) = (process.space.stats(), Sizes::of(process));
    let pages = |bytes: usize| bytes / PAGE_SIZE;
    alloc::format!(
        "{} {} {} {} 0 {} 0\n",
        pages(stats.mapped_bytes),
        pages(stats.resident_bytes + stats.shared_bytes),
        pages(stats.shared_bytes),
        pages(sizes.code),
        pages(sizes.data + sizes.stack)
    )
}

/// The 52 numbers of proc(5); 0 where there is nothing of the kind.
pub(super) fn stat(process: &Process, task: &Task, of_thread: bool) -> Vec<u8> {
    let stats = process.space.stats();
    let (faults, reads) = (stats.faults.saturating_sub(stats.file_reads), stats.file_reads);
    let run_ns = if of_thread { task.thread().run_time_ns() } else { process.run_time_ns() };
    let pid = if of_thread { task.tid() } else { process.pid() };
    let name = process_files::name(task);
    let resident_limit = process.limits.lock()[linux_raw_sys::general::RLIMIT_RSS as usize].soft;
    let mut text = Numbers::new();
    push_number(&mut text, pid.into());
    text.extend(*b" (");
    text.extend(name);
    text.extend([b')', b' ', state(task).0 as u8]);
    push_number(&mut text, first::PID.into());
    let group = u64::from(process.pid());
    let numbers: [u64; 48] = [
        group, // process group
        group, // session
        0,     // terminal
        u64::MAX,
        0, // flags
        faults,
        0,
        reads,
        0,
        ticks(run_ns), // program
        0,             // kernel
        0,
        0,
        20, // priority
        0,  // nice
        process.thread_count() as u64,
        0,
        ticks(process.started_ns),
        stats.mapped_bytes as u64,
        (stats.resident_bytes / PAGE_SIZE) as u64,
        resident_limit,
        0, // code
        0,
        process.stack_start.load(Ordering::Relaxed) as u64,
        0, // stack and instruction pointer
        0,
        task.signals.pending().bits(),
        task.signals.mask().bits(),
        process.signals.ignored_on_request().bits(),
        process.signals.caught().bits(),
        0, // wait channel
        0,
        0,
        17, // exit signal
        task.thread().cpu() as u64,
        0, // real-time priority
        0, // policy
        0,
        0,
        0,
        0, // data, break, arguments, environment
        0,
        0,
        0,
        0,
        0,
        0,
        0, // exit code
    ];
    for (index, number) in numbers.iter().enumerate() {
        const TERMINAL_GROUP: usize = 3;
        if index == TERMINAL_GROUP {
            text.extend(*b" -1");
        } else {
            push_number(&mut text, *number);
        }
    }
    text.push(b'\n');
    // There is no space before the first number.
    text[1..].to_vec()
}

/// The text of `stat`: 52 numbers of up to 20 digits, a name and a line's end have room.
type Numbers = ArrayVec<u8, { 52 * 21 + NAME_LEN + 4 }>;

/// Adds a space and a number: what makes up most of `stat`, which monitors read all the time.
fn push_number(text: &mut Numbers, number: u64) {
    text.push(b' ');
    let start = text.len();
    let mut left = number;
    while left > 9 {
        text.push(b'0' + (left % 10) as u8);
        left /= 10;
    }
    text.push(b'0' + left as u8);
    if number > 9 {
        text[start..].reverse();
    }
}

pub(super) fn status(process: &Process, task: &Task) -> String {
    let mut text = String::new();
    let _ = write_status(&mut text, process, task);
    text
}

fn write_status(text: &mut String, process: &Process, task: &Task) -> fmt::Result {
    let (letter, word) = state(task);
    let credentials = &process.credentials;
    writeln!(text, "Name:\t{}", String::from_utf8_lossy(&process_files::name(task)))?;
    writeln!(text, "Umask:\t{:04o}", process.umask.load(Ordering::Relaxed))?;
    writeln!(text, "State:\t{letter} ({word})")?;
    writeln!(text, "Tgid:\t{}\nNgid:\t0\nPid:\t{}", process.pid(), task.tid())?;
    writeln!(text, "PPid:\t{}\nTracerPid:\t0", first::PID)?;
    for (name, ids) in [("Uid", credentials.user()), ("Gid", credentials.group())] {
        // The last is for files, where the effective one is used.
        let Ids { real, effective, saved } = ids;
        writeln!(text, "{name}:\t{real}\t{effective}\t{saved}\t{effective}")?;
    }
    writeln!(
        text,
        "FDSize:\t{}",
        process.files.taken(0, u32::MAX).last().map_or(64, |last| (last as usize + 1).next_multiple_of(64))
    )?;
    let groups: Vec<String> = credentials.groups.iter().map(|group| alloc::format!("{group} ")).collect();
    writeln!(text, "Groups:\t{}", groups.concat())?;
    memory(text, process)?;
    writeln!(text, "Threads:\t{}", process.thread_count())?;
    let queue_limit = process.limits.lock()[linux_raw_sys::general::RLIMIT_SIGPENDING as usize].soft;
    writeln!(text, "SigQ:\t0/{queue_limit}")?;
    let sets: [(&str, SigSet); 5] = [
        ("SigPnd", task.signals.pending()),
        ("ShdPnd", process.signals.pending()),
        ("SigBlk", task.signals.mask()),
        ("SigIgn", process.signals.ignored_on_request()),
        ("SigCgt", process.signals.caught()),
    ];
    for (name, set) in sets {
        writeln!(text, "{name}:\t{:016x}", set.bits())?;
    }
    // No call here needs a capability.
    for name in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        writeln!(text, "{name}:\t{:016x}", 0)?;
    }
    writeln!(text, "NoNewPrivs:\t0\nSeccomp:\t0")?;
    let (cpus, affinity) = (cpu::count(), task.thread().affinity());
    let allowed = |cpu| affinity.as_ref().is_none_or(|set| set.contains(cpu));
    writeln!(text, "Cpus_allowed:\t{}\nCpus_allowed_list:\t{}", mask(cpus, allowed), list(cpus, allowed))?;
    let zones = Topology::get().zones;
    writeln!(text, "Mems_allowed:\t{}\nMems_allowed_list:\t{}", mask(zones, |_| true), list(zones, |_| true))
}

fn memory(text: &mut String, process: &Process) -> fmt::Result {
    let (stats, sizes) = (process.space.stats(), Sizes::of(process));
    let figures = [
        ("VmPeak", stats.mapped_peak_bytes),
        ("VmSize", stats.mapped_bytes),
        ("VmLck", process.space.locked_bytes()),
        ("VmPin", 0),
        ("VmHWM", stats.resident_peak_bytes),
        ("VmRSS", stats.resident_bytes + stats.shared_bytes),
        ("RssAnon", stats.resident_bytes),
        ("RssFile", 0),
        ("RssShmem", stats.shared_bytes),
        ("VmData", sizes.data),
        ("VmStk", sizes.stack),
        ("VmExe", sizes.code),
        ("VmLib", sizes.libraries),
        ("VmSwap", 0),
    ];
    for (name, bytes) in figures {
        writeln!(text, "{name}:\t{:>8} kB", bytes >> 10)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_usual() {
        for number in [0, 7, 10, 4096, 18_446_744_073_709_551_615] {
            let mut text = Numbers::new();
            push_number(&mut text, number);
            assert_eq!(text[..], *alloc::format!(" {number}").as_bytes());
        }
    }
}
