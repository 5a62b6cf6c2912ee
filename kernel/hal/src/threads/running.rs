// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What runs on each CPU: the scheduler's thread and its state of the CPU, one instruction away by `%gs`.
//!
//! The hardware layer does not know the scheduler's types. Its per-CPU block has two untyped words for them and one for the
//! key; [`Running`] has the key ([`super::type_key`]).
//!
//! What must not be interrupted is done by way of a [`Here`], which lives as long as the proof that interrupts are off:
//!
//! ```no_run
//! # use hadal_hal::interrupts::irq;
//! # use hadal_hal::threads::context::{Claim, Context};
//! # use hadal_hal::threads::running::Running;
//! # static RUNNING: Running<u32, u64> = Running::new();
//! # static NEXT: Context = Context::new(1);
//! let mut irq = irq::disable();
//! let turn = RUNNING.turn(irq.masked());
//! turn.here().claim(&NEXT);
//! turn.switch(&NEXT, Claim::Keep);
//! ```
//!
//! It does not outlive that,
//!
//! ```compile_fail,E0505
//! # use hadal_hal::interrupts::irq;
//! # use hadal_hal::threads::context::{Claim, Context};
//! # use hadal_hal::threads::running::Running;
//! # static RUNNING: Running<u32, u64> = Running::new();
//! # static NEXT: Context = Context::new(1);
//! let irq = irq::disable();
//! let here = RUNNING.here(irq.off());
//! drop(irq);
//! here.claim(&NEXT);
//! ```
//!
//! nor the switch, behind which its CPU may be another:
//!
//! ```compile_fail,E0505
//! # use hadal_hal::interrupts::irq;
//! # use hadal_hal::threads::context::{Claim, Context};
//! # use hadal_hal::threads::running::Running;
//! # static RUNNING: Running<u32, u64> = Running::new();
//! # static NEXT: Context = Context::new(1);
//! let mut irq = irq::disable();
//! let turn = RUNNING.turn(irq.masked());
//! let here = turn.here();
//! turn.switch(&NEXT, Claim::Keep);
//! here.claim(&NEXT);
//! ```
//!
//! An interrupt handler has the proof, but not what a switch needs; nobody else makes either.
//!
//! ```compile_fail,E0308
//! # use hadal_hal::interrupts::irq;
//! # use hadal_hal::threads::running::Running;
//! # static RUNNING: Running<u32, u64> = Running::new();
//! fn on_interrupt(off: irq::Off<'_>) {
//!     RUNNING.turn(off);
//! }
//! ```
//!
//! ```compile_fail,E0423
//! # use hadal_hal::interrupts::irq;
//! let forged = irq::Masked(core::marker::PhantomData);
//! ```

use core::marker::PhantomData;
use core::sync::atomic::Ordering;

use super::type_key::TypeKey;
use crate::cpu::percpu::{self, PerCpu};
use crate::interrupts::irq::{self, Masked, Off};
use crate::threads::context::{self, Claim, Context, Switch, Way};
use crate::trap::ring;

/// The scheduler's key to the words: a static of its own. `T` is its thread, `C` its state of a CPU.
pub struct Running<T: 'static, C: 'static> {
    key: TypeKey<(T, C)>,
}

/// The calling CPU's words, checked, while interrupts are off.
pub struct Here<'a, T: 'static, C: 'static> {
    block: &'static PerCpu,
    off: Off<'a>,
    types: PhantomData<(*const T, *const C)>,
}

// Not derived, which would ask the same of the types.
impl<T, C> Clone for Here<'_, T, C> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T, C> Copy for Here<'_, T, C> {}

impl<T: Sync, C: Sync> Default for Running<T, C> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Sync, C: Sync> Running<T, C> {
    /// A key that no CPU uses yet.
    pub const fn new() -> Self {
        Self { key: TypeKey::new() }
    }

    /// Says what the calling CPU runs for the first time.
    ///
    /// # Panics
    /// If another key is in use, or the CPU has no context ([`context::adopt`]) that it could be switched away from.
    pub fn install(&'static self, thread: &'static T, cpu: &'static C) {
        let block = percpu::this();
        let used = block.running_key.load(Ordering::Relaxed);
        assert!(used == 0 || used == self.key.address(), "one scheduler");
        assert!(context::is_adopted(), "a CPU that schedules runs a context");
        block.thread.store(core::ptr::from_ref(thread) as usize, Ordering::Relaxed);
        block.cpu.store(core::ptr::from_ref(cpu) as usize, Ordering::Relaxed);
        block.running_key.store(self.key.address(), Ordering::Release);
        let has_quick = context::has_fsgsbase() && !ring::isolates();
        let key = |holds| if holds { self.key.address() } else { 0 };
        block.tables_key.store(key(has_quick), Ordering::Relaxed);
        block.quick_key.store(key(has_quick && !context::are_several()), Ordering::Relaxed);
    }

    #[inline(always)]
    fn block(&'static self) -> &'static PerCpu {
        let block = percpu::this();
        // SAFETY: only this CPU writes the word, in `install`. A plain read, since the compiler compares those in place.
        let key = unsafe { *block.running_key.as_ptr() };
        assert!(key == self.key.address(), "no scheduler on this CPU");
        block
    }

    /// The calling CPU.
    ///
    /// # Panics
    /// If it has not called [`Running::install`].
    #[inline(always)]
    pub fn here<'a>(&'static self, off: Off<'a>) -> Here<'a, T, C> {
        Here { block: self.block(), off, types: PhantomData }
    }

    /// The calling CPU, to be given up.
    ///
    /// # Panics
    /// If it has not called [`Running::install`].
    #[inline(always)]
    pub fn turn<'a>(&'static self, masked: &'a mut Masked) -> Turn<'a, T, C> {
        Turn { block: self.block(), masked, types: PhantomData }
    }

    /// The calling CPU, to be given up by [`Quick::switch`], if that works there in this way.
    #[inline(always)]
    pub fn quick<W: Way>(&'static self, masked: Masked) -> Result<Quick<T, C, W>, Masked> {
        let block = percpu::this();
        // SAFETY: as in `block`; `begin_table_switches` also writes it, and lets this CPU go on only when it has seen that.
        let key = unsafe { *W::key(block).as_ptr() };
        if key == self.key.address() { Ok(Quick { block, masked, types: PhantomData }) } else { Err(masked) }
    }

    /// The calling CPU, if it has called [`Running::install`].
    pub fn try_here<'a>(&'static self, off: Off<'a>) -> Option<Here<'a, T, C>> {
        let block = percpu::this();
        self.key.fits(&block.running_key, Ordering::Relaxed).then_some(Here {
            block,
            off,
            types: PhantomData,
        })
    }

    /// The running thread.
    ///
    /// # Panics
    /// If the calling CPU has not called [`Running::install`].
    #[inline(always)]
    pub fn thread(&'static self) -> &'static T {
        // SAFETY: the key is ours, so only this type's `install` and `set_thread` store to the word.
        unsafe { &*(self.block().thread.load(Ordering::Relaxed) as *const T) }
    }

    /// The state of the calling CPU, as of the call where interrupts are on.
    ///
    /// # Panics
    /// If the calling CPU has not called [`Running::install`].
    #[inline(always)]
    pub fn cpu(&'static self) -> &'static C {
        // SAFETY: the key is ours, so only this type's `install` stores to the word.
        unsafe { &*(self.block().cpu.load(Ordering::Relaxed) as *const C) }
    }

    /// The thread that a CPU runs, as of now; `None` before [`Running::install`] there.
    pub fn thread_of(&'static self, cpu: usize) -> Option<&'static T> {
        let block = percpu::of(cpu);
        self.key.fits(&block.running_key, Ordering::Acquire).then(|| {
            // SAFETY: the key is ours, so only this type's `install` and `set_thread` store to the word.
            unsafe { &*(block.thread.load(Ordering::Acquire) as *const T) }
        })
    }
}

/// The calling CPU, which somebody is about to give up. The thread that comes back may be on another one: so this is used up
/// by the switch, and with it every [`Here`] of the same interrupts.
pub struct Turn<'a, T: 'static, C: 'static> {
    block: &'static PerCpu,
    masked: &'a mut Masked,
    types: PhantomData<(*const T, *const C)>,
}

impl<T: Sync, C: Sync> Turn<'_, T, C> {
    /// The calling CPU's words.
    #[inline(always)]
    pub fn here(&self) -> Here<'_, T, C> {
        Here { block: self.block, off: self.masked.off(), types: PhantomData }
    }

    /// Switches to another context, for a thread whose registers must all survive.
    ///
    /// # Panics
    /// If the calling CPU has not claimed the context, or the running thread has overrun its kernel stack.
    #[inline(always)]
    pub fn switch(self, next: &'static Context, claim: Claim) {
        Switch::on(self.block).to_full(next, claim);
    }

    /// [`Turn::switch`] for a thread that has nothing in caller-saved registers, vector registers among them.
    #[inline(always)]
    pub fn switch_light(self, next: &'static Context, claim: Claim) {
        Switch::on(self.block).to(next, claim);
        self.masked.again();
    }
}

/// A [`Turn`] on a CPU with the FSGSBASE instructions, in fewer instructions, which has the interrupts for itself.
pub struct Quick<T: 'static, C: 'static, W> {
    block: &'static PerCpu,
    masked: Masked,
    types: PhantomData<(*const T, *const C, W)>,
}

impl<T: Sync, C: Sync, W: Way> Quick<T, C, W> {
    /// The calling CPU's words.
    #[inline(always)]
    pub fn here(&self) -> Here<'_, T, C> {
        Here { block: self.block, off: self.masked.off(), types: PhantomData }
    }

    /// Nobody switches.
    #[inline(always)]
    pub fn stay(self) -> Masked {
        self.masked
    }

    /// [`Turn::switch_light`]; interrupts are on when somebody has switched back.
    #[inline(always)]
    pub fn switch(self, next: &'static Context, claim: Claim) {
        Switch::on(self.block).to_quickly::<W>(next, claim);
    }

    /// [`Turn::switch`] with [`Claim::Keep`]; does not look whether the thread has overrun its stack.
    #[inline(always)]
    pub fn switch_full(self, next: &'static Context) -> Masked {
        Switch::on(self.block).to_full_quickly::<W>(next);
        self.masked
    }

    /// [`Turn::switch`] with [`Claim::Release`].
    ///
    /// # Panics
    /// As [`Turn::switch`].
    #[inline(always)]
    pub fn leave_full(self, next: &'static Context) -> Masked {
        Switch::on(self.block).leave_full_quickly::<W>(next);
        self.masked
    }
}

impl<'a, T: Sync, C: Sync> Here<'a, T, C> {
    /// The proof that interrupts are off.
    #[inline(always)]
    pub fn off(self) -> Off<'a> {
        self.off
    }

    /// The running thread.
    #[inline(always)]
    pub fn thread(self) -> &'static T {
        // SAFETY: a `Here` exists only where the key matched: the word was stored from a `&'static T` by `install` or
        // `set_thread` of these types, and the key never changes again.
        unsafe { &*(self.block.thread.load(Ordering::Relaxed) as *const T) }
    }

    /// The state of the CPU.
    #[inline(always)]
    pub fn cpu(self) -> &'static C {
        // SAFETY: as for `thread`.
        unsafe { &*(self.block.cpu.load(Ordering::Relaxed) as *const C) }
    }

    /// [`Context::claim`] in fewer instructions.
    #[inline(always)]
    pub fn claim(self, context: &Context) -> bool {
        context.claim_for(self.block, self.off)
    }

    /// Adds bits of [`percpu::attention`] to this CPU.
    #[inline(always)]
    pub fn raise_attention(self, bits: u32) {
        self.block.raise_attention(bits);
    }

    /// Says which thread runs from now on.
    #[inline(always)]
    pub fn set_thread(self, thread: &'static T) {
        irq::must_be_off();
        // Release: who sees the thread from another CPU sees what it is.
        self.block.thread.store(core::ptr::from_ref(thread) as usize, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::Running;
    use crate::interrupts::irq;
    use crate::threads::context::{self, Context};

    #[test]
    #[should_panic(expected = "one scheduler")]
    fn types_cannot_be_confused() {
        static FIRST: Running<u32, u64> = Running::new();
        static SECOND: Running<u64, u32> = Running::new();
        static CONTEXT: Context = Context::new(0);
        context::adopt(&CONTEXT);
        FIRST.install(&1, &2);
        let irq = irq::disable();
        assert_eq!((*FIRST.thread(), *FIRST.here(irq.off()).cpu()), (1, 2));
        FIRST.here(irq.off()).set_thread(&3);
        assert_eq!(FIRST.thread_of(0), Some(&3));
        assert!(SECOND.try_here(irq.off()).is_none() && SECOND.thread_of(0).is_none());
        SECOND.install(&1, &2);
    }
}
