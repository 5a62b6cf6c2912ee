// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Addresses for functions that the firmware gave none: small firmware, such as QEMU's qboot, leaves that to the kernel.

use hadal_acpi::EcamWindow;

use super::{BAR_0, COMMAND, COMMAND_MEMORY, ConfigSpace, Function};
use crate::DriverError;

/// Where PC machines have their interrupt controllers, timers and firmware, up to 4 GiB.
const PLATFORM_DEVICES_PA: u64 = 0xfec0_0000;

/// Physical addresses below 4 GiB that are still free for devices.
pub(crate) struct Hole {
    next: u64,
    end: u64,
}

impl Hole {
    /// What lies between memory and configuration windows on one side, and the platform's devices on the other.
    /// `low_memory_end` is where memory below 4 GiB ends.
    pub(crate) fn new(low_memory_end: u64, windows: &[EcamWindow]) -> Self {
        let end = PLATFORM_DEVICES_PA;
        let window_end = |window: &EcamWindow| {
            Some(window.function_pa(window.last_bus, 31, 7)? + super::access::FUNCTION_BYTES as u64)
        };
        let windows = windows.iter().filter_map(window_end).filter(|&window_end| window_end <= end);
        Self { next: windows.max().unwrap_or(0).max(low_memory_end), end }
    }

    /// Takes a range that is as well aligned as it is large, a power of two.
    fn take(&mut self, bytes: u64) -> Option<u64> {
        let start = self.next.checked_next_multiple_of(bytes)?;
        self.next = start.checked_add(bytes).filter(|&next| next <= self.end)?;
        Some(start)
    }
}

impl<S: ConfigSpace> Function<S> {
    /// Gives every memory base address register without an address one from a hole. The function does not answer in memory
    /// space meanwhile.
    pub(crate) fn assign(&self, hole: &mut Hole) {
        let mut index = 0;
        while index < 6 {
            let offset = BAR_0 + 4 * u16::from(index);
            let is_wide = self.read32(offset) & 0b111 == 0b100;
            if self.bar(index) == Err(DriverError::BarUnassigned(index)) {
                self.assign_bar(offset, hole);
            }
            // The upper half of a wide register is the next one.
            index += if is_wide { 2 } else { 1 };
        }
    }

    fn assign_bar(&self, offset: u16, hole: &mut Hole) {
        let command = self.read32(COMMAND) & 0xffff;
        self.write32(COMMAND, command & !COMMAND_MEMORY);
        // The bits that stay zero say how large the range is; a register that is not there has none at all.
        self.write32(offset, u32::MAX);
        let bytes = (self.read32(offset) & !0xf).wrapping_neg();
        let start = if bytes == 0 { None } else { hole.take(bytes.into()) };
        // Without room it stays without an address.
        self.write32(offset, start.unwrap_or(0) as u32);
        self.write32(COMMAND, command);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Address;
    use super::super::fake::FakeSpace;
    use super::*;

    #[test]
    fn ranges_are_aligned_and_end_with_the_hole() {
        let mut hole = Hole { next: 0xc000_1000, end: 0xc010_0000 };
        assert_eq!(hole.take(0x1000), Some(0xc000_1000));
        assert_eq!(hole.take(0x4000), Some(0xc000_4000));
        assert_eq!(hole.take(0x10_0000), None);
        assert_eq!(hole.take(0x8_0000), Some(0xc008_0000));
        assert_eq!(hole.take(0x10), None);
    }

    #[test]
    fn the_hole_is_behind_memory_and_windows() {
        let window = EcamWindow { base: 0xb000_0000, segment: 0, first_bus: 0, last_bus: 255 };
        assert_eq!(Hole::new(0x8000_0000, &[window]).next, 0xc000_0000);
        assert_eq!(Hole::new(0xe000_0000, &[]).next, 0xe000_0000);
        let high = EcamWindow { base: 1 << 40, segment: 0, first_bus: 0, last_bus: 255 };
        assert_eq!(Hole::new(0x4000_0000, &[high]).next, 0x4000_0000);
    }

    #[test]
    fn only_registers_without_an_address_get_one() {
        let space = FakeSpace::new();
        space.set(COMMAND, 0x0010_0507);
        // An I/O range, a range of 4 KiB with an address, a wide one of 16 KiB without; the rest is not there.
        space.set(0x10, 0xc001);
        space.set(0x14, 0xfebd_1000);
        space.set(0x20, 0x0000_000c);
        for (offset, writable) in [(0x14, 0xffff_f000), (0x18, 0), (0x1c, 0), (0x20, 0xffff_c000)] {
            space.set_writable(offset, writable);
        }
        let function = Function::new(Address { bus: 0, device: 3, function: 0 }, 0x1043_1af4, space);
        let mut hole = Hole { next: 0xc000_0000, end: 0xd000_0000 };
        function.assign(&mut hole);
        assert_eq!(function.read32(0x24), 0, "the upper half of a wide register is none of its own");
        assert_eq!(function.bar(1), Ok(0xfebd_1000));
        assert_eq!(function.bar(4), Ok(0xc000_0000));
        assert_eq!(function.bar(2), Err(DriverError::BarUnassigned(2)));
        assert_eq!(function.read32(0x10), 0xc001);
        assert_eq!(function.read32(COMMAND) & 0xffff, 0x0507, "it answers as before");
        assert_eq!(hole.take(0x1000), Some(0xc000_4000));
    }
}
