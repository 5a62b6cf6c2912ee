// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the contexts of program threads have beside a kernel stack: vector state, segment bases and a page table.

use super::{Context, program_gs, set_fs_base};
use crate::cpu::fpu;
use crate::cpu::percpu::{self, PerCpu};
use crate::interrupts::irq;
use crate::memory::paging::Switchable;
use crate::sync::atomic::Ordering;

/// What the running program's code needs back.
pub(super) struct Program {
    vectors: fpu::State,
    fs_base: u64,
    /// While the thread does not run; in ring 0 programs have none.
    pub(super) gs_base: u64,
}

impl Context {
    /// Gives the context a page table and fresh program state, or that of the calling thread. Returns `false` when memory for it
    /// is out. The context must not be runnable.
    pub fn set_program(&self, table: Switchable, fs_base: u64, inherit: bool) -> bool {
        let mut change = self.change();
        if change.program().is_none() {
            drop(change);
            let Ok(vectors) = fpu::State::fresh() else { return false };
            change = self.change();
            *change.program() = Some(Program { vectors, fs_base: 0, gs_base: 0 });
        }
        let Some(program) = change.program() else { return false };
        if inherit {
            program.vectors.save();
        } else {
            program.vectors.reset();
        }
        program.fs_base = fs_base;
        program.gs_base = if inherit { program_gs::base() } else { 0 };
        self.saved_on.store(0, Ordering::Relaxed);
        self.table.store(Some(table.0), Ordering::Relaxed);
        true
    }

    /// Whether the thread runs program code.
    #[inline(always)]
    pub(super) fn has_program(&self) -> bool {
        self.table.bits(Ordering::Relaxed) != 0
    }

    /// Forgets the program state and the page table before the context is reused for another thread; its memory is kept.
    pub fn clear_program(&self) {
        self.table.store(None, Ordering::Relaxed);
    }

    /// Saves the vector registers, which stay valid as long as no other program thread runs on this CPU.
    #[inline(always)]
    pub(super) fn save_vectors(&self, block: &PerCpu) {
        if !self.has_program() {
            return;
        }
        // SAFETY: the running context belongs to this CPU.
        if let Some(program) = unsafe { &mut *self.program.get() } {
            program.vectors.save();
            self.saved_on.store(block.address(), Ordering::Relaxed);
            block.live_context.store(self.address(), Ordering::Relaxed);
        }
    }

    /// Loads what [`Context::save_vectors`] saved, unless the registers still hold it: every program thread that gives the
    /// CPU up says so in `live_context`.
    #[inline(always)]
    pub(super) fn load_vectors(&self) {
        if !self.has_program() {
            return;
        }
        // SAFETY: the running context belongs to this CPU.
        if let Some(program) = unsafe { &*self.program.get() } {
            let block = percpu::this();
            let live = self.saved_on.load(Ordering::Relaxed) == block.address()
                && block.live_context.load(Ordering::Relaxed) == self.address();
            if !live {
                program.vectors.load();
            }
        }
    }
}

/// The program state of a thread that has not run yet.
pub(super) extern "C" fn load_first_state(context: &'static Context) {
    context.load_vectors();
    if context.has_program() {
        // SAFETY: the running context belongs to this CPU.
        if let Some(program) = unsafe { &*context.program.get() } {
            set_fs_base(program.fs_base);
        }
    }
    #[cfg(feature = "sim")]
    irq::unmask();
}

/// Runs `f` on the vector state of the running thread: the registers are saved first and loaded afterwards.
pub fn with_vectors<R>(context: &Context, f: impl FnOnce(&mut fpu::State) -> R) -> R {
    let _irq = irq::disable();
    assert!(context.is_running_here());
    // SAFETY: the context is the running thread's, interrupts are off, so nobody else touches it.
    let program = unsafe { &mut *context.program.get() };
    let vectors = &mut program.as_mut().expect("a program thread has vector state").vectors;
    vectors.save();
    let result = f(vectors);
    vectors.load();
    result
}
