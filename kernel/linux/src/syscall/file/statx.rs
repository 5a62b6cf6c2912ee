// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `statx(2)`: extended attributes of what a path names, or of a descriptor.
//!
//! Honoured: `AT_SYMLINK_NOFOLLOW`, `AT_EMPTY_PATH` (also with a null path), `AT_NO_AUTOMOUNT`, `AT_STATX_FORCE_SYNC`,
//! `AT_STATX_DONT_SYNC`; the basic fields, the mount number and `STATX_ATTR_MOUNT_ROOT`.
//!
//! Refused: the time of birth and later fields: their bits in the returned mask stay off, as on a file system without
//! them.

use linux_raw_sys::general::{
    AT_EMPTY_PATH, AT_NO_AUTOMOUNT, AT_STATX_SYNC_TYPE, AT_SYMLINK_NOFOLLOW, STATX__RESERVED,
};

use crate::call::Call;
use crate::files::at;
use crate::files::stat_layout::Statx;
use crate::strace::signature;
use crate::{Errno, Result, memory};

signature!(Directory, Path, Flags(&flags::AT), Hex, Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (flags, mask) = (call.uint(2), call.uint(3));
    at::check_flags(flags, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH | AT_NO_AUTOMOUNT | AT_STATX_SYNC_TYPE)?;
    if mask & STATX__RESERVED != 0 || flags & AT_STATX_SYNC_TYPE == AT_STATX_SYNC_TYPE {
        return Err(Errno::EINVAL);
    }
    let mut room = at::Text::new();
    let path = at::path_or_null(call, 1, flags, &mut room)?;
    let target = at::target(call.process, call.int(0), path, flags)?;
    memory::write(call.arg(4), &Statx::new(&target.metadata()?, target.location()))?;
    Ok(0)
}
