// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Flushes that let an emulated processor's TLB grow.
//!
//! QEMU's translator keeps a table of translations for each CPU, and looks whether the table is too small, or too large, only
//! when the CPU flushes it (`tlb_mmu_resize_locked` in QEMU's `accel/tcg/cputlb.c`): by at most a factor of two each time. A
//! machine on which one program computes without a fault never flushes, and goes on with a table for 1 MiB: each access beyond
//! that costs a walk of the page tables. So a CPU that runs threads there flushes now and then: soon after each other at first,
//! then rarely, since what a flush has dropped must be walked for again. On other processors none of this happens.

use hadal_hal::memory::tlb;
use hadal_hal::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use hadal_time::now_ns;

use crate::cpus::{self, Cpu};
use crate::timers;

/// Time to the first flush; each further one comes after twice the time of the one before.
const FIRST_NS: u64 = 1_000_000;
/// The longest time between two: a table of a million translations takes some 0.1 s to fill.
const LONGEST_NS: u64 = 512_000_000;
const NEVER: u64 = u64::MAX;

static IS_ON: AtomicBool = AtomicBool::new(false);

/// When a CPU flushes next. Only that CPU uses it, with interrupts off.
pub(crate) struct TlbGrowth {
    /// Or [`NEVER`].
    at_ns: AtomicU64,
    /// Time from one flush to the next.
    period_ns: AtomicU64,
}

impl TlbGrowth {
    pub(crate) fn new() -> Self {
        Self { at_ns: AtomicU64::new(NEVER), period_ns: AtomicU64::new(FIRST_NS) }
    }

    /// When the timer has to interrupt this CPU for a flush.
    pub(crate) fn at_ns(&self) -> u64 {
        self.at_ns.load(Ordering::Relaxed)
    }

    fn begin(&self) {
        let period_ns = self.period_ns.load(Ordering::Relaxed);
        self.at_ns.store(now_ns() + period_ns, Ordering::Relaxed);
        timers::interrupt_within(period_ns);
    }
}

/// Says that this machine's processors are emulated by QEMU's translator; the calling thread's CPU begins at once.
pub fn let_tlbs_grow() {
    IS_ON.store(true, Ordering::Relaxed);
    let _irq = hadal_hal::interrupts::irq::disable();
    begin(cpus::this());
}

/// A CPU that was idle has a thread to run. Interrupts are off.
#[inline]
pub(crate) fn begin(own: &Cpu) {
    if IS_ON.load(Ordering::Relaxed) && own.tlb_growth.at_ns() == NEVER {
        own.tlb_growth.begin();
    }
}

/// In each timer interrupt: flushes if that is due. An idle CPU goes on when it has something to run.
pub(crate) fn flush_if_due(own: &Cpu, is_idle: bool, now_ns: u64) {
    let growth = &own.tlb_growth;
    if now_ns < growth.at_ns() {
        return;
    }
    if is_idle {
        growth.at_ns.store(NEVER, Ordering::Relaxed);
        return;
    }
    tlb::flush_local();
    own.counters.growth_flushes.up();
    let period_ns = (growth.period_ns.load(Ordering::Relaxed) * 2).min(LONGEST_NS);
    growth.period_ns.store(period_ns, Ordering::Relaxed);
    growth.at_ns.store(now_ns + period_ns, Ordering::Relaxed);
}
