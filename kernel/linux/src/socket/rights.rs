// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Open files on their way through a socket (`SCM_RIGHTS`).
//!
//! A socket that is sent through itself is never received. Files on their way are counted, and their number is limited as on
//! Linux, so such a ring costs a bounded amount of memory; it is freed with the program.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering};

use hadal_hal::memory::fallible::MakeRoom;
use hadal_vfs::OpenFile;

use crate::{Errno, Result};

/// Files on their way through all sockets.
static IN_FLIGHT: AtomicU64 = AtomicU64::new(0);

/// Files that a message brings.
pub(crate) struct Rights(Vec<Arc<OpenFile>>);

impl Rights {
    /// Takes files along; `ETOOMANYREFS` when more than `limit` would be on their way.
    pub(crate) fn new(files: Vec<Arc<OpenFile>>, limit: u64) -> Result<Self> {
        let count = files.len() as u64;
        let before = IN_FLIGHT.fetch_add(count, Ordering::Relaxed);
        // Counted first: dropping it gives the count back.
        let rights = Self(files);
        if count > 0 && before + count > limit { Err(Errno::ETOOMANYREFS) } else { Ok(rights) }
    }

    /// No files.
    pub(crate) const NONE: Self = Self(Vec::new());

    /// The files, which are somewhere else from now on.
    pub(super) fn take(&mut self) -> Self {
        core::mem::replace(self, Self::NONE)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The files, for good or, for a look, once more.
    pub(super) fn hand_over(&mut self, keep: bool) -> Result<Vec<Arc<OpenFile>>> {
        if !keep {
            let files = core::mem::take(&mut self.0);
            IN_FLIGHT.fetch_sub(files.len() as u64, Ordering::Relaxed);
            return Ok(files);
        }
        let mut copies = Vec::new();
        copies.make_room(self.0.len()).map_err(|_| Errno::ENOMEM)?;
        copies.extend(self.0.iter().cloned());
        Ok(copies)
    }
}

impl Drop for Rights {
    fn drop(&mut self) {
        if !self.0.is_empty() {
            IN_FLIGHT.fetch_sub(self.0.len() as u64, Ordering::Relaxed);
        }
    }
}
