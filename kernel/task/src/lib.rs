// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Queues of run-to-completion tasks, one set for each CPU.
//!
//! [`Queues`] joins three parts per CPU: the [`deque`] that it pushes to and pops from and others steal from, the [`inbox`]
//! that others push to, and a small stack of tasks that are too short to be worth a move. [`idle`] remembers which CPUs have
//! a worker that sleeps. A queue is bounded, so a full one is an error to the caller, who runs the task at once.
//!
//! "The CPU" that owns a deque is whatever kernel code runs on it: that code is not preempted, so there is one owner at a
//! time.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), no_std)]

extern crate alloc;

pub mod deque;
pub mod idle;
pub mod inbox;
mod queues;

pub use queues::{Counters, Full, Queues};

/// The atomics of this crate: loom's in its models.
#[cfg(not(all(test, loom)))]
pub(crate) mod atomic {
    pub(crate) use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};
}
#[cfg(all(test, loom))]
pub(crate) mod atomic {
    pub(crate) use loom::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};
}
