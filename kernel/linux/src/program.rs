// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a process runs, as it was started with or `execve` has named it.

use alloc::vec::Vec;

/// A program with its arguments.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Absolute path of the executable: of a script, its interpreter's.
    pub executable: Vec<u8>,
    /// The path that it was started by (`AT_EXECFN`): of a script, its own.
    pub name: Vec<u8>,
    /// Arguments, for `/proc/self/cmdline`.
    pub arguments: Vec<Vec<u8>>,
    /// Environment, for `/proc/self/environ`.
    pub environment: Vec<Vec<u8>>,
}
