// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the scheduler counts, per CPU.

use hadal_hal::sync::atomic::{AtomicU64, Ordering};

use crate::cpus::{self, Cpu};

/// A number that one CPU counts up, with interrupts off, and all may read.
#[derive(Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    /// One more. No read-modify-write instruction: nobody else writes.
    #[inline(always)]
    pub(crate) fn up(&self) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    /// So many more.
    pub(crate) fn add(&self, more: u64) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The numbers of one CPU.
#[derive(Default)]
pub(crate) struct CpuCounters {
    pub(crate) switches: Count,
    pub(crate) wakes: Count,
    pub(crate) kicks: Count,
    pub(crate) steals: Count,
    pub(crate) preemptions: Count,
    pub(crate) missed: Count,
    pub(crate) rests: Count,
    pub(crate) joins: Count,
    pub(crate) growth_flushes: Count,
}

/// Numbers since boot.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    /// Switches from one thread to another.
    pub switches: u64,
    /// Threads made runnable.
    pub wakes: u64,
    /// Interrupts sent so that another CPU looks at its inbox.
    pub kicks: u64,
    /// Threads given to an idle CPU that asked.
    pub steals: u64,
    /// Threads that lost the CPU to a more urgent one or at the end of a slice.
    pub preemptions: u64,
    /// Deadlines that admitted threads have missed.
    pub deadlines_missed: u64,
    /// Stores that did not end a sleep on them, so that the timer had to.
    pub missed_stores: u64,
    /// Times a CPU rested because its thread was spinning and the host has too few cores.
    pub rests: u64,
    /// Threads that waited actively and went to a busy CPU, since the host has too few cores.
    pub joins: u64,
    /// Flushes that let an emulated processor's TLB grow.
    pub growth_flushes: u64,
}

impl Counters {
    fn of(cpu: &Cpu) -> Self {
        let counts = &cpu.counters;
        Self {
            switches: counts.switches.get(),
            wakes: counts.wakes.get(),
            kicks: counts.kicks.get(),
            steals: counts.steals.get(),
            preemptions: counts.preemptions.get(),
            deadlines_missed: counts.missed.get(),
            missed_stores: cpu.store_watch.missed.get(),
            rests: counts.rests.get(),
            joins: counts.joins.get(),
            growth_flushes: counts.growth_flushes.get(),
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            switches: self.switches + other.switches,
            wakes: self.wakes + other.wakes,
            kicks: self.kicks + other.kicks,
            steals: self.steals + other.steals,
            preemptions: self.preemptions + other.preemptions,
            deadlines_missed: self.deadlines_missed + other.deadlines_missed,
            missed_stores: self.missed_stores + other.missed_stores,
            rests: self.rests + other.rests,
            joins: self.joins + other.joins,
            growth_flushes: self.growth_flushes + other.growth_flushes,
        }
    }
}

/// Sums over all CPUs.
pub fn counters() -> Counters {
    cpus::iter().map(Counters::of).fold(Counters::default(), Counters::plus)
}

/// Those of one CPU.
///
/// # Panics
/// If there is no such CPU.
pub fn counters_of(cpu: usize) -> Counters {
    Counters::of(cpus::of(cpu))
}
