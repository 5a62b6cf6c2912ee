// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Atomics of the machine, or of the model checker.

#[cfg(not(loom))]
pub(crate) use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Busy-waits for another CPU.
pub(crate) fn relax() {
    #[cfg(loom)]
    loom::thread::yield_now();
    #[cfg(not(loom))]
    hadal_hal::cpu::relax();
}

/// Between an access and another one that must not be seen the other way round. All of these are sequentially consistent,
/// which orders them by itself; the model checker knows such an order of fences only.
#[inline(always)]
pub(crate) fn in_one_order() {
    #[cfg(loom)]
    loom::sync::atomic::fence(Ordering::SeqCst);
}
