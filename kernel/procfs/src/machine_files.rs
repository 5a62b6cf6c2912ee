// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The files of `/proc` about the machine as a whole, but for memory.

use alloc::format;
use alloc::string::String;
use core::fmt::Write;

use hadal_hal::cpu;
use hadal_hal::cpu::percpu;
use hadal_linux::release;
use hadal_linux::sysv::listing;
use hadal_linux::task::Task;
use hadal_vfs::synthetic::Directory;

use crate::{add_text, cpuinfo};

/// Ticks per second of `/proc` (`sysconf(_SC_CLK_TCK)`).
const TICKS_PER_SECOND: u64 = 100;
const NS_PER_TICK: u64 = hadal_time::NS_PER_SECOND / TICKS_PER_SECOND;

/// Nanoseconds as ticks.
pub(super) fn ticks(ns: u64) -> u64 {
    ns / NS_PER_TICK
}

pub(super) fn add(proc: &Directory, command_line: &'static str) {
    add_text(proc, "cpuinfo", cpuinfo::text);
    add_text(proc, "stat", stat);
    add_text(proc, "uptime", || uptime(hadal_time::now_ns(), idle_times().sum()));
    add_text(proc, "loadavg", loadavg);
    proc.text("version", format!("Linux version {} {}\n", release::RELEASE, release::VERSION));
    proc.text("cmdline", format!("{command_line}\n"));
    proc.text("filesystems", "nodev\tsysfs\nnodev\ttmpfs\nnodev\tproc\nnodev\tdevtmpfs\nnodev\t9p\n");
    proc.text("swaps", "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n");
    proc.symlink("mounts", "self/mounts");
    proc.file("sysvipc/shm", || listing::shm().map(String::into_bytes));
    proc.file("sysvipc/sem", || listing::sem().map(String::into_bytes));
    proc.file("sysvipc/msg", || listing::msg().map(String::into_bytes));
}

/// Time that each CPU had nothing to do.
fn idle_times() -> impl Iterator<Item = u64> {
    (0..cpu::count()).map(hadal_sched::idle_time_ns)
}

/// Seconds with two digits behind the point.
fn seconds(ns: u64) -> String {
    let hundredths = ns / 10_000_000;
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

fn uptime(now_ns: u64, idle_ns: u64) -> String {
    format!("{} {}\n", seconds(now_ns), seconds(idle_ns))
}

/// Threads of the calling program that run or could run, and all of its threads.
fn thread_counts() -> (usize, usize) {
    let process = Task::current().try_process();
    process.map_or((0, 0), |process| (process.runnable_count(), process.thread_count()))
}

/// Nobody takes samples of the load, so the averages are what the load is now.
fn loadavg() -> String {
    let (runnable, all) = thread_counts();
    let last = Task::current().try_process().and_then(|process| process.thread_ids().last());
    format!("{runnable}.00 {runnable}.00 {runnable}.00 {runnable}/{all} {}\n", last.unwrap_or(0))
}

fn stat() -> String {
    let now = hadal_time::now_ns();
    let mut text = String::new();
    // Writing to a string cannot fail.
    let mut cpu_line = |name: &str, elapsed: u64, idle: u64| {
        let (busy, idle) = (ticks(elapsed.saturating_sub(idle)), ticks(idle));
        let _ = writeln!(text, "{name} {busy} 0 0 {idle} 0 0 0 0 0 0");
    };
    cpu_line("cpu ", now * cpu::count() as u64, idle_times().sum());
    for (cpu, idle) in idle_times().enumerate() {
        cpu_line(&format!("cpu{cpu}"), now, idle);
    }
    let interrupts = percpu::counters().interrupts;
    let (runnable, all) = thread_counts();
    let booted = (hadal_time::realtime_ns() - now as i64) / hadal_time::NS_PER_SECOND as i64;
    let _ = writeln!(
        text,
        "intr {interrupts}\nctxt {}\nbtime {booted}\nprocesses {all}\nprocs_running {runnable}\nprocs_blocked 0",
        hadal_sched::counters().switches
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_two_decimals() {
        assert_eq!(uptime(12_345_678_901, 2_009_999_999), "12.34 2.00\n");
        assert_eq!(ticks(1_239_999_999), 123);
    }
}
