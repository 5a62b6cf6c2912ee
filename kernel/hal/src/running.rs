// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What runs on each CPU: the scheduler's thread and its state of the CPU, one instruction away by `%gs`.
//!
//! The hardware layer does not know the scheduler's types. Its per-CPU block has two untyped words for them and the address
//! of the one static that may use them; [`Running`] is that static, and comparing its address makes the types safe.

use core::marker::PhantomData;
use core::sync::atomic::Ordering;

use crate::context::{self, Claim, Context, Switch};
use crate::irq;
use crate::percpu::{self, PerCpu};

/// The scheduler's key to the words: a static of its own. `T` is its thread, `C` its state of a CPU.
pub struct Running<T: 'static, C: 'static> {
    types: PhantomData<(&'static T, &'static C)>,
    /// Gives every instance an address of its own.
    _size: u8,
}

/// The calling CPU's words, checked. Stays with the CPU it was made on: to be used with interrupts off, or for the running
/// thread only.
pub struct Here<T: 'static, C: 'static> {
    block: &'static PerCpu,
    types: PhantomData<(*const T, *const C)>,
}

// Not derived, which would ask the same of the types.
impl<T, C> Clone for Here<T, C> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T, C> Copy for Here<T, C> {}

impl<T: Sync, C: Sync> Default for Running<T, C> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Sync, C: Sync> Running<T, C> {
    /// A key that no CPU uses yet.
    pub const fn new() -> Self {
        Self { types: PhantomData, _size: 0 }
    }

    fn key(&'static self) -> usize {
        core::ptr::from_ref(self) as usize
    }

    /// Says what the calling CPU runs for the first time.
    ///
    /// # Panics
    /// If another key is in use.
    pub fn install(&'static self, thread: &'static T, cpu: &'static C) {
        let block = percpu::this();
        let used = block.running_key.load(Ordering::Relaxed);
        assert!(used == 0 || used == self.key(), "one scheduler");
        block.thread.store(core::ptr::from_ref(thread) as usize, Ordering::Relaxed);
        block.cpu.store(core::ptr::from_ref(cpu) as usize, Ordering::Relaxed);
        block.running_key.store(self.key(), Ordering::Release);
        block.quick_key.store(if context::has_fsgsbase() { self.key() } else { 0 }, Ordering::Relaxed);
    }

    /// The calling CPU.
    ///
    /// # Panics
    /// If it has not called [`Running::install`].
    #[inline(always)]
    pub fn here(&'static self) -> Here<T, C> {
        let block = percpu::this();
        // SAFETY: only this CPU writes the word, in `install`. A plain read, since the compiler compares those in place.
        let key = unsafe { *block.running_key.as_ptr() };
        assert!(key == self.key(), "no scheduler on this CPU");
        Here { block, types: PhantomData }
    }

    /// The calling CPU, if [`Quick::switch`] works there.
    #[inline(always)]
    pub fn quick(&'static self) -> Option<Quick<T, C>> {
        let block = percpu::this();
        // SAFETY: as in `here`.
        let key = unsafe { *block.quick_key.as_ptr() };
        (key == self.key()).then_some(Quick(Here { block, types: PhantomData }))
    }

    /// The calling CPU, if it has called [`Running::install`].
    pub fn try_here(&'static self) -> Option<Here<T, C>> {
        let block = percpu::this();
        (block.running_key.load(Ordering::Relaxed) == self.key())
            .then_some(Here { block, types: PhantomData })
    }

    /// The thread that a CPU runs, as of now; `None` before [`Running::install`] there.
    pub fn thread_of(&'static self, cpu: usize) -> Option<&'static T> {
        let block = percpu::of(cpu);
        (block.running_key.load(Ordering::Acquire) == self.key()).then(|| {
            // SAFETY: the key is ours, so only this type's `install` and `set_thread` store to the word.
            unsafe { &*(block.thread.load(Ordering::Acquire) as *const T) }
        })
    }
}

/// A [`Here`] on a CPU with the FSGSBASE instructions.
pub struct Quick<T: 'static, C: 'static>(Here<T, C>);

impl<T: Sync, C: Sync> Quick<T, C> {
    /// The calling CPU's words.
    #[inline(always)]
    pub fn here(&self) -> Here<T, C> {
        self.0
    }

    /// [`Switch::to`] in fewer instructions.
    #[inline(always)]
    pub fn switch(self, next: &'static Context, claim: Claim) {
        Switch::on(self.0.block).to_quickly(next, claim);
    }

    /// [`Switch::to_full`] with [`Claim::Keep`] in fewer instructions; does not look for what [`Switch::to_full`] panics
    /// about.
    #[inline(always)]
    pub fn switch_full(self, next: &'static Context) {
        Switch::on(self.0.block).to_full_quickly(next);
    }
}

impl<T: Sync, C: Sync> Here<T, C> {
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
        context.claim_for(self.block)
    }

    /// The switch to another context.
    #[inline(always)]
    pub fn switch(self) -> Switch {
        Switch::on(self.block)
    }

    /// Adds bits of [`percpu::attention`] to this CPU. Interrupts are off.
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

    #[test]
    #[should_panic(expected = "one scheduler")]
    fn types_cannot_be_confused() {
        static FIRST: Running<u32, u64> = Running::new();
        static SECOND: Running<u64, u32> = Running::new();
        FIRST.install(&1, &2);
        assert_eq!((*FIRST.here().thread(), *FIRST.here().cpu()), (1, 2));
        FIRST.here().set_thread(&3);
        assert_eq!(FIRST.thread_of(0), Some(&3));
        assert!(SECOND.try_here().is_none() && SECOND.thread_of(0).is_none());
        SECOND.install(&1, &2);
    }
}
