// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `hadal/hrt.h` in Rust: what a run-time gets from the kernel, safely.
//!
//! The same program runs on Linux, where the functions are made of pthreads and futexes, and under `hadal run`, where they
//! are the kernel's ([`place`] tells which). Everything is also usable from threads that `std::thread` made.
//!
//! ```
//! let sum: u64 = hrt::thread::scope(|scope| {
//!     let halves = [1..501_u64, 501..1001];
//!     let threads = halves.map(|half| scope.spawn(move || half.sum::<u64>()).unwrap());
//!     threads.into_iter().map(|thread| thread.join().unwrap()).sum()
//! });
//! assert_eq!(sum, 500_500);
//! ```

pub mod event;
pub mod fiber;
pub mod memory;
pub mod module;
pub mod sync;
pub mod task;
pub mod thread;
pub mod time;
pub mod topology;
pub mod trace;

mod error;
mod ffi;
mod job;

pub use error::{Error, Result};

/// Where the program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// On Hadal's kernel.
    Kernel,
    /// At user level on Linux.
    Linux,
}

/// Where the program runs.
#[must_use]
pub fn place() -> Place {
    if ffi::hrt_rs_place() == hadal_hrt_abi::calls::Place::Kernel as u32 {
        Place::Kernel
    } else {
        Place::Linux
    }
}
