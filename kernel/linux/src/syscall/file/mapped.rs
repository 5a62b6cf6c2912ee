// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What calls on files mean for mappings of the file.

use alloc::sync::Arc;

use hadal_mem::space::SourceId;
use hadal_vfs::{FileKind, Inode, OpenFile};

use crate::process::Process;
use crate::{Errno, Result};

fn source(inode: &Arc<dyn Inode>) -> Option<SourceId> {
    let id = inode.identity();
    (inode.kind() == FileKind::Regular).then_some(SourceId { dev: id.dev, ino: id.ino })
}

/// Brings what shared mappings have written to an open file to where it is kept.
pub(super) fn write_back(process: &Process, open: &OpenFile) -> Result<()> {
    let written = open.status().writable().then(|| source(open.inode())).flatten();
    match written {
        Some(file) => process.space().sync_file(file).map_err(|_| Errno::EIO),
        None => Ok(()),
    }
}

/// A file has been given a length: mappings have no pages behind it.
pub(super) fn ends_at(process: &Process, inode: &Arc<dyn Inode>, len: u64) {
    if let Some(file) = source(inode) {
        process.space().file_ends_at(file, len);
    }
}
