// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `copy_file_range(2)`: copies from one regular file to another.
//!
//! Honoured: offset arguments or the shared offsets; files of different file systems.
//!
//! Refused: overlapping ranges of one file, other kinds of files, any flag (`EINVAL`); a target opened with `O_APPEND`
//! (`EBADF`).

use hadal_vfs::{FileKind, OpenFile, OpenFlags};

use crate::call::Call;
use crate::files::copying::{self, Place};
use crate::files::size_limit;
use crate::strace::signature;
use crate::{Errno, Result};

signature!(Int, Address, Int, Address, Size, Hex);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (source, target) = (call.process.files().get(call.int(0))?, call.process.files().get(call.int(2))?);
    if call.uint(5) != 0 {
        return Err(Errno::EINVAL);
    }
    check_kind(&source)?;
    check_kind(&target)?;
    let status = target.status();
    if !source.status().readable() || !status.writable() || status.contains(OpenFlags::APPEND) {
        return Err(Errno::EBADF);
    }
    let mut from = Place::new(&source, call.arg(1))?;
    let mut to = Place::new(&target, call.arg(3))?;
    let len = call.arg(4);
    let same = source.inode().identity() == target.inode().identity();
    if same && from.at.abs_diff(to.at) < len as u64 {
        return Err(Errno::EINVAL);
    }
    let count = copying::copy(&source, &mut from, len, |data| {
        let taken = size_limit::write(call, &target, &mut target.writing(Some(to.at))?, data)?;
        to.at += taken as u64;
        Ok(taken)
    });
    let count = count.inspect_err(|&error| size_limit::note(call, error))?;
    from.store(&source)?;
    to.store(&target)?;
    Ok(count)
}

fn check_kind(file: &OpenFile) -> Result<()> {
    file.file()?;
    match file.inode().kind() {
        // A standard stream can be a regular file on the host and have no positions here.
        FileKind::Regular if file.is_seekable() => Ok(()),
        FileKind::Directory => Err(Errno::EISDIR),
        _ => Err(Errno::EINVAL),
    }
}
