// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The `%gs` of programs in ring 3: while the kernel runs, the processor keeps its base apart (Intel SDM vol. 3, 5.8.8). In
//! ring 0 `%gs` is the kernel's at all times.

use super::Context;
use crate::trap::ring;

/// Where the processor keeps it.
#[cfg(target_os = "none")]
const MSR_KERNEL_GS_BASE: u32 = 0xc000_0102;

/// GS base of the running program thread; 0 in ring 0.
pub fn base() -> u64 {
    if ring::isolates() { read() } else { 0 }
}

/// Sets the GS base of the running program thread.
///
/// # Panics
/// If programs run in ring 0, or the address is not canonical.
pub fn set_base(base: u64) {
    assert!(ring::isolates() && crate::memory::layout::is_canonical(base), "GS base is an address of ring 3");
    write(base);
}

fn read() -> u64 {
    #[cfg(target_os = "none")]
    // SAFETY: every x86-64 CPU has the register.
    return unsafe { crate::cpu::read_msr(MSR_KERNEL_GS_BASE) };
    #[cfg(not(target_os = "none"))]
    0
}

fn write(base: u64) {
    #[cfg(target_os = "none")]
    // SAFETY: as above, and the base is canonical, since a program had it or `set_base` has looked.
    unsafe {
        crate::cpu::write_msr(MSR_KERNEL_GS_BASE, base);
    }
    #[cfg(not(target_os = "none"))]
    let _ = base;
}

/// Keeps the base of a context that gives the CPU up, and loads that of the next one, as far as they are of programs.
///
/// # Safety
/// The calling CPU has claimed both.
pub(super) unsafe fn switch(own: &Context, next: &Context) {
    if own.has_program() {
        // SAFETY: claimed by this CPU.
        if let Some(program) = unsafe { &mut *own.program.get() } {
            program.gs_base = read();
        }
    }
    if next.has_program() {
        // SAFETY: as above.
        if let Some(program) = unsafe { &*next.program.get() } {
            write(program.gs_base);
        }
    }
}
