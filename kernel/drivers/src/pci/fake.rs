// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A configuration space in memory, for tests.

use core::cell::RefCell;

use super::ConfigSpace;

/// 256 bytes of plain memory.
pub(crate) struct FakeSpace(RefCell<[u32; 64]>);

impl FakeSpace {
    /// A space of zeros.
    pub(crate) fn new() -> Self {
        Self(RefCell::new([0; 64]))
    }

    /// Sets the word at byte `offset`.
    pub(crate) fn set(&self, offset: u16, value: u32) {
        self.0.borrow_mut()[usize::from(offset) / 4] = value;
    }
}

impl ConfigSpace for FakeSpace {
    fn read32(&self, offset: u16) -> u32 {
        self.0.borrow()[usize::from(offset) / 4]
    }

    fn write32(&self, offset: u16, value: u32) {
        self.set(offset, value);
    }
}
