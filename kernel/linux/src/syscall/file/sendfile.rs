// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `sendfile(2)`: copies from a file to a descriptor.
//!
//! Honoured: a source with positions, any target; the offset argument or the shared offset.
//!
//! Refused: a source without positions, a target opened with `O_APPEND` (`EINVAL`).

use hadal_vfs::OpenFlags;

use crate::call::Call;
use crate::files::copying::{self, Place};
use crate::files::{size_limit, transfer};
use crate::strace::signature;
use crate::{Errno, Result};

signature!(Int, Int, Address, Size);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (target, source) = (call.process.files().get(call.int(0))?, call.process.files().get(call.int(1))?);
    if !source.status().readable() || !target.status().writable() {
        return Err(Errno::EBADF);
    }
    if !source.is_seekable() || target.status().contains(OpenFlags::APPEND) {
        return Err(Errno::EINVAL);
    }
    let mut place = Place::new(&source, call.arg(2))?;
    let count = copying::copy(&source, &mut place, call.arg(3), |data| {
        size_limit::write(call, &target, &mut target.writing(None)?, data)
    });
    if let Err(error) = count {
        if error == Errno::EPIPE {
            transfer::broken_pipe(call, &target);
        }
        size_limit::note(call, error);
    }
    let count = count?;
    place.store(&source)?;
    Ok(count)
}
