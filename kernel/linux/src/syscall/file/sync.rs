// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `sync(2)`: brings what was written to stable storage.
//!
//! Honoured: every file that is open.
//!
//! Refused: a file that is closed already is not touched again: what was written to it has reached the host's kernel,
//! which writes it back in its own time.

use alloc::collections::BTreeSet;
use alloc::sync::Arc;

use hadal_hal::memory::fallible;

use crate::Result;
use crate::call::Call;
use crate::process::Process;
use crate::strace::signature;

signature!();

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    sync_where(call.process, |_| true);
    Ok(0)
}

/// Brings the open files of some devices to stable storage. Errors show up where the program asks for one file.
pub(super) fn sync_where(process: &Process, wanted: impl Fn(u64) -> bool) {
    let _ = process.space().sync_all();
    let mut done = BTreeSet::new();
    for fd in process.files().taken(0, u32::MAX) {
        let Ok(open) = process.files().get(fd) else { continue };
        let Ok(file) = open.file() else { continue };
        // Without memory to note it, a file is brought there again.
        let first =
            fallible::admit(fallible::SMALL_BYTES).is_err() || done.insert(Arc::as_ptr(&open) as usize);
        if first && open.status().writable() && wanted(open.inode().identity().dev) {
            // A pipe or a terminal has nothing to write back and says so.
            let _ = file.fsync(false);
        }
    }
}
