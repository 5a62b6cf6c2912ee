// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The parts of the kernel's shell that need no kernel: an editor for lines from a serial terminal, the commands, and
//! tables.
//!
//! The image's `shell.rs` reads lines, carries [`Command`]s out and prints.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), no_std)]

extern crate alloc;

mod command;
mod editor;
mod table;

pub use command::{Command, HELP, Wrong, parse};
pub use editor::{Editor, Event};
pub use table::{Align, Table};
