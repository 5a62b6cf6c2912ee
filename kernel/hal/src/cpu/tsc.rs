// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The time-stamp counter.

/// Reads the time-stamp counter after earlier loads have completed.
#[inline]
pub fn read() -> u64 {
    #[cfg(feature = "sim")]
    if let Some(ticks) = crate::sim::clock_ns() {
        return ticks;
    }
    // SAFETY: every x86-64 CPU has RDTSC and LFENCE (SSE2), and ring 0 may use them whatever CR4.TSD says.
    unsafe {
        core::arch::x86_64::_mm_lfence();
        core::arch::x86_64::_rdtsc()
    }
}

/// Reads the time-stamp counter without waiting for earlier instructions: for accounting, where some cycles more or less do
/// not matter.
#[inline(always)]
pub fn read_unordered() -> u64 {
    #[cfg(feature = "sim")]
    if let Some(ticks) = crate::sim::clock_ns() {
        return ticks;
    }
    // SAFETY: as for `read`.
    unsafe { core::arch::x86_64::_rdtsc() }
}
