// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `linkat(2)`: gives a file one more name, relative to directories.
//!
//! Honoured: `AT_SYMLINK_FOLLOW`, `AT_EMPTY_PATH`.
//!
//! Refused: nothing; other flags are `EINVAL`.

use hadal_vfs::{Follow, Location};
use linux_raw_sys::general::{AT_EMPTY_PATH, AT_SYMLINK_FOLLOW};

use crate::Result;
use crate::call::Call;
use crate::files::at;
use crate::strace::signature;

signature!(Directory, Path, Directory, Path, Flags(&flags::AT));

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let flags = call.uint(4);
    at::check_flags(flags, AT_SYMLINK_FOLLOW | AT_EMPTY_PATH)?;
    let (process, mut first, mut second) = (call.process, at::Text::new(), at::Text::new());
    let (old, new) = (at::path(call, 1, &mut first)?, at::path(call, 3, &mut second)?);
    let place = if old.is_empty() && flags & AT_EMPTY_PATH != 0 {
        at::target(process, call.int(0), old, flags)?.location().clone()
    } else {
        let follow = if flags & AT_SYMLINK_FOLLOW != 0 { Follow::Yes } else { Follow::No };
        at::place(process, call.int(0), old, follow)?
    };
    link(call, &place, call.int(2), new)
}

/// Gives the file at a place one more name.
pub(super) fn link(call: &Call<'_>, old: &Location, new_dirfd: i32, new: &[u8]) -> Result<usize> {
    let process = call.process;
    let start = at::start(process, new_dirfd, new)?;
    process
        .namespace
        .link(&process.caller(), old, &start, new)
        .inspect_err(|&error| process.refused.note_write(process, &start, new, error))?;
    Ok(0)
}
