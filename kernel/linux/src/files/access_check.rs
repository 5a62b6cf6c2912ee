// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What `access`, `faccessat` and `faccessat2` have in common.

use hadal_vfs::Access;
use linux_raw_sys::general::AT_EACCESS;

use super::at;
use crate::process::Process;
use crate::{Errno, Result};

/// Checks what a path or descriptor may be used for, by the real ids or with `AT_EACCESS` the effective ones.
pub(crate) fn check(process: &Process, dirfd: i32, path: &[u8], mode: u32, flags: u32) -> Result<usize> {
    let wanted = Access::from_bits(mode).ok_or(Errno::EINVAL)?;
    let target = at::target(process, dirfd, path, flags)?;
    let caller = if flags & AT_EACCESS != 0 { process.caller() } else { process.real_caller() };
    process.namespace.access_at(&caller, target.location(), wanted)?;
    Ok(0)
}
