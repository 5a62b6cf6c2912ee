// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `pidfd_open(2)`: makes a file that means a process.
//!
//! Honoured: processes of all users, those that wait to be waited for; PIDFD_NONBLOCK; polling. The descriptor is closed by `execve`.
//!
//! Refused: ids of threads that are not a process's first one, process 1, other flags (EINVAL).

use hadal_vfs::OpenFlags;

use super::process_file;
use crate::call::Call;
use crate::family::{self, Held};
use crate::first::{self, Named};
use crate::pidfd;
use crate::strace::signature;
use crate::{Errno, Result};

signature!(Int, Flags(&flags::PIPE));

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (id, flags) = (call.int(0), OpenFlags::from_bits_retain(call.uint(1)));
    if id <= 0 || !pidfd::NONBLOCK.contains(flags) || first::named(call.process, id) == Ok(Named::First) {
        return Err(Errno::EINVAL);
    }
    let process: Held = family::find_held(id as u32).ok_or(Errno::ESRCH)?;
    if process.pid() != id as u32 {
        return Err(Errno::EINVAL);
    }
    process_file::open(call, process.process(), id as u32, flags).map(|fd| fd as usize)
}
