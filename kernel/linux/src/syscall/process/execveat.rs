// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `execveat(2)`: replaces the program of the process by one that is named relative to a directory, or by a descriptor.
//!
//! Honoured: as `execve`; `AT_EMPTY_PATH`, `AT_SYMLINK_NOFOLLOW`.
//!
//! Refused: as `execve`; other flags are `EINVAL`.

use alloc::format;

use hadal_vfs::FileKind;
use linux_raw_sys::general::{AT_EMPTY_PATH, AT_SYMLINK_NOFOLLOW};

use super::no_copy;
use crate::call::Call;
use crate::exec::{self, Request};
use crate::files::at;
use crate::strace::signature;
use crate::{Errno, Result};

signature!(Directory, Path, Address, Address, Flags(&flags::AT));

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    no_copy::must_leave_nothing(call, "execveat")?;
    let flags = call.uint(4);
    at::check_flags(flags, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW)?;
    let mut room = at::Text::new();
    let path = at::path(call, 1, &mut room)?;
    let directory = call.int(0);
    let target = at::target(call.process, directory, path, flags)?;
    let place = target.location().clone();
    if place.inode().kind() == FileKind::Symlink {
        return Err(Errno::ELOOP);
    }
    // As Linux names what has no path of its own.
    let name = match path {
        [] => format!("/dev/fd/{directory}").into_bytes(),
        [b'/', ..] => path.to_vec(),
        _ if directory == at::AT_FDCWD => path.to_vec(),
        _ => [format!("/dev/fd/{directory}/").as_bytes(), path].concat(),
    };
    let request = Request { name: &name, arguments: call.arg(2), environment: call.arg(3) };
    exec::replace(call, place, &request)
}
