// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Counts of changes, by which an open file knows that its last access is noted still.
//!
//! There are a few for all files in memory: who shares one with another file looks at its times more often.

use core::sync::atomic::{AtomicU32, Ordering};

const COUNTS: usize = 64;

/// In a cache line of its own: writers of different files do not disturb each other.
#[repr(align(64))]
struct Count(AtomicU32);

static ALL: [Count; COUNTS] = [const { Count(AtomicU32::new(0)) }; COUNTS];

/// That of an inode.
pub(super) fn of(ino: u64) -> &'static AtomicU32 {
    &ALL[ino as usize % COUNTS].0
}

/// The times of an inode that has this count have changed.
pub(super) fn count(changes: &AtomicU32) {
    changes.fetch_add(1, Ordering::Release);
}
