// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Taking turns at the files of a file system, without a lock in every inode.

use hadal_sync::Mutex;

/// Files that share a lock only wait for each other a little longer.
const LOCKS: usize = 16;

/// Locks by inode number. Nobody holds two.
pub(crate) struct Turns([Mutex<()>; LOCKS]);

impl Turns {
    pub(crate) const fn new() -> Self {
        Self([const { Mutex::new(()) }; LOCKS])
    }

    /// The lock of an inode.
    pub(crate) fn of(&self, ino: u64) -> &Mutex<()> {
        // Server's numbers are often multiples of something: the upper bits count, too.
        let mixed = ino ^ (ino >> 8) ^ (ino >> 16) ^ (ino >> 32);
        &self.0[mixed as usize % LOCKS]
    }
}
