// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Machines with more CPUs than their host has cores.
//!
//! To wake a CPU takes the host much longer than to switch threads takes this kernel, and no more CPUs run at once than
//! there are cores. So threads that pass something round stay on as many CPUs: a woken one goes to another CPU only while
//! fewer are busy than there are cores, and so many poll when they have nothing to do (`balance.rs`, `idle.rs`). Threads
//! that do not wait are spread over all CPUs at the end of a slice, for the host to share its cores among them.
//!
//! A program that spins with `sched_yield` while it waits for another thread asks to let others run. When no other thread is
//! ready here the others are on other CPUs, which the host may not be running: then the thread joins a busy CPU, to give way
//! to them there, or the CPU halts for a moment instead of keeping a core from them. `spin.rs` does the same for loops with
//! PAUSE. On a machine with a core for each CPU none of this happens.

use hadal_hal::cpu;
use hadal_hal::cpu::percpu;
use hadal_hal::interrupts::irq;
use hadal_hal::sync::atomic::{AtomicUsize, Ordering};

use crate::cpus::current;
use crate::{balance, cpus, quick, spin, switch, timers};

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
    is_set() && CORES.load(Ordering::Relaxed) + balance::IDLE.len() + spin::resting() < cpu::count()
}

/// Whether one more CPU can be busy without taking a core from another: always where each has its own.
pub(crate) fn has_core_left() -> bool {
    !is_set() || busy_cpus() < CORES.load(Ordering::Relaxed)
}

/// Whether an idle CPU of an overcommitted machine may poll for work: no more do than there are cores left.
pub(crate) fn may_poll() -> bool {
    busy_cpus() + balance::AWAKE.len() < CORES.load(Ordering::Relaxed)
}

fn busy_cpus() -> usize {
    cpu::count() - balance::IDLE.len()
}

/// A program's yield: lets another ready thread of this CPU run, or another CPU of an overcommitted machine. For threads
/// with interrupts on.
pub fn yield_to_all() {
    if is_set() {
        return yield_when_overcommitted();
    }
    quick::yield_full();
}

#[inline(never)]
fn yield_when_overcommitted() {
    note_yield(switch::yield_now());
}

/// A program's yield is done, and another thread has run or not. Interrupts are on.
pub(crate) fn note_yield(gave_way: bool) {
    let own = cpus::this();
    if !is_set() {
        return;
    }
    if gave_way {
        current().seen.note_gave_way();
        own.fruitless_yields.store(0, Ordering::Relaxed);
        return;
    }
    if own.fruitless_yields.fetch_add(1, Ordering::Relaxed) >= PATIENCE
        && is_crowded()
        && !switch::join_busy_cpu()
    {
        let mut masked = irq::mask();
        let own = cpus::this();
        // Another thread may have come meanwhile.
        if !own.is_wanted() && percpu::pending_attention() == 0 {
            timers::interrupt_within(REST_NS);
            cpu::wait_for_interrupt(&mut masked);
        }
        masked.unmask();
    }
}
