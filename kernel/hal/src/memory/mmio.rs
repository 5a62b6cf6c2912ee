// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Device registers in memory: whatever is no RAM. Reading and writing them touches no Rust object; what a device then does
//! is up to its driver.

use crate::memory::frames::ledger;
use crate::memory::layout::{DEVICE_MAP, DIRECT_MAP_SIZE};

/// Where the registers of each CPU's own interrupt controller are. Whoever writes there can start a CPU anywhere.
const LOCAL_APIC: core::ops::Range<u64> = 0xfee0_0000..0xfee0_1000;

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
    /// If the range is beyond the device map, a part of it is RAM or the local APIC's, or memory for page tables is out.
    pub fn map(pa: u64, len: usize) -> Self {
        let is_apic = pa < LOCAL_APIC.end && LOCAL_APIC.start < pa.saturating_add(len as u64);
        assert!(!is_apic, "device range {pa:#x}+{len:#x} has the local APIC in it");
        Self::map_any(pa, len)
    }

    /// [`Region::map`] for an address that nobody has checked; `None` where a device cannot be.
    pub fn try_map(pa: u64, len: usize) -> Option<Self> {
        let end = pa.checked_add(len as u64).filter(|&end| end <= DIRECT_MAP_SIZE)?;
        let is_apic = pa < LOCAL_APIC.end && LOCAL_APIC.start < end;
        (!is_apic && !ledger::has_memory(pa, len)).then(|| Self::map_any(pa, len))
    }

    /// [`Region::map`] for the local APIC's driver.
    pub(crate) fn map_any(pa: u64, len: usize) -> Self {
        let end = pa.checked_add(len as u64).filter(|&end| end <= DIRECT_MAP_SIZE);
        assert!(!ledger::has_memory(pa, len), "device range {pa:#x}+{len:#x} is memory");
        assert!(end.is_some(), "device range {pa:#x}+{len:#x} is beyond the device map");
        crate::memory::paging::map_device(pa, len);
        Self { base: DEVICE_MAP + pa as usize, len }
    }

    /// Virtual address of the region's first byte.
    pub fn address(&self) -> usize {
        self.base
    }

    fn at(&self, offset: usize, size: usize) -> usize {
        let is_inside = offset.checked_add(size).is_some_and(|end| end <= self.len);
        assert!(offset.is_multiple_of(size) && is_inside, "register {offset:#x} is not in the region");
        self.base + offset
    }

    access!(read8, write8, u8);
    access!(read16, write16, u16);
    access!(read32, write32, u32);
    access!(read64, write64, u64);
}

#[cfg(test)]
mod tests {
    use super::Region;
    use crate::memory::frames;

    #[test]
    #[should_panic(expected = "is memory")]
    fn memory_is_no_device() {
        Region::map(frames::host_arena(2 << 20) - 4096, 8192);
    }

    #[test]
    #[should_panic(expected = "the local APIC")]
    fn the_local_apic_is_not_for_drivers() {
        Region::map(0xfed0_0000, 0x20_0000);
    }

    #[test]
    fn where_no_device_can_be_nothing_is_mapped() {
        let memory = frames::host_arena(2 << 20);
        for pa in [
            memory,
            memory - 1,
            0xfee0_0020,
            u64::MAX,
            u64::MAX - 4095,
            crate::memory::layout::DIRECT_MAP_SIZE,
        ] {
            assert!(Region::try_map(pa, 2).is_none(), "{pa:#x}");
        }
    }

    #[test]
    #[should_panic(expected = "beyond the device map")]
    fn ranges_do_not_wrap() {
        Region::map(u64::MAX - 4095, 8192);
    }

    #[test]
    #[should_panic(expected = "not in the region")]
    fn registers_do_not_wrap() {
        Region { base: 4096, len: 4096 }.at(usize::MAX - 3, 4);
    }

    #[test]
    #[should_panic(expected = "not in the region")]
    fn registers_end_with_the_region() {
        Region { base: 4096, len: 6 }.at(4, 4);
    }
}
