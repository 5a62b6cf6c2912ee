// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The answers of the shell: threads, CPUs, memory, counters, modules.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write;

use hadal_hal::cpu;
use hadal_hal::cpu::percpu;
use hadal_linux::task::Task;
use hadal_mem::frames::{self, ZoneId};
use hadal_sched::Thread;
use hadal_shell::Align::{Left, Right};
use hadal_shell::Table;

use crate::counters;

const MIB: u64 = 1 << 20;

/// Every live thread.
pub(super) fn threads() -> Table {
    let mut table = Table::new(&[
        ("id", Right),
        ("name", Left),
        ("state", Left),
        ("cpu", Right),
        ("policy", Left),
        ("priority", Right),
        ("run time", Right),
        ("switches", Right),
        ("waits for", Left),
    ]);
    let idle: Vec<u32> = (0..cpu::count()).map(hadal_sched::idle_thread).collect();
    for thread in hadal_sched::threads().filter(|thread| thread.is_live()) {
        let info = thread.info();
        let bound = if info.bound.is_some() { "=" } else { "" };
        table.row(&[
            &thread.id(),
            &name(thread, &idle),
            &words(&format!("{:?}", info.state)),
            &format!("{bound}{}", info.cpu),
            &words(&format!("{:?}", info.policy)),
            &info.priority,
            &Milliseconds(info.run_ns),
            &info.switches,
            &waits_for(thread, &info),
        ]);
    }
    table
}

fn name(thread: &Thread, idle: &[u32]) -> String {
    if idle.contains(&thread.id()) {
        return "(idle)".into();
    }
    let task = Task::of(hadal_sched::thread(thread.id()));
    if task.try_process().is_none() {
        return "(kernel)".into();
    }
    let name = task.name();
    let len = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
    String::from_utf8_lossy(&name[..len]).into_owned()
}

/// A name of a Rust value as words: `RoundRobin` is "round robin".
fn words(name: &str) -> String {
    let mut text = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !text.is_empty() {
            text.push(' ');
        }
        text.extend(c.to_lowercase());
    }
    text
}

fn waits_for(thread: &Thread, info: &hadal_sched::Info) -> String {
    match (info.state, thread.waits_for()) {
        (hadal_sched::State::Waiting, Some((what, 0))) => (*what).into(),
        (hadal_sched::State::Waiting, Some((what, which))) => format!("{what} {which:#x}"),
        _ => String::new(),
    }
}

/// A time in milliseconds, with three digits behind the point.
struct Milliseconds(u64);

impl core::fmt::Display for Milliseconds {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}.{:03} ms", self.0 / 1_000_000, self.0 / 1000 % 1000)
    }
}

/// Every CPU.
pub(super) fn cpus() -> Table {
    let mut table = Table::new(&[
        ("cpu", Right),
        ("zone", Right),
        ("idle", Right),
        ("switches", Right),
        ("interrupts", Right),
        ("waiting", Right),
    ]);
    let now_ns = hadal_time::now_ns().max(1);
    for cpu in 0..cpu::count() {
        let idle_ns = hadal_sched::idle_time_ns(cpu).min(now_ns);
        table.row(&[
            &cpu,
            &frames::global().cpu_zone(cpu).0,
            &format!("{}%", idle_ns.saturating_mul(100) / now_ns),
            &hadal_sched::counters_of(cpu).switches,
            &percpu::interrupts_of(cpu),
            &hadal_sched::run_queue_length(cpu),
        ]);
    }
    table
}

/// Every zone, and the kernel's heap.
pub(super) fn memory() -> String {
    let frames = frames::global();
    let mut table = Table::new(&[("zone", Right), ("total", Right), ("free", Right), ("most used", Right)]);
    for zone in 0..frames.zone_count() {
        let stats = frames.zone_stats(ZoneId(zone as u8));
        let [total, free, high] = [stats.total_bytes, stats.free_bytes, stats.high_water_bytes]
            .map(|bytes| format!("{} MiB", bytes / MIB));
        table.row(&[&zone, &total, &free, &high]);
    }
    let mut text = table.to_string();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "the kernel's heap has {} KiB", hadal_hal::memory::heap::bytes() >> 10);
    text
}

/// Everything that the kernel counts.
pub(super) fn counters() -> String {
    let mut table = Table::new(&[("counter", Left), ("value", Right)]);
    for counter in counters::list() {
        table.row(&[&counter.name, &counter.value]);
    }
    table.to_string()
}

/// The program's modules.
pub(super) fn modules() -> Table {
    let mut table = Table::new(&[("module", Left), ("bytes", Right)]);
    for module in hadal_hrt::module::modules() {
        table.row(&[&module.name.to_string_lossy(), &module.content.len()]);
    }
    table
}
