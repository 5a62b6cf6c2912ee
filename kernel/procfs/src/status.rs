// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `/proc/PID/status`, `stat` and `statm`.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write};
use core::sync::atomic::Ordering;

use hadal_hal::cpu;
use hadal_linux::credentials::Ids;
use hadal_linux::family;
use hadal_linux::process::Process;
use hadal_linux::signal::SigSet;
use hadal_linux::task::{NAME_LEN, Task};
use hadal_linux::tty;
use hadal_mem::space::{Name, PAGE_SIZE, Prot, VmaFlags};
use hadal_topology::Topology;
use hadal_topology::lists::{list, mask};

use crate::backward::{Backward, DIGITS_MAX};
use crate::machine_files::ticks;
use crate::process_files;

/// Sizes of the parts of a program, in bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Sizes {
    data: usize,
    stack: usize,
    code: usize,
    libraries: usize,
}

impl Sizes {
    /// Linux's division, which `RLIMIT_DATA` follows: executable mappings that are not data are the program's or a library's.
    fn of(process: &Process) -> Self {
        let mut sizes = Self::default();
        let program = process.program();
        process.space().vmas(&mut |vma| {
            let len = vma.end - vma.start;
            if vma.flags.contains(VmaFlags::STACK) && vma.name == Name::Static("[stack]") {
                sizes.stack += len;
            } else if vma.prot.contains(Prot::EXEC) && !vma.prot.contains(Prot::WRITE) {
                let own = matches!(&vma.name, Name::Path(path) if path.as_bytes() == program.executable);
                *(if own { &mut sizes.code } else { &mut sizes.libraries }) += len;
            } else if vma.is_data() {
                sizes.data += len;
            }
        });
        sizes
    }
}

/// The letter and the word for what a thread does.
fn state(process: &Process, task: &Task) -> (char, &'static str) {
    if !family::is_alive(process) {
        return ('Z', "zombie");
    }
    if task.signals.is_stopped() {
        return ('T', "stopped");
    }
    if task.thread().is_parked() { ('S', "sleeping") } else { ('R', "running") }
}

pub(super) fn statm(process: &Process) -> String {
    let (stats, sizes) = (process.space().stats(), Sizes::of(process));
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

/// Bytes that `stat` takes at most: 20 numbers, the name, and fixed text.
const STAT_BYTES: usize = 20 * (DIGITS_MAX + 1) + NAME_LEN + 128;

/// The 52 numbers of proc(5); 0 where there is nothing of the kind. Monitors read them all the time.
pub(super) fn stat(process: &Process, task: &Task, of_thread: bool) -> Vec<u8> {
    let stats = process.space().stats();
    let (faults, reads) = (stats.faults.saturating_sub(stats.file_reads), stats.file_reads);
    let run_ns = if of_thread { task.thread().run_time_ns() } else { process.run_time_ns() };
    let pid = if of_thread { task.tid() } else { process.pid() };
    let resident_limit = process.limits.lock()[linux_raw_sys::general::RLIMIT_RSS as usize].soft;
    // From the last number to the first.
    let mut text = Backward::<STAT_BYTES>::new();
    // Real-time priority, policy, delays, guest times, places of data, arguments and environment, exit code.
    text.number_and(task.thread().cpu() as u64, b" 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
    // Wait channel, swapped pages, exit signal.
    text.number_and(process.signals.caught().bits(), b" 0 0 0 17 ");
    text.number_and(process.signals.ignored_on_request().bits(), b" ");
    text.number_and(task.signals.mask().bits(), b" ");
    text.number_and(task.signals.pending().bits(), b" ");
    // Stack and instruction pointer.
    text.number_and(process.stack_start.load(Ordering::Relaxed) as u64, b" 0 0 ");
    // Start and end of code.
    text.number_and(resident_limit, b" 0 0 ");
    text.number_and((stats.resident_bytes / PAGE_SIZE) as u64, b" ");
    text.number_and(stats.mapped_bytes as u64, b" ");
    text.number_and(ticks(process.started_ns()), b" ");
    // Time until a timer expires.
    text.number_and(process.thread_count() as u64, b" 0 ");
    // Time in the kernel, times of children, priority and nice value.
    match (task.schedule.priority().cast_signed(), task.schedule.nice()) {
        (0, 0) => text.bytes(b"20 0 "),
        (realtime, nice) => {
            text.bytes(b" ");
            text.signed(nice);
            text.bytes(b" ");
            text.signed(if realtime == 0 { 20 + nice } else { -1 - realtime });
        }
    }
    text.number_and(ticks(run_ns), b" 0 0 0 ");
    // Of children.
    text.number_and(reads, b" 0 ");
    text.number_and(faults, b" 0 ");
    let (group, session) = family::group_and_session(process);
    // Terminal, foreground group there, flags.
    match tty::of(process) {
        None => text.number_and(session.into(), b" 0 -1 0 "),
        Some((device, foreground)) => {
            text.number_and(foreground.into(), b" 0 ");
            text.number_and(device.into(), b" ");
            text.number_and(session.into(), b" ");
        }
    }
    text.number_and(group.into(), b" ");
    text.number_and(family::parent_id(process).into(), b" ");
    text.bytes(&[b')', b' ', state(process, task).0 as u8, b' ']);
    text.text(process_files::name_of(&task.name()));
    text.bytes(b" (");
    text.number(pid.into());
    text.to_vec()
}

pub(super) fn status(process: &Process, task: &Task) -> String {
    let mut text = String::new();
    let _ = write_status(&mut text, process, task);
    text
}

fn write_status(text: &mut String, process: &Process, task: &Task) -> fmt::Result {
    let (letter, word) = state(process, task);
    let credentials = &process.credentials;
    writeln!(text, "Name:\t{}", String::from_utf8_lossy(process_files::name_of(&task.name())))?;
    writeln!(text, "Umask:\t{:04o}", process.look_at_umask())?;
    writeln!(text, "State:\t{letter} ({word})")?;
    writeln!(text, "Tgid:\t{}\nNgid:\t0\nPid:\t{}", process.pid(), task.tid())?;
    writeln!(text, "PPid:\t{}\nTracerPid:\t0", family::parent_id(process))?;
    for (name, ids) in [("Uid", credentials.user()), ("Gid", credentials.group())] {
        // The last is for files, where the effective one is used.
        let Ids { real, effective, saved } = ids;
        writeln!(text, "{name}:\t{real}\t{effective}\t{saved}\t{effective}")?;
    }
    let last = process.look_at_files(|files| files.taken(0, u32::MAX).last());
    writeln!(text, "FDSize:\t{}", last.map_or(64, |last| (last as usize + 1).next_multiple_of(64)))?;
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
    let (stats, sizes) = (process.space().stats(), Sizes::of(process));
    let figures = [
        ("VmPeak", stats.mapped_peak_bytes),
        ("VmSize", stats.mapped_bytes),
        ("VmLck", process.space().locked_bytes()),
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
