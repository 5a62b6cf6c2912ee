// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The parts of the kernel's shell that need no kernel: an editor for lines from a serial terminal, the commands with their
//! completion, and tables.
//!
//! The image's `shell.rs` reads lines, carries [`Command`]s out and prints. The `hadal` command edits lines at the host's
//! terminal by a library, with the same completion.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), no_std)]

extern crate alloc;

/// What stands before a command.
pub const PROMPT: &str = "hadal> ";

mod command;
mod complete;
mod editor;
mod table;

pub use command::{Command, HELP, Wrong, parse};
pub use complete::{Completion, complete};
pub use editor::{Editor, Event, Reader};
pub use table::{Align, Table};
