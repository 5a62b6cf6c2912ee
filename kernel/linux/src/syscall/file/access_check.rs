// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What `access`, `faccessat` and `faccessat2` have in common.

use hadal_vfs::Access;

use super::at;
use crate::process::Process;
use crate::{Errno, Result};

/// Checks what a path or descriptor may be used for. Real and effective ids are the same, so `AT_EACCESS` changes nothing.
pub(super) fn check(process: &Process, dirfd: i32, path: &[u8], mode: u32, flags: u32) -> Result<usize> {
    let wanted = Access::from_bits(mode).ok_or(Errno::EINVAL)?;
    let target = at::target(process, dirfd, path, flags)?;
    process.namespace.access_at(&process.caller(), target.location(), wanted)?;
    Ok(0)
}
