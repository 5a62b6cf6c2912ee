// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the end of a process undoes (`SEM_UNDO`): the sets where it has adjustments, which the sets keep themselves.

use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use core::sync::atomic::{AtomicU64, Ordering};

use hadal_hal::memory::fallible;
use hadal_hal::sync::{Rank, SpinLock};

use super::semaphores::table;
use crate::Result;
use crate::process::Process;

/// A list is looked through for sets that are gone whenever it has grown by so many.
const LOOKED_THROUGH: usize = 64;

/// The sets of a process, or of several that share their list (`CLONE_SYSVSEM`).
pub(crate) struct List {
    /// What sets know it by.
    number: u64,
    sets: SpinLock<BTreeSet<i32>>,
}

/// A process's list, once it has one.
pub(crate) struct Undo(SpinLock<Option<Arc<List>>>);

impl Undo {
    pub(crate) const fn new() -> Self {
        Self(SpinLock::ranked(Rank::Process, None))
    }

    fn list(&self) -> Result<Arc<List>> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        if let Some(list) = &*self.0.lock() {
            return Ok(list.clone());
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let new = fallible::arc(List { number, sets: SpinLock::ranked(Rank::Process, BTreeSet::new()) })?;
        Ok(self.0.lock().get_or_insert(new).clone())
    }

    /// Has another process's list from now on, too.
    pub(crate) fn share(&self, other: &Self) -> Result<()> {
        let list = other.list()?;
        *self.0.lock() = Some(list);
        Ok(())
    }

    /// The process has ended, or never begun. The last one of those with the list undoes what they have done.
    pub(crate) fn end(&self, pid: u32) {
        let list = self.0.lock().take();
        let Some(List { number, sets }) = list.and_then(Arc::into_inner) else { return };
        let sets = core::mem::take(&mut *sets.lock());
        for id in sets {
            if let Ok(set) = table().get(id) {
                set.undo(number, pid);
            }
        }
    }
}

/// Notes that a process has adjustments in a set; returns the number of its list.
pub(super) fn list_with(process: &Process, id: i32) -> Result<u64> {
    let list = process.undo.list()?;
    let mut sets = list.sets.lock();
    if !sets.contains(&id) {
        fallible::admit(fallible::SMALL_BYTES)?;
        if sets.len() % LOOKED_THROUGH == LOOKED_THROUGH - 1 {
            sets.retain(|&id| table().get(id).is_ok());
        }
        sets.insert(id);
    }
    Ok(list.number)
}
