// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Interrupt lines.

#[cfg(feature = "zerocopy")]
use zerocopy::{Immutable, IntoBytes};

use crate::words::Char;

/// The kernel's devices send messages instead of using lines; they have numbers from this one on.
pub const IRQ_MESSAGE: u32 = 0x1_0000_u32;

/// A line in use.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "zerocopy", derive(IntoBytes, Immutable))]
pub struct IrqInfo {
    /// Global system interrupt; the kernel's own have numbers from HRT_IRQ_MESSAGE on.
    pub line: u32,
    /// Where it is steered to.
    pub cpu: i32,
    /// Interrupt vector, or 0.
    pub vector: u32,
    /// Whether it is masked.
    pub masked: bool,
    /// The kernel's own device: steerable, not maskable.
    pub kernel: bool,
    /// 0.
    pub reserved: [u8; 2],
    /// Interrupts so far.
    pub count: u64,
    /// Name of the device, padded with NUL.
    pub name: [Char; 24],
}
