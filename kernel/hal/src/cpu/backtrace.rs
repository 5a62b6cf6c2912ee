// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Kernel backtraces by frame pointers (the kernel is built with them; see `.cargo/config.toml`).

use crate::memory::layout::{DIRECT_MAP, KERNEL_BASE};

/// Return addresses of the calling code, innermost first.
pub fn of_caller() -> impl Iterator<Item = u64> {
    let frame: u64;
    // SAFETY: reads a register.
    unsafe { core::arch::asm!("mov {}, rbp", out(reg) frame, options(nomem, nostack, preserves_flags)) };
    from(frame)
}

/// Return addresses along the chain of frames that starts at `frame`; ends where the chain leaves the kernel's stacks.
pub fn from(frame: u64) -> impl Iterator<Item = u64> {
    let mut at = frame;
    core::iter::from_fn(move || {
        let (next, address) = read_frame(at)?;
        // Frames of one stack go upwards.
        at = if next > at { next } else { 0 };
        Some(address)
    })
}

/// The saved frame pointer and the return address at a frame pointer that lies on a kernel stack.
fn read_frame(frame: u64) -> Option<(u64, u64)> {
    let on_heap =
        (DIRECT_MAP as u64..DIRECT_MAP as u64 + crate::memory::layout::DIRECT_MAP_SIZE).contains(&frame);
    let in_image = frame >= KERNEL_BASE as u64;
    if !frame.is_multiple_of(8) || !(on_heap || in_image) {
        return None;
    }
    let words = frame as *const [u64; 2];
    // SAFETY: stacks are in the direct map (heap) or the image, which are mapped for good; a chain that was overwritten
    // may end in an unmapped part of the direct map, and then the fault is reported by the code that is reporting anyway.
    let [next, address] = unsafe { words.read_volatile() };
    (address >= KERNEL_BASE as u64).then_some((next, address))
}
