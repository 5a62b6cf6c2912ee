// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A configuration space in memory, for tests.

use core::cell::RefCell;

use super::ConfigSpace;

/// 256 bytes of plain memory, of which some bits may be read-only.
pub(crate) struct FakeSpace {
    words: RefCell<[u32; 64]>,
    writable: RefCell<[u32; 64]>,
}

impl FakeSpace {
    /// A space of zeros.
    pub(crate) fn new() -> Self {
        Self { words: RefCell::new([0; 64]), writable: RefCell::new([u32::MAX; 64]) }
    }

    /// Sets the word at byte `offset`.
    pub(crate) fn set(&self, offset: u16, value: u32) {
        self.words.borrow_mut()[usize::from(offset) / 4] = value;
    }

    /// Makes all but some bits of the word at byte `offset` stay as they are.
    pub(crate) fn set_writable(&self, offset: u16, bits: u32) {
        self.writable.borrow_mut()[usize::from(offset) / 4] = bits;
    }
}

impl ConfigSpace for FakeSpace {
    fn read32(&self, offset: u16) -> u32 {
        self.words.borrow()[usize::from(offset) / 4]
    }

    fn write32(&self, offset: u16, value: u32) {
        let writable = self.writable.borrow()[usize::from(offset) / 4];
        self.set(offset, self.read32(offset) & !writable | value & writable);
    }
}
