// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Instances that watch instances: no cycles, and bounds for the work that one change can cause.

use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;
use core::ptr;

use hadal_hal::memory::fallible::MakeRoom;
use hadal_sync::{Mutex, MutexGuard};

use super::Core;
use crate::{Errno, Result};

/// Most instances above the first of a chain.
const DEEPEST: usize = 4;
/// Most ways from an instance to others that are 1, 2, 3 and 4 steps above it, as on Linux.
const MOST_WAYS: [usize; DEEPEST] = [500, 100, 50, 10];

static CONNECTING: Mutex<()> = Mutex::new(());

/// Keeps everybody else from connecting instances.
pub(super) fn lock() -> MutexGuard<'static, ()> {
    CONNECTING.lock()
}

/// Whether `outer` may watch `inner`: `ELOOP` for a cycle or too long a chain, `EINVAL` for too many ways upwards.
pub(super) fn check(outer: &Arc<Core>, inner: &Arc<Core>) -> Result<()> {
    let below = depth_below(inner, outer, 0)?;
    if below + 1 + height_above(outer, 0) > DEEPEST {
        return Err(Errno::ELOOP);
    }
    let mut added = [0; DEEPEST];
    added[0] = 1;
    count_ways(outer, 1, &mut added);
    check_ways(inner, &added)
}

/// How many steps of instances are below one; `ELOOP` if `forbidden` is among them.
fn depth_below(core: &Arc<Core>, forbidden: &Arc<Core>, depth: usize) -> Result<usize> {
    if Arc::ptr_eq(core, forbidden) || depth > DEEPEST {
        return Err(Errno::ELOOP);
    }
    let mut deepest = 0;
    for child in core.inner()? {
        deepest = deepest.max(1 + depth_below(&child, forbidden, depth + 1)?);
    }
    Ok(deepest)
}

/// How many steps of instances are above one.
fn height_above(core: &Core, height: usize) -> usize {
    if height > DEEPEST {
        return height;
    }
    core.outer().iter().map(|outer| 1 + height_above(outer, height + 1)).max().unwrap_or(0)
}

/// Counts the ways up from an instance that is `steps` above the one in question.
fn count_ways(core: &Core, steps: usize, ways: &mut [usize; DEEPEST]) {
    if steps >= DEEPEST {
        return;
    }
    for outer in core.outer() {
        ways[steps] += 1;
        count_ways(&outer, steps + 1, ways);
    }
}

/// `EINVAL` if an instance, or one below it, had too many ways up with those that are `added` to it.
fn check_ways(core: &Arc<Core>, added: &[usize; DEEPEST]) -> Result<()> {
    let mut ways = *added;
    count_ways(core, 0, &mut ways);
    if ways.iter().zip(MOST_WAYS).any(|(&ways, most)| ways > most) {
        return Err(Errno::EINVAL);
    }
    let mut further = [0; DEEPEST];
    further[1..].copy_from_slice(&added[..DEEPEST - 1]);
    if further == [0; DEEPEST] {
        return Ok(());
    }
    core.inner()?.iter().try_for_each(|child| check_ways(child, &further))
}

impl Core {
    /// The instances that this one watches.
    fn inner(&self) -> Result<Vec<Arc<Self>>> {
        let entries = self.entries.lock();
        let watched = entries.iter().filter_map(|entry| entry.inner.as_ref()?.upgrade());
        let mut inner = Vec::new();
        for core in watched {
            inner.make_room(1).map_err(|_| Errno::ENOMEM)?;
            inner.push(core);
        }
        Ok(inner)
    }

    /// The instances that watch this one.
    fn outer(&self) -> Vec<Arc<Self>> {
        self.outer.lock().iter().filter_map(Weak::upgrade).collect()
    }

    /// Notes that `outer` watches this instance.
    pub(super) fn join(&self, outer: &Arc<Self>) -> Result<()> {
        let mut all = self.outer.lock();
        all.make_room(1).map_err(|_| Errno::ENOMEM)?;
        all.push(Arc::downgrade(outer));
        Ok(())
    }

    /// Notes that `outer` does so no longer.
    pub(super) fn leave(&self, outer: &Arc<Self>) {
        let mut all = self.outer.lock();
        let found = all.iter().position(|each| ptr::eq(each.as_ptr(), Arc::as_ptr(outer)));
        let removed = found.map(|index| all.swap_remove(index));
        drop(all);
        drop(removed);
    }
}
