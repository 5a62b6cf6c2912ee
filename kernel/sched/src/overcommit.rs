// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Machines with more CPUs than their host has cores.
//!
//! A program that spins with `sched_yield` while it waits for another thread asks to let others run. When no other thread is
//! ready here the others are on other CPUs, which the host may not be running: on such a machine the CPU halts for a
//! moment instead of keeping a core from them. On a machine with a core for each CPU this never happens.

use hadal_hal::atomic::{AtomicUsize, Ordering};
use hadal_hal::{cpu, irq};

use crate::{balance, cpus, spin, switch, timers};

/// Yields in a row, without another thread to run, after which a CPU rests.
const PATIENCE: u32 = 16;
/// How long it rests, unless an interrupt comes first.
const REST_NS: u64 = 500_000;

static CORES: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Says how many cores of the host run this machine's CPUs.
pub fn set_cores(count: usize) {
    CORES.store(count, Ordering::Relaxed);
}

/// How many CPUs of this machine can run at the same time.
pub fn cores() -> usize {
    CORES.load(Ordering::Relaxed).min(cpu::count())
}

/// Whether the machine has more CPUs than its host has cores.
pub(crate) fn is_set() -> bool {
    CORES.load(Ordering::Relaxed) < cpu::count()
}

/// How many CPUs share a core of the host, rounded up.
pub(crate) fn cpus_for_each_core() -> u64 {
    cpu::count().div_ceil(cores().max(1)) as u64
}

/// Whether more CPUs are busy now than the host has cores.
pub(crate) fn is_crowded() -> bool {
    is_set() && CORES.load(Ordering::Relaxed) + balance::idle_cpus() + spin::resting() < cpu::count()
}

/// A program's yield: lets another ready thread of this CPU run, or another CPU of an overcommitted machine. For threads
/// with interrupts on.
pub fn yield_to_all() {
    note_yield(switch::yield_now());
}

/// A program's yield is done, and another thread has run or not. Interrupts are on.
pub(crate) fn note_yield(gave_way: bool) {
    let own = cpus::this();
    if gave_way || !is_set() {
        own.fruitless_yields.store(0, Ordering::Relaxed);
        return;
    }
    if own.fruitless_yields.fetch_add(1, Ordering::Relaxed) >= PATIENCE && is_crowded() {
        let mut masked = irq::mask();
        timers::interrupt_within(REST_NS);
        cpu::wait_for_interrupt(&mut masked);
        masked.unmask();
    }
}
