// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The terminal of a run: its settings belong to the host's terminal, and programs in the guest change them there.

use serde::{Deserialize, Serialize};

/// Number of control characters in Linux's `struct termios`.
pub const CHARACTERS: usize = 19;

/// The settings of a terminal, with Linux's values (termios(3)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// What is done with input.
    pub input: u32,
    /// What is done with output.
    pub output: u32,
    /// Line parameters.
    pub control: u32,
    /// Lines, echo, signals.
    pub local: u32,
    /// Control characters.
    pub characters: [u8; CHARACTERS],
}

/// A change of settings that a program asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The settings from now on.
    pub settings: Settings,
    /// Whether what has been typed and not read is dropped (`TCSAFLUSH`).
    pub discards: bool,
}

/// Size of a terminal in character cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    /// Height.
    pub rows: u16,
    /// Width.
    pub cols: u16,
}
