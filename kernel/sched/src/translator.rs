// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What CPUs do for QEMU's translator, where it executes their instructions: each interrupts its program every 4 ms.
//!
//! The translator uses instructions of the host with 256 bits for the program's (AVX2), and functions compiled for SSE for
//! others, among them all floating-point arithmetic. On processors where the change between the two kinds is slow while the upper
//! halves of vector registers are in use (Intel Optimization Reference Manual, "Mixing AVX Code with SSE Code"), a program's first instruction
//! of 256 bits, as in glibc's `memcpy`, makes everything behind it up to thirty times slower, until translated code is left: there
//! the translator clears the upper halves (`tcg_target_qemu_prologue` in QEMU's `tcg/i386/tcg-target.c.inc`). A program that
//! computes does not leave it by itself, but for interrupts. NAS MG, class W, took 18 s with two threads instead of 3.
//!
//! An interrupt took some 20 us of the CPU on a slow host. A period of 1 ms was slower than 4 ms, which is also that of a Linux
//! guest's ticks, once glibc did not use 256 bits for copies any more (decision 0049).
//!
//! The same interrupts serve `tlb_growth.rs`. On other processors none of this happens.

use hadal_hal::interrupts::irq;
use hadal_hal::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use hadal_time::now_ns;

use crate::cpus::{self, Cpu};
use crate::tlb_growth::{self, TlbGrowth};
use crate::{overcommit, timers};

/// Time from one interrupt to the next, for each CPU that shares the core of the host.
const PERIOD_NS: u64 = 4_000_000;
const NEVER: u64 = u64::MAX;

static IS_ON: AtomicBool = AtomicBool::new(false);

/// Of one CPU, which alone uses it, with interrupts off.
pub(crate) struct Translator {
    /// When the timer has to interrupt the CPU, or [`NEVER`].
    at_ns: AtomicU64,
    pub(crate) growth: TlbGrowth,
}

impl Translator {
    pub(crate) fn new() -> Self {
        Self { at_ns: AtomicU64::new(NEVER), growth: TlbGrowth::new() }
    }

    /// When the timer has to interrupt this CPU.
    pub(crate) fn at_ns(&self) -> u64 {
        self.at_ns.load(Ordering::Relaxed)
    }

    #[cold]
    fn start(&self) {
        let period_ns = period_ns();
        self.at_ns.store(now_ns() + period_ns, Ordering::Relaxed);
        timers::interrupt_within(period_ns);
    }
}

/// CPUs beyond the cores of the host run less often, and all together they should not take more of it.
fn period_ns() -> u64 {
    PERIOD_NS * overcommit::cpus_for_each_core()
}

/// Says that this machine's processors are emulated by QEMU's translator, and how to ask for the bytes of memory in use, in
/// interrupt context; the calling thread's CPU begins at once.
pub fn serve_translator(memory_in_use: fn() -> u64) {
    tlb_growth::set_memory_in_use(memory_in_use);
    IS_ON.store(true, Ordering::Relaxed);
    let _irq = irq::disable();
    begin(cpus::this());
}

/// A CPU that was idle has a thread to run. Interrupts are off.
#[inline]
pub(crate) fn begin(own: &Cpu) {
    if IS_ON.load(Ordering::Relaxed) && own.translator.at_ns() == NEVER {
        own.translator.start();
    }
}

/// In each timer interrupt: goes on if that is due. An idle CPU goes on when it has something to run.
pub(crate) fn serve_if_due(own: &Cpu, is_idle: bool, now_ns: u64) {
    if now_ns < own.translator.at_ns() {
        return;
    }
    if is_idle {
        own.translator.at_ns.store(NEVER, Ordering::Relaxed);
        return;
    }
    if own.translator.growth.look(now_ns) {
        own.counters.growth_flushes.up();
    }
    own.translator.at_ns.store(now_ns + period_ns(), Ordering::Relaxed);
}
