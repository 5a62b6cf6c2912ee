// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Blocking synchronisation, built on park and unpark: [`WaitQueue`] and [`Mutex`] for kernel code, [`words`] for programs.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), no_std)]

extern crate alloc;

mod listener;
mod mutex;
mod wait_queue;
mod waiters;
pub mod words;

pub use listener::{ANYTHING, Listener, WakeMode};
pub use mutex::{Mutex, MutexGuard};
pub use wait_queue::{WaitError, WaitMode, WaitQueue, park_as};
pub use waiters::{AllThreads, prepare_table};
