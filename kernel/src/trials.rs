// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A short trial of the paths that the kernel takes: one thread goes from CPU to CPU, which sleep until it comes (interrupts or
//! stores, idle loop), waits there for the timer, compares the clock and calculates; then two threads with page tables of their
//! own take turns ([`tables`]). For the machine report.

mod tables;

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use hadal_abi::paths::{CpuidLeaf, Path, Paths, Trial};
use hadal_hal::cpu;
use hadal_hal::cpu::fpu;
use hadal_time::now_ns;

use crate::paths;

/// Visits of each CPU.
const ROUNDS: usize = 3;
const WAIT_NS: u64 = 1_000_000;
/// Time for the whole trip, beside its waits: virtual CPUs share few real ones.
const LIMIT_NS_PER_CPU: u64 = 1_000_000_000;

/// How far the trip has come, and what it has seen. One trip is made per boot.
struct Trip {
    visits: AtomicUsize,
    on_the_way_to: AtomicUsize,
    early_wakes: AtomicU64,
    backward_steps: AtomicU64,
    wrong_results: AtomicU64,
    wrong_cpus: AtomicU64,
    over: AtomicBool,
}

static TRIP: Trip = Trip {
    visits: AtomicUsize::new(0),
    on_the_way_to: AtomicUsize::new(0),
    early_wakes: AtomicU64::new(0),
    backward_steps: AtomicU64::new(0),
    wrong_results: AtomicU64::new(0),
    wrong_cpus: AtomicU64::new(0),
    over: AtomicBool::new(false),
};

/// Tries everything, for a kernel thread on the boot CPU, and says what came out. A path that fails altogether makes the
/// machine hang, which the host notices.
pub(crate) fn run() -> Paths {
    let limit = now_ns() + LIMIT_NS_PER_CPU * cpu::count() as u64;
    let begun = match hadal_sched::create(travel, 0, None) {
        Ok(thread) => {
            thread.start();
            Ok(())
        }
        Err(error) => Err(format!("no thread: {error:?}")),
    };
    while begun.is_ok() && !TRIP.over.load(Ordering::Acquire) && now_ns() < limit {
        hadal_sched::sleep_until(now_ns() + WAIT_NS);
    }
    let of_tables = match tables::run(limit) {
        Ok(turns) => Trial::Passed(format!("two at a time on each CPU, {turns} turns")),
        Err(wrong) => Trial::Failed(wrong),
    };
    let trial = |part| match part {
        paths::PAGE_TABLES => of_tables.clone(),
        part => begun.clone().map_or_else(Trial::Failed, |()| trial_of(part)),
    };
    let trials = paths::chosen().into_iter().map(|path| Path {
        part: path.part.to_string(),
        trial: trial(path.part),
        choice: path.choice,
    });
    Paths { paths: trials.collect(), cpuid: leaves() }
}

fn travel(_: usize) -> ! {
    let own = hadal_sched::current();
    let mut last_ns = now_ns();
    for _ in 0..ROUNDS {
        for cpu in 0..cpu::count() {
            TRIP.on_the_way_to.store(cpu, Ordering::Relaxed);
            own.bind(Some(cpu));
            count_if(cpu::current_id() != cpu, &TRIP.wrong_cpus);
            let now = now_ns();
            count_if(now < last_ns, &TRIP.backward_steps);
            hadal_sched::sleep_until(now + WAIT_NS);
            last_ns = now_ns();
            count_if(last_ns < now + WAIT_NS, &TRIP.early_wakes);
            count_if(!fpu::arithmetic_works(), &TRIP.wrong_results);
            TRIP.visits.fetch_add(1, Ordering::Relaxed);
        }
    }
    TRIP.over.store(true, Ordering::Release);
    hadal_sched::exit()
}

fn count_if(wrong: bool, count: &AtomicU64) {
    count.fetch_add(u64::from(wrong), Ordering::Relaxed);
}

fn trial_of(part: &str) -> Trial {
    let visits = TRIP.visits.load(Ordering::Relaxed);
    let failed = |count: &AtomicU64, what: &str| match count.load(Ordering::Relaxed) {
        0 => None,
        times => Some(format!("{what} {times} times")),
    };
    let (wrong, right) = match part {
        "interrupt controller" | "idle" => {
            (failed(&TRIP.wrong_cpus, "a thread was on another CPU"), "sleeping CPUs woke for a thread")
        }
        "timer" => (failed(&TRIP.early_wakes, "it was early"), "it woke a thread on each CPU, never early"),
        "clock" => (failed(&TRIP.backward_steps, "it ran backwards"), "it never ran backwards between CPUs"),
        "vector state" => (failed(&TRIP.wrong_results, "arithmetic was wrong"), "arithmetic was right"),
        _ => return Trial::None,
    };
    if !TRIP.over.load(Ordering::Acquire) {
        let cpu = TRIP.on_the_way_to.load(Ordering::Relaxed);
        return Trial::Failed(format!("CPU {cpu} did not answer after {visits} visits of CPUs"));
    }
    wrong.map_or_else(|| Trial::Passed(format!("{right} ({visits} visits)")), Trial::Failed)
}

/// The trials in words, a line for each.
pub(crate) fn in_words(paths: &Paths) -> String {
    let line = |path: &Path| match &path.trial {
        Trial::Passed(what) => format!("{}: {} (works: {what})\n", path.part, path.choice),
        Trial::Failed(what) => format!("{}: {} (FAILS: {what})\n", path.part, path.choice),
        Trial::None => format!("{}: {}\n", path.part, path.choice),
    };
    paths.paths.iter().map(line).collect()
}

/// The answers of CPUID, all leaves that the processor and a hypervisor have, with the subleaves of those that have some.
fn leaves() -> Vec<CpuidLeaf> {
    const MOST_LEAVES: u32 = 64;
    let mut leaves = Vec::new();
    for first in [0, 0x4000_0000, 0x8000_0000] {
        let last = cpu::cpuid(first, 0)[0];
        let count = last.checked_sub(first).map_or(0, |more| more + 1);
        for leaf in first..first + count.min(MOST_LEAVES) {
            let subleaves = match leaf {
                4 | 0xb | 0xd | 0x8000_001d => 0..8,
                7 => 0..3,
                _ => 0..1,
            };
            leaves.extend(subleaves.map(|subleaf| CpuidLeaf {
                leaf,
                subleaf,
                registers: cpu::cpuid(leaf, subleaf),
            }));
        }
    }
    leaves
}
