// SPDX-License-Identifier: Apache-2.0 OR MIT
//! All counters of the running system in one list: what `--stats` sends at the end and the shell shows.

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Reverse;

use hadal_abi::control::Stats;
use hadal_hal::cpu;
use hadal_hal::cpu::percpu;
use hadal_hal::interrupts::irq;

use crate::{file_pages, run};

/// A counter, named for people: lower-case words, the unit at the end.
pub(crate) struct Counter {
    pub(crate) name: Cow<'static, str>,
    pub(crate) value: u64,
    /// The part of each CPU; none for what does not belong to CPUs.
    pub(crate) by_cpu: Vec<u64>,
}

impl Counter {
    /// A counter that each CPU has for itself.
    fn of_cpus(name: &'static str, of: impl Fn(usize) -> u64) -> Self {
        let by_cpu: Vec<u64> = (0..cpu::count()).map(of).collect();
        Self { name: name.into(), value: by_cpu.iter().sum(), by_cpu }
    }

    /// A counter of the machine.
    fn of_all(name: &'static str, value: u64) -> Self {
        Self { name: name.into(), value, by_cpu: Vec::new() }
    }
}

/// The counters as of now, in the order in which they are to be shown.
pub(crate) fn list() -> Vec<Counter> {
    let memory = hadal_mem::frames::global().stats();
    let prezeroed = hadal_mem::frames::global().prezero_stats();
    let slots = hadal_hrt::counters();
    let pages = file_pages::stats();
    let hardware = percpu::counters_of;
    let sched = hadal_sched::counters_of;
    let mut list = alloc::vec![
        Counter::of_cpus("system calls", |cpu| hardware(cpu).system_calls),
        Counter::of_cpus("interrupts", |cpu| hardware(cpu).interrupts),
        Counter::of_cpus("inter-processor interrupts (IPIs) sent", |cpu| hardware(cpu).ipis_sent),
        Counter::of_cpus("thread switches", |cpu| sched(cpu).switches),
        Counter::of_cpus("wake-ups", |cpu| sched(cpu).wakes),
        Counter::of_cpus("wake-ups that interrupted the CPU (kicks)", |cpu| sched(cpu).kicks),
        Counter::of_cpus("preemptions", |cpu| sched(cpu).preemptions),
        Counter::of_cpus("rests of spinning CPUs, for want of host cores", |cpu| sched(cpu).rests),
        Counter::of_cpus("moves of waiting threads to busy CPUs, likewise", |cpu| sched(cpu).joins),
        Counter::of_cpus("threads taken by idle CPUs", |cpu| sched(cpu).steals),
        Counter::of_cpus("threads ready now", |cpu| hadal_sched::run_queue_length(cpu) as u64),
        Counter::of_cpus("idle time, ns", hadal_sched::idle_time_ns),
        Counter::of_cpus("idle: missed stores", |cpu| sched(cpu).missed_stores),
        Counter::of_cpus("page-table changes", |cpu| hardware(cpu).page_table_changes),
        Counter::of_cpus("TLB flushes that let an emulated TLB grow", |cpu| sched(cpu).growth_flushes),
        Counter::of_all("TLB shootdowns", hadal_hal::memory::tlb::shootdown_count()),
        Counter::of_all("threads alive", hadal_sched::live_threads() as u64),
        Counter::of_all("hrt threads made from waiting slots", slots.taken),
        Counter::of_all("hrt slots taken over from another CPU", slots.moved),
        Counter::of_all("hrt threads that needed a new slot", slots.missed),
        Counter::of_all("hrt slots given back", slots.given_back),
        Counter::of_all("memory in all, bytes", memory.total_bytes),
        Counter::of_all("memory in use, bytes", memory.total_bytes - memory.free_bytes),
        Counter::of_all("memory high-water mark, bytes", memory.high_water_bytes),
        Counter::of_all("pages of 2 MiB that idle CPUs have zeroed", prezeroed.zeroed),
        Counter::of_all("pages of 2 MiB among them that were used", prezeroed.used),
        Counter::of_all("pages of files, bytes", pages.bytes),
        Counter::of_all("pages of files read from the host, requests", pages.reads),
        Counter::of_all("pages of files given back", pages.given_back),
        Counter::of_all("waits for pages being read", pages.waits),
        Counter::of_all("kernel heap, bytes", hadal_hal::memory::heap::bytes()),
        Counter::of_all("time since boot, ns", hadal_time::now_ns()),
    ];
    if let Some(process) = run::process() {
        let space = process.space().stats();
        list.extend([
            Counter::of_all("program memory resident, bytes", space.resident_bytes as u64),
            Counter::of_all("program memory resident at most, bytes", space.resident_peak_bytes as u64),
            Counter::of_all("page faults resolved", space.faults),
        ]);
    }
    list.extend(sections());
    list
}

/// The longest sections with interrupts off, by the place where they begin, the longest first: from the debug kernel only.
fn sections() -> Vec<Counter> {
    let mut by_place: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for cpu in 0..cpu::count() {
        for (place, ticks) in irq::longest_sections(cpu) {
            by_place.entry(place).or_insert_with(|| alloc::vec![0; cpu::count()])[cpu] = ticks;
        }
    }
    let mut list: Vec<Counter> = by_place
        .into_iter()
        .map(|(place, by_cpu)| Counter {
            name: alloc::format!("interrupts off, at most, ticks ({place})").into(),
            value: by_cpu.iter().copied().max().unwrap_or(0),
            by_cpu,
        })
        .collect();
    list.sort_unstable_by_key(|counter| Reverse(counter.value));
    list
}

/// The list for the host.
pub(crate) fn stats() -> Stats {
    let list = list();
    Stats {
        counters: list.iter().map(|counter| (String::from(&*counter.name), counter.value)).collect(),
        by_cpu: list
            .into_iter()
            .filter(|counter| !counter.by_cpu.is_empty())
            .map(|counter| (counter.name.into_owned(), counter.by_cpu))
            .collect(),
    }
}
