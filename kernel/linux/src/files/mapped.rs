// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What calls on files mean for mappings of the file, in all processes.

use alloc::sync::Arc;

use hadal_mem::space::{ProgramSpace, SourceId, SpaceError};
use hadal_vfs::{FileKind, Inode, OpenFile};

use crate::family::{self, Held};
use crate::process::Process;
use crate::{Errno, Result};

fn source(inode: &Arc<dyn Inode>) -> Option<SourceId> {
    let id = inode.identity();
    (inode.kind() == FileKind::Regular).then_some(SourceId { dev: id.dev, ino: id.ino })
}

/// Runs `act` on the windows of the other processes.
#[cold]
fn in_others(process: &Process, mut act: impl FnMut(&ProgramSpace)) {
    let own = process.space();
    for other in family::all().filter_map(Held::of) {
        if !core::ptr::eq(other.space(), own) {
            act(other.space());
        }
    }
}

/// Brings what shared mappings have written to a file to where it is kept.
fn sync_file(process: &Process, file: SourceId) -> core::result::Result<(), SpaceError> {
    let mut result = process.space().sync_file(file);
    if family::are_several() {
        in_others(process, |space| result = result.and(space.sync_file(file)));
    }
    result
}

/// The file of an open file that can be written.
fn written(open: &OpenFile) -> Option<SourceId> {
    open.status().writable().then(|| source(open.inode())).flatten()
}

/// Brings what shared mappings have written to an open file to where it is kept.
pub(crate) fn write_back(process: &Process, open: &OpenFile) -> Result<()> {
    written(open).map_or(Ok(()), |file| sync_file(process, file)).map_err(|_| Errno::EIO)
}

/// The same for the caller's mappings.
pub(crate) fn write_back_own(process: &Process, open: &OpenFile) -> Result<()> {
    written(open).map_or(Ok(()), |file| process.space().sync_file(file)).map_err(|_| Errno::EIO)
}

/// Brings what was written to the files in a range of memory to where they are kept, by whichever process (`msync`).
pub(crate) fn sync_range(
    process: &Process,
    start: usize,
    len: usize,
) -> core::result::Result<(), SpaceError> {
    let (mut at, end) = (start, start.saturating_add(len));
    let mut result = process.space().sync(start, len);
    while family::are_several()
        && let Some((next, file)) = process.space().next_written(at, end)
    {
        result = result.and(sync_file(process, file));
        at = next;
    }
    result
}

/// Lets go of what was unmapped and waits for CPUs to forget it, in all processes.
#[cold]
pub(crate) fn reclaim(process: &Process) {
    process.space().reclaim();
    if family::are_several() {
        in_others(process, |space| _ = space.reclaim());
    }
}

/// A file has been given a length: mappings have no pages behind it.
pub(crate) fn ends_at(process: &Process, inode: &Arc<dyn Inode>, len: u64) {
    let Some(file) = source(inode) else { return };
    process.space().file_ends_at(file, len);
    if family::are_several() {
        in_others(process, |space| space.file_ends_at(file, len));
    }
}
