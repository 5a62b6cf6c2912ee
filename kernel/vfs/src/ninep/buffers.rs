// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reply buffers that are used again.
//!
//! A server writes up to the agreed message size, so each exchange needs a buffer that its reply surely fits into.
//! Three sizes are kept: for replies without data, for a window of pages, and for the largest message.

use alloc::vec::Vec;

use hadal_hal::memory::fallible;
use hadal_hal::sync::SpinLock;

use crate::errno::{Errno, Result};

/// A reply without file data fits into this many bytes: the longest one carries a path of 4,096 bytes.
pub(super) const SMALL: usize = 8192;
/// Enough for the window that a page fault reads ahead.
const MEDIUM: usize = 132 * 1024;

struct Class {
    len: usize,
    /// How many unused buffers are kept.
    keep: usize,
    free: SpinLock<Vec<Vec<u8>>>,
}

impl Class {
    const fn new(len: usize, keep: usize) -> Self {
        Self { len, keep, free: SpinLock::new(Vec::new()) }
    }
}

/// The buffers of a connection.
pub(super) struct Buffers {
    classes: [Class; 3],
}

impl Buffers {
    pub(super) fn new(msize: usize) -> Self {
        Self { classes: [Class::new(SMALL, 32), Class::new(MEDIUM.min(msize), 8), Class::new(msize, 2)] }
    }

    /// A buffer of at least `len` bytes, which is at most the message size.
    pub(super) fn take(&self, len: usize) -> Result<Vec<u8>> {
        let class = self.classes.iter().find(|class| class.len >= len).ok_or(Errno::EINVAL)?;
        if let Some(buffer) = class.free.lock().pop() {
            return Ok(buffer);
        }
        Ok(fallible::filled(0, class.len)?)
    }

    /// Takes a buffer back.
    pub(super) fn give_back(&self, buffer: Vec<u8>) {
        if let Some(class) = self.classes.iter().find(|class| class.len == buffer.len()) {
            let mut free = class.free.lock();
            if free.len() < class.keep {
                free.push(buffer);
            }
        }
    }

    /// Frees what is not in use.
    pub(super) fn clear(&self) {
        for class in &self.classes {
            let unused = core::mem::take(&mut *class.free.lock());
            drop(unused);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_large_enough_and_reused() {
        let buffers = Buffers::new(500_000);
        for len in [0, SMALL, SMALL + 1, MEDIUM, MEDIUM + 1, 500_000] {
            let mut buffer = buffers.take(len).unwrap();
            assert!(buffer.len() >= len);
            buffer[0] = 77;
            buffers.give_back(buffer);
            assert_eq!(buffers.take(len).unwrap()[0], 77);
        }
        assert_eq!(buffers.take(500_001).err(), Some(Errno::EINVAL));
        let small = Buffers::new(SMALL);
        assert_eq!(small.take(SMALL).unwrap().len(), SMALL);
    }
}
