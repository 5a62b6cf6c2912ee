// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Device registers in memory.

use crate::layout::{DEVICE_MAP, DIRECT_MAP_SIZE};

/// A range of device memory, mapped uncached for good.
#[derive(Clone, Copy, Debug)]
pub struct Region {
    base: usize,
    len: usize,
}

macro_rules! access {
    ($read:ident, $write:ident, $type:ty) => {
        #[doc = concat!("Reads the `", stringify!($type), "` register at byte `offset`.")]
        pub fn $read(&self, offset: usize) -> $type {
            let address = self.at(offset, size_of::<$type>());
            // SAFETY: the region is mapped for good, `at` checked bounds and alignment, and no Rust object lives there.
            unsafe { core::ptr::read_volatile(address as *const $type) }
        }
        #[doc = concat!("Writes the `", stringify!($type), "` register at byte `offset`.")]
        pub fn $write(&self, offset: usize, value: $type) {
            let address = self.at(offset, size_of::<$type>());
            // SAFETY: as for reading.
            unsafe { core::ptr::write_volatile(address as *mut $type, value) };
        }
    };
}

impl Region {
    /// Maps `len` bytes of device memory at physical address `pa`; mapping a range again is free.
    ///
    /// # Panics
    /// If the range is beyond the device map or memory for page tables is out.
    pub fn map(pa: u64, len: usize) -> Self {
        assert!(pa + len as u64 <= DIRECT_MAP_SIZE, "device range {pa:#x}+{len:#x} is beyond the device map");
        crate::paging::map_device(pa, len);
        Self { base: DEVICE_MAP + pa as usize, len }
    }

    /// Virtual address of the region's first byte.
    pub fn address(&self) -> usize {
        self.base
    }

    fn at(&self, offset: usize, size: usize) -> usize {
        assert!(
            offset.is_multiple_of(size) && offset + size <= self.len,
            "register {offset:#x} is not in the region"
        );
        self.base + offset
    }

    access!(read8, write8, u8);
    access!(read16, write16, u16);
    access!(read32, write32, u32);
    access!(read64, write64, u64);
}
