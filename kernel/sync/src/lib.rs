// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Blocking synchronisation for kernel code, built on park and unpark: [`WaitQueue`] and [`Mutex`].
#![forbid(unsafe_code)]
#![cfg_attr(not(test), no_std)]

extern crate alloc;

mod mutex;
mod wait_queue;

pub use mutex::{Mutex, MutexGuard};
pub use wait_queue::{WaitError, WaitMode, WaitQueue};
