// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Vector registers in program memory: what signal frames hold.

use super::routines::{hadal_user_fxrstor, hadal_user_fxsave, hadal_user_xrstor, hadal_user_xsave};
use super::{Fault, check, result};
use crate::cpu::fpu;

/// Saves the vector registers of the calling CPU, for its program thread, as an image at `image` (see [`fpu`]). With XSAVE
/// the words that the image has for software begin with `software`, and `end` stands behind it. An address that is not
/// aligned to 64 bytes (without XSAVE: 16) is a fault.
pub fn save_vectors(image: usize, software: [u64; 3], end: u32) -> Result<(), Fault> {
    let size = fpu::size();
    check(image, size + size_of_val(&end))?;
    let [a, b, c] = software;
    // SAFETY: the processor writes no more than `fpu::size()` bytes, 576 or more if it has XSAVE, and the routine none beyond
    // the end mark: all in the program's half, where a fault is caught.
    result(unsafe {
        if fpu::components() != 0 {
            hadal_user_xsave(image, a, b, c, image + size, end)
        } else {
            hadal_user_fxsave(image)
        }
    })
}

/// Loads some components of the vector registers from an image in XSAVE format, on a CPU that has XSAVE. Whatever the
/// program has written there, and is writing meanwhile, the worst is a fault: of the registers some may be loaded then.
pub fn load_vectors(image: usize, components: u64) -> Result<(), Fault> {
    check(image, fpu::size())?;
    // SAFETY: the processor reads no more than `fpu::size()` bytes, in the program's half, where a fault is caught, and #GP
    // for what it refuses; the kernel uses none of these registers.
    result(unsafe { hadal_user_xrstor(image, components) })
}

/// Loads the legacy components of the vector registers, as FXRSTOR does. A fault may have loaded some.
pub fn load_legacy_vectors(image: usize) -> Result<(), Fault> {
    check(image, fpu::LEGACY_BYTES)?;
    // SAFETY: as in `load_vectors`.
    result(unsafe { hadal_user_fxrstor(image) })
}
