// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `mknodat(2)`: creates a file that is no directory, relative to a directory.
//!
//! Honoured: regular files (`S_IFREG`, or no type) and, in memory, named pipes (`S_IFIFO`) and sockets (`S_IFSOCK`); the umask
//! applies.
//!
//! Refused: devices, and named pipes and sockets among the host's files (`EPERM`).

use hadal_vfs::{FileKind, OpenFlags};
use linux_raw_sys::general::{S_IFBLK, S_IFCHR, S_IFDIR, S_IFIFO, S_IFMT, S_IFREG, S_IFSOCK};

use crate::call::Call;
use crate::files::at;
use crate::process::Process;
use crate::strace::signature;
use crate::{Errno, Result};

signature!(Directory, Path, Octal, Hex);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    make(call.process, call.int(0), at::path(call, 1, &mut at::Text::new())?, call.uint(2))
}

/// Creates a file.
pub(super) fn make(process: &Process, dirfd: i32, path: &[u8], mode: u32) -> Result<usize> {
    let start = at::start(process, dirfd, path)?;
    let (namespace, caller, permissions) = (&process.namespace, process.caller(), mode & !S_IFMT);
    let flags = OpenFlags::CREATE | OpenFlags::EXCLUSIVE | OpenFlags::WRITE_ONLY;
    let made = match mode & S_IFMT {
        0 | S_IFREG => namespace.open(&caller, &start, path, flags, permissions).map(drop),
        S_IFIFO | S_IFSOCK => namespace
            .make_special(&caller, &start, path, FileKind::from_mode(mode), permissions)
            .map(drop)
            .inspect_err(|&error| process.refused.note_special(error)),
        S_IFCHR | S_IFBLK | S_IFDIR => return Err(Errno::EPERM),
        _ => return Err(Errno::EINVAL),
    };
    made.inspect_err(|&error| process.refused.note_write(process, &start, path, error))?;
    Ok(0)
}
