// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `unlinkat(2)`: removes a name relative to a directory.
//!
//! Honoured: `AT_REMOVEDIR`.
//!
//! Refused: nothing; other flags are `EINVAL`.

use hadal_vfs::{Caller, Location, Namespace};
use linux_raw_sys::general::AT_REMOVEDIR;

use crate::Result;
use crate::call::Call;
use crate::files::at;
use crate::process::Process;
use crate::strace::signature;

signature!(Directory, Path, Flags(&flags::AT));

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let flags = call.uint(2);
    at::check_flags(flags, AT_REMOVEDIR)?;
    let mut room = at::Text::new();
    let path = at::path(call, 1, &mut room)?;
    if flags & AT_REMOVEDIR == 0 {
        remove(call.process, call.int(0), path, Namespace::unlink)
    } else {
        remove(call.process, call.int(0), path, Namespace::rmdir)
    }
}

/// Removes a name, in the way of [`Namespace::unlink`] or [`Namespace::rmdir`].
pub(super) fn remove(
    process: &Process,
    dirfd: i32,
    path: &[u8],
    way: impl FnOnce(&Namespace, &Caller<'_>, &Location, &[u8]) -> Result<()>,
) -> Result<usize> {
    let start = at::start(process, dirfd, path)?;
    way(&process.namespace, &process.caller(), &start, path)
        .inspect_err(|&error| process.refused.note_write(process, &start, path, error))?;
    Ok(0)
}
