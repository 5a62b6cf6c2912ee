// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Switches from the running context to another one.
//!
//! There are two switches. The light one is for calls that the program makes as it calls any function: the C ABI says that
//! only the callee-saved registers and the control words of the floating-point units survive, so only they are saved.
//! The full one is for system calls and interrupts, where every register survives: it saves the vector state before
//! and loads it afterwards, unless it is still there. What a thread needs back is on its own stack, and it takes it back
//! itself after the switch: so it does not matter by which kind another thread switches to it.

use super::switch_code::{PIECES, code};
use super::{Context, Way, program_gs};
use crate::cpu::percpu::PerCpu;
use crate::interrupts::irq;
use crate::memory::tlb;
use crate::sync;
use crate::sync::atomic::Ordering;
use crate::trap::ring;

/// What becomes of the claim on the context that gives the CPU up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// It stays: the context waits for its turn on this CPU.
    Keep,
    /// It ends as soon as the stack is no longer in use: any CPU may run the context next.
    Release,
}

/// Switches from the context that the calling CPU runs to another one that it has claimed, with interrupts off: the types
/// of [`crate::threads::running`] have the proof.
#[derive(Clone, Copy)]
pub(crate) struct Switch {
    block: &'static PerCpu,
}

impl Switch {
    #[inline(always)]
    pub(crate) fn on(block: &'static PerCpu) -> Self {
        Self { block }
    }

    /// Switches for a thread that has nothing in caller-saved registers, vector registers among them. Interrupts are on when
    /// somebody has switched back.
    ///
    /// # Panics
    /// If the calling CPU has not claimed the context.
    #[inline(always)]
    pub(crate) fn to(self, next: &'static Context, claim: Claim) {
        // From now on the vector registers are nobody's.
        self.block.live_context.store(0, Ordering::Relaxed);
        let own = self.begin_isolated(next);
        // SAFETY: see `begin`.
        unsafe {
            match claim {
                Claim::Keep => code(&PIECES.light_keep)(own, next),
                Claim::Release => code(&PIECES.light_release)(own, next),
            }
        }
        #[cfg(feature = "sim")]
        irq::unmask();
    }

    /// [`Switch::to`] with nothing to look up but page tables.
    #[inline(always)]
    pub(crate) fn to_quickly<W: Way>(self, next: &'static Context, claim: Claim) {
        self.block.live_context.store(0, Ordering::Relaxed);
        let own = self.begin(next);
        // SAFETY: see `begin`; the caller has looked at the key.
        unsafe {
            match claim {
                Claim::Keep => W::light_keep(own, next),
                Claim::Release => W::light_release(own, next),
            }
        }
        #[cfg(feature = "sim")]
        irq::unmask();
    }

    /// [`Switch::to_full`] that keeps the claim, with nothing to look up but the vector state and page tables.
    #[inline(always)]
    pub(crate) fn to_full_quickly<W: Way>(self, next: &'static Context) {
        // SAFETY: as in `to_full`.
        let own = unsafe { &*self.block.context.load(Ordering::Relaxed).cast::<Context>() };
        own.save_vectors(self.block);
        self.begin(next);
        // SAFETY: see `begin`; the caller has looked at the key.
        unsafe { W::stacks_keep(own, next) };
        irq::begin_section();
        own.load_vectors();
    }

    /// [`Switch::to_full`] that ends the claim, with nothing to look up but the stack's canary, the vector state and page tables.
    #[inline(always)]
    pub(crate) fn leave_full_quickly<W: Way>(self, next: &'static Context) {
        // SAFETY: as in `to_full`.
        let own = unsafe { &*self.block.context.load(Ordering::Relaxed).cast::<Context>() };
        own.check_stack();
        own.save_vectors(self.block);
        self.begin(next);
        // SAFETY: see `begin`; the caller has looked at the key.
        unsafe { W::stacks_release(own, next) };
        irq::begin_section();
        own.load_vectors();
    }

    /// Switches for a thread whose registers must all survive. Interrupts are off when somebody has switched back.
    ///
    /// # Panics
    /// If interrupts are on after all, the calling CPU has not claimed the context, or the running thread has overrun its
    /// kernel stack.
    pub(crate) fn to_full(self, next: &'static Context, claim: Claim) {
        assert!(!irq::enabled(), "a switch needs interrupts off");
        // SAFETY: `adopt` and `begin` store addresses of contexts, which live for ever.
        let own = unsafe { &*self.block.context.load(Ordering::Relaxed).cast::<Context>() };
        own.check_stack();
        own.save_vectors(self.block);
        tlb::service();
        self.begin_isolated(next);
        // SAFETY: see `begin`.
        unsafe {
            match claim {
                Claim::Keep => code(&PIECES.stacks_keep)(own, next),
                Claim::Release => code(&PIECES.stacks_release)(own, next),
            }
        }
        irq::begin_section();
        own.load_vectors();
    }

    /// [`Switch::begin`] also where programs run in ring 3, which have a `%gs` of their own. Not for quick switches, which there
    /// are none of then.
    #[inline(always)]
    fn begin_isolated(self, next: &'static Context) -> *const Context {
        let own = self.begin(next);
        if ring::isolates() {
            // SAFETY: both contexts are claimed by this CPU.
            unsafe { program_gs::switch(&*own, next) };
        }
        own
    }

    /// Names the next context as the CPU's and returns the one that gives the CPU up.
    ///
    /// What makes the switch sound: the context that gives the CPU up is the one this CPU runs, for `block.context` is
    /// stored here and by `adopt` only; the next one is claimed by this CPU and so runs nowhere else, and its stack pointer
    /// was stored by `prepare` or by the switch that left it. (A switch to itself stores and loads the same one.)
    #[inline(always)]
    fn begin(self, next: &'static Context) -> *const Context {
        irq::must_be_off();
        sync::none_held();
        irq::end_section();
        let block = self.block;
        assert!(next.claimed_by.load(Ordering::Relaxed) == block.address(), "a switch needs a claim");
        let own = block.context.load(Ordering::Relaxed).cast::<Context>().cast_const();
        #[cfg(feature = "sim")]
        crate::sim::leave_stack();
        block.context.store(next.as_head(), Ordering::Relaxed);
        block.set_kernel_stack(next.stack_top.load(Ordering::Relaxed));
        own
    }
}
