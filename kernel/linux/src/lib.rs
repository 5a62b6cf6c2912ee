// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The Linux personality: unmodified Linux programs on Hadal, one implementation of each call whatever the ring.
//!
//! - [`process`] and [`task`]: what a program is, what one of its threads is;
//! - [`loader`]: from an ELF file to the first instruction;
//! - [`syscall`]: the dispatch table, one system call per file, in folders by subject;
//! - [`signal`]: delivery, frames, default actions;
//! - [`futex`]: waiting on program memory;
//! - [`machine`]: what the layer needs from the kernel image (reports, where the exit status goes).
#![forbid(unsafe_code)]
#![cfg_attr(not(test), no_std)]

extern crate alloc;

pub mod attributes;
pub mod buffers;
pub mod call;
pub mod clock;
pub mod credentials;
pub mod epoll;
mod exec;
pub mod family;
mod files;
pub mod first;
mod fork;
pub mod futex;
pub mod loader;
mod locking;
pub mod machine;
pub mod memory;
pub mod mqueue;
pub mod numa;
mod other_memory;
mod pidfd;
pub mod process;
pub mod program;
mod record_locks;
pub mod refused;
pub mod release;
pub mod restart;
pub mod reuse;
pub mod rseq;
mod schedule;
mod shared;
pub mod signal;
mod signalfd;
mod socket;
pub mod strace;
pub mod syscall;
pub mod sysv;
pub mod task;
mod thread_set;
mod timerfd;
pub mod traps;
pub mod tty;
mod usage;
pub mod vdso;
pub mod violation;
mod vsyscall;

mod filling;

pub use hadal_vfs::{Errno, Result};
