// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `mknod(2)`: creates a file that is no directory.
//!
//! Honoured: regular files (`S_IFREG`, or no type) and, in memory, named pipes (`S_IFIFO`) and sockets (`S_IFSOCK`); the umask
//! applies.
//!
//! Refused: devices, and named pipes and sockets among the host's files (`EPERM`).

use super::mknodat;
use crate::Result;
use crate::call::Call;
use crate::files::at;
use crate::strace::signature;

signature!(Path, Octal, Hex);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    mknodat::make(call.process, at::AT_FDCWD, at::path(call, 0, &mut at::Text::new())?, call.uint(1))
}
