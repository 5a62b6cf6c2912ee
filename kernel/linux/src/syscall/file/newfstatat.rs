// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `newfstatat(2)`: attributes of what a path names relative to a directory, or of a descriptor.
//!
//! Honoured: `AT_SYMLINK_NOFOLLOW`, `AT_EMPTY_PATH` (also with a null path), `AT_NO_AUTOMOUNT`.
//!
//! Refused: nothing; other flags are `EINVAL`.

use linux_raw_sys::general::{AT_EMPTY_PATH, AT_NO_AUTOMOUNT, AT_SYMLINK_NOFOLLOW};

use crate::call::Call;
use crate::files::at;
use crate::files::stat_layout::Stat;
use crate::strace::signature;
use crate::{Result, memory};

signature!(Directory, Path, Address, Flags(&flags::AT));

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let flags = call.uint(3);
    at::check_flags(flags, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH | AT_NO_AUTOMOUNT)?;
    let mut room = at::Text::new();
    let path = at::path_or_null(call, 1, flags, &mut room)?;
    let metadata = if path.is_empty() {
        at::target(call.process, call.int(0), path, flags)?.metadata()
    } else {
        at::inode(call.process, call.int(0), path, at::follow(flags))?.metadata()
    };
    memory::write(call.arg(2), &Stat::from(metadata.as_ref().map_err(|&error| error)?))?;
    Ok(0)
}
