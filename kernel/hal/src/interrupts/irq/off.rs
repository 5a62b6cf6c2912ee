// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Interrupts that are off, as values.
//!
//! [`Masked`] is the right to turn them on again: there is one for each time that they were turned off, and who gives the
//! CPU up needs it whole ([`crate::threads::running::Turn`], [`crate::threads::running::Quick`]). [`Off`] is only the proof, borrowed from it,
//! for everything that must not be interrupted. Both are of size 0, and neither leaves its CPU.
//!
//! The proof holds as long as nobody turns interrupts on behind its back: sections do not overlap other than by lying in one
//! another, and [`super::mask`] begins one only where interrupts are on. Where the proof is used for a claim or a switch the
//! debug kernel looks at the flag.

use core::marker::PhantomData;

/// Interrupts are off on this CPU until somebody consumes this; without that they stay off.
#[must_use = "interrupts stay off"]
#[derive(Debug)]
pub struct Masked(PhantomData<*const ()>);

/// The proof that interrupts are off on this CPU.
#[derive(Clone, Copy, Debug)]
pub struct Off<'a>(PhantomData<(&'a Masked, *const ())>);

impl Masked {
    /// # Safety
    /// Interrupts are off on this CPU, and nobody else has the right to turn them on.
    #[inline(always)]
    pub(crate) unsafe fn assumed() -> Self {
        Self(PhantomData)
    }

    /// The proof, for as long as this stays.
    #[inline(always)]
    pub fn off(&self) -> Off<'_> {
        Off(PhantomData)
    }

    /// Something else has turned interrupts on: turns them off again.
    #[inline(always)]
    #[cfg_attr(all(debug_assertions, target_os = "none"), track_caller)]
    pub(crate) fn again(&mut self) {
        *self = super::mask();
    }

    /// Turns interrupts on.
    #[inline(always)]
    pub fn unmask(self) {
        super::unmask();
    }
}

impl Off<'_> {
    /// # Safety
    /// Interrupts stay off on this CPU while the caller and what it calls use the proof.
    #[inline(always)]
    pub(crate) unsafe fn assumed() -> Self {
        Self(PhantomData)
    }
}

/// Interrupts are off until this is dropped; then they are as [`super::disable`] found them.
#[must_use = "interrupts are restored when the guard is dropped"]
#[derive(Debug)]
pub struct IrqGuard {
    were_enabled: bool,
    masked: Masked,
}

impl IrqGuard {
    pub(super) fn new(were_enabled: bool, masked: Masked) -> Self {
        Self { were_enabled, masked }
    }

    /// The proof that they are off, for as long as the guard stays.
    #[inline(always)]
    pub fn off(&self) -> Off<'_> {
        self.masked.off()
    }

    /// What a switch needs; the thread that comes back has interrupts off as before.
    #[inline(always)]
    pub fn masked(&mut self) -> &mut Masked {
        &mut self.masked
    }
}

impl Drop for IrqGuard {
    fn drop(&mut self) {
        if self.were_enabled {
            super::unmask();
        }
    }
}
