// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tasks.

use crate::words::{Argument, ThreadFn};

/// A task, or the future of its result. Memory of the caller's, where it stays until the task is done and
/// waited for. It needs no initial value.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Task {
    /// Its function; of libhrt once it runs.
    pub r#fn: ThreadFn,
    /// What the function gets.
    pub arg: Argument,
    /// What the function gave.
    pub result: Argument,
    /// Of libhrt.
    pub state: u32,
    /// As given to submit.
    pub size_hint: u32,
}
