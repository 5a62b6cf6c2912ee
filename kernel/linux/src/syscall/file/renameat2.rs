// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `renameat2(2)`: moves an entry from one directory to another.
//!
//! Honoured: `RENAME_NOREPLACE`; `RENAME_EXCHANGE` on file systems that can do it, which that of the host cannot
//! (`EINVAL`).
//!
//! Refused: `RENAME_WHITEOUT` (`EINVAL`).

use hadal_vfs::RenameFlags;

use crate::call::Call;
use crate::files::at;
use crate::strace::signature;
use crate::{Errno, Result};

signature!(Directory, Path, Directory, Path, Flags(&flags::RENAME));

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let flags = RenameFlags::from_bits(call.uint(4)).ok_or(Errno::EINVAL)?;
    let (mut first, mut second) = (at::Text::new(), at::Text::new());
    let (old, new) = (at::path(call, 1, &mut first)?, at::path(call, 3, &mut second)?);
    rename(call, (call.int(0), old), (call.int(2), new), flags)
}

/// Moves an entry; each path comes with the descriptor it is relative to.
pub(super) fn rename(
    call: &Call<'_>,
    (old_dirfd, old): (i32, &[u8]),
    (new_dirfd, new): (i32, &[u8]),
    flags: RenameFlags,
) -> Result<usize> {
    let process = call.process;
    let old_start = at::start(process, old_dirfd, old)?;
    let new_start = at::start(process, new_dirfd, new)?;
    process.namespace.rename(&process.caller(), (&old_start, old), (&new_start, new), flags).inspect_err(
        |&error| {
            process.refused.note_write(process, &old_start, old, error);
            process.refused.note_write(process, &new_start, new, error);
        },
    )?;
    Ok(0)
}
