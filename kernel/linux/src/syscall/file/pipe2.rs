// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `pipe2(2)`: makes a pipe.
//!
//! Honoured: `O_CLOEXEC`, `O_NONBLOCK`.
//!
//! Refused: `O_DIRECT` (packet mode) and `O_NOTIFICATION_PIPE` (`EINVAL`).

use hadal_vfs::{OpenFlags, pipe};

use crate::call::Call;
use crate::strace::signature;
use crate::{Errno, Result, memory};

signature!(Pair, Flags(&flags::PIPE));

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    make(call, call.uint(1))
}

/// Makes a pipe and stores its two descriptors where argument 0 points to.
pub(super) fn make(call: &Call<'_>, flags: u32) -> Result<usize> {
    let flags = OpenFlags::from_bits(flags).ok_or(Errno::EINVAL)?;
    if !(OpenFlags::CLOSE_ON_EXEC | OpenFlags::NONBLOCK).contains(flags) {
        return Err(Errno::EINVAL);
    }
    let (reader, writer) = pipe::create(&call.process.caller(), flags)?;
    let on_exec = flags.contains(OpenFlags::CLOSE_ON_EXEC);
    let (first, second) = call.process.files().insert_pair(reader, writer, on_exec)?;
    if let Err(error) = memory::write(call.arg(0), &[first, second]) {
        drop((call.process.files().remove(first), call.process.files().remove(second)));
        return Err(error);
    }
    Ok(0)
}
