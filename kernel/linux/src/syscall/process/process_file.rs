// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Descriptors of processes, for the calls that make them.

use hadal_hal::memory::fallible;
use hadal_vfs::OpenFlags;

use crate::Result;
use crate::call::Call;
use crate::files::anonymous::{self, Label};
use crate::pidfd::{NONBLOCK, ProcessFile};
use crate::process::Process;

/// Opens a file for a process that has this id, or is to have it, and that does not end meanwhile; returns the descriptor.
pub(super) fn open(call: &Call<'_>, process: &'static Process, pid: u32, flags: OpenFlags) -> Result<i32> {
    let file = fallible::arc(ProcessFile::new(process, pid))?;
    let label = Label::Fixed("anon_inode:[pidfd]");
    let status = OpenFlags::READ_WRITE | flags & NONBLOCK;
    let file = anonymous::open(&call.process.caller(), file, 0o600, label, status)?;
    call.process.files().insert(file, true)
}
