// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Memory that is lent to a device: [`Segment`], and the addresses of the kernel's own buffers.
//!
//! Kernel objects lie in the direct map (heap, kernel stacks) or in the image, both at a fixed distance from their
//! physical address, so a slice is one contiguous segment and nothing is copied. Nothing in the kernel moves or is
//! swapped: a segment stays valid as long as the borrow it was made from, which the drivers keep until the device has
//! answered.

use hadal_hal::memory::frames::Block;
use hadal_hal::memory::layout::{DIRECT_MAP, DIRECT_MAP_SIZE, KERNEL_BASE};

/// A contiguous range of physical memory and who writes to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pa: u64,
    len: u32,
    device_writes: bool,
}

impl Segment {
    /// Bytes for the device to read; `None` if they are not in kernel memory.
    pub(crate) fn to_device(data: &[u8]) -> Option<Self> {
        Self::new(data.as_ptr().expose_provenance(), data.len(), false)
    }

    /// Bytes for the device to write; `None` if they are not in kernel memory.
    pub(crate) fn from_device(buffer: &mut [u8]) -> Option<Self> {
        Self::new(buffer.as_mut_ptr().expose_provenance(), buffer.len(), true)
    }

    /// Bytes of a block that is never freed.
    ///
    /// # Panics
    /// If they are not in the block.
    pub(crate) fn of_block(block: &'static Block, offset: usize, len: usize, device_writes: bool) -> Self {
        assert!(offset.checked_add(len).is_some_and(|end| end <= block.bytes()), "a segment of a block");
        Self { pa: block.phys() + offset as u64, len: len as u32, device_writes }
    }

    /// One that no device will see.
    #[cfg(test)]
    pub(crate) fn made_up(pa: u64, len: u32, device_writes: bool) -> Self {
        Self { pa, len, device_writes }
    }

    /// Physical address of the first byte.
    pub(crate) fn pa(&self) -> u64 {
        self.pa
    }

    /// Length in bytes.
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    /// The device writes here; otherwise it only reads.
    pub(crate) fn is_for_device_writes(&self) -> bool {
        self.device_writes
    }

    fn new(address: usize, len: usize, device_writes: bool) -> Option<Self> {
        let pa = physical(address)?;
        // A range that starts in kernel memory ends there: the two maps are far apart.
        Some(Self { pa, len: u32::try_from(len).ok()?, device_writes })
    }
}

/// Physical address of an address in kernel memory.
fn physical(address: usize) -> Option<u64> {
    if let Some(offset) = address.checked_sub(KERNEL_BASE) {
        return Some(offset as u64);
    }
    let offset = address.checked_sub(DIRECT_MAP)? as u64;
    (offset < DIRECT_MAP_SIZE).then_some(offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_addresses_have_a_physical_one() {
        assert_eq!(physical(DIRECT_MAP + 0x1234_5678), Some(0x1234_5678));
        assert_eq!(physical(KERNEL_BASE + 0x20_0000), Some(0x20_0000));
        assert_eq!(physical(DIRECT_MAP + DIRECT_MAP_SIZE as usize), None);
        assert_eq!(physical(0x40_0000), None);
    }
}
