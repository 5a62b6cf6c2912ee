// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Blocking synchronisation, built on park and unpark: [`WaitQueue`] and [`Mutex`] for kernel code, [`words`] for programs.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), no_std)]

extern crate alloc;

// Constant constructors, which loom's atomics do not have: its models are of what is below.
#[cfg(not(all(test, loom)))]
mod listener;
#[cfg(not(all(test, loom)))]
mod mutex;
mod presence;
#[cfg(not(all(test, loom)))]
mod wait_queue;
mod waiters;
pub mod words;

#[cfg(not(all(test, loom)))]
pub use listener::{ANYTHING, Listener, WakeMode};
#[cfg(not(all(test, loom)))]
pub use mutex::{Mutex, MutexGuard};
#[cfg(not(all(test, loom)))]
pub use wait_queue::{WaitError, WaitMode, WaitQueue, park_as};
pub use waiters::{AllThreads, prepare_table};
