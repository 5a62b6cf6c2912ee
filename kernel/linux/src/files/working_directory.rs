// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What `chdir` and `fchdir` have in common.

use hadal_hal::memory::fallible;
use hadal_vfs::{Access, Location};

use crate::process::Process;
use crate::{Errno, Result};

/// Makes a place the working directory, if it is a directory that the program may pass through.
pub(crate) fn change(process: &Process, place: Location) -> Result<usize> {
    if !place.inode().is_directory() {
        return Err(Errno::ENOTDIR);
    }
    process.namespace.access_at(&process.caller(), &place, Access::EXECUTE)?;
    process.set_cwd(fallible::arc(place)?);
    Ok(0)
}
