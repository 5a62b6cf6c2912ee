// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Atomics of the machine, or of simulated CPUs ([`crate::sim`]): what code uses that is to be simulated.

#[cfg(not(feature = "sim"))]
pub use core::sync::atomic::{
    AtomicBool, AtomicI64, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
};

#[cfg(feature = "sim")]
pub use crate::sim::atomic::{
    AtomicBool, AtomicI64, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
};
