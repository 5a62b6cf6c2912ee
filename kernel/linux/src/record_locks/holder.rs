// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Who has locks: those who share a table of descriptors, or those who share an open file.

use alloc::sync::Arc;

use hadal_hal::memory::fallible;
use hadal_vfs::{FdTable, OpenFile, Watcher};
use spin::Once;

use crate::process::Process;
use crate::{Errno, Result};

/// An address that is not used again as long as what is there has locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// A table of descriptors.
    Files(usize),
    /// An open file.
    File(usize),
}

impl Owner {
    pub(super) fn of_files(files: &FdTable) -> Self {
        Self::Files(core::ptr::from_ref(files).addr())
    }

    fn of_file(file: &OpenFile) -> Self {
        Self::File(core::ptr::from_ref(file).addr())
    }
}

/// Who asks for locks.
#[derive(Clone, Copy)]
pub(crate) struct Holder {
    pub(super) owner: Owner,
    /// The process; an open file is nobody's.
    pub(super) pid: Option<u32>,
}

impl Holder {
    /// A process, and all that share its files (`F_SETLK`).
    pub(crate) fn process(process: &Process) -> Self {
        Self { owner: Owner::of_files(&process.files()), pid: Some(process.pid()) }
    }

    /// An open file, whose locks end with it (`F_OFD_SETLK`).
    pub(crate) fn open_file(file: &OpenFile) -> Result<Self> {
        static KEEPER: Once<Arc<dyn Watcher>> = Once::new();
        let make = || fallible::arc(Keeper).map(|keeper| -> Arc<dyn Watcher> { keeper });
        let keeper = KEEPER.try_call_once(make).map_err(|_| Errno::ENOLCK)?;
        // Once is enough, however often it is locked.
        file.unwatch(keeper);
        file.watch(keeper.clone()).map_err(|_| Errno::ENOLCK)?;
        Ok(Self { owner: Owner::of_file(file), pid: None })
    }
}

/// Hears of open files that are gone, however they go.
struct Keeper;

impl Watcher for Keeper {
    fn closed(self: Arc<Self>, file: &OpenFile) {
        super::end_of(Owner::of_file(file));
    }
}
