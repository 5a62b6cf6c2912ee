// SPDX-License-Identifier: Apache-2.0 OR MIT
//! PCI functions: identity, base address registers, capabilities.
//!
//! [`Bus`] (in `access.rs`) reaches configuration space and walks the buses; a [`Function`] is one device function found
//! there. The register layout is that of the PCI Local Bus Specification 3.0, chapter 6.

mod access;
mod assign;
#[cfg(test)]
pub(crate) mod fake;

use core::fmt;

pub use access::{Bus, Space};
pub(crate) use assign::Hole;

use crate::DriverError;

const COMMAND: u16 = 0x04;
const COMMAND_MEMORY: u32 = 1 << 1;
const COMMAND_BUS_MASTER: u32 = 1 << 2;
const COMMAND_NO_INTX: u32 = 1 << 10;
const STATUS_CAPABILITIES: u32 = 1 << (16 + 4);
const BAR_0: u16 = 0x10;
const SUBSYSTEM: u16 = 0x2c;
const CAPABILITIES: u16 = 0x34;
/// More than fit into 192 bytes: a longer list is a loop.
const MAX_CAPABILITIES: usize = 48;

/// Where a function sits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address {
    /// Bus number.
    pub bus: u8,
    /// Device number, below 32.
    pub device: u8,
    /// Function number, below 8.
    pub function: u8,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02x}:{:02x}.{}", self.bus, self.device, self.function)
    }
}

/// The configuration space of one function, in aligned 32-bit words.
pub trait ConfigSpace {
    /// Reads the word at byte `offset`.
    fn read32(&self, offset: u16) -> u32;
    /// Writes the word at byte `offset`.
    fn write32(&self, offset: u16, value: u32);
}

/// A function that is present.
#[derive(Clone, Copy, Debug)]
pub struct Function<S = Space> {
    address: Address,
    id: u32,
    space: S,
}

/// A capability: its identifier and where it starts in configuration space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capability {
    /// Identifier, such as 0x11 for MSI-X.
    pub id: u8,
    /// Byte offset of its first word.
    pub offset: u16,
}

impl<S: ConfigSpace> Function<S> {
    /// The function whose first word reads as `id`.
    pub(crate) fn new(address: Address, id: u32, space: S) -> Self {
        Self { address, id, space }
    }

    /// Where the function sits.
    pub fn address(&self) -> Address {
        self.address
    }

    /// Vendor identifier.
    pub fn vendor(&self) -> u16 {
        self.id as u16
    }

    /// Device identifier.
    pub fn device(&self) -> u16 {
        (self.id >> 16) as u16
    }

    /// Subsystem identifier, by which transitional virtio devices name their class.
    pub fn subsystem(&self) -> u16 {
        (self.space.read32(SUBSYSTEM) >> 16) as u16
    }

    /// Reads the configuration word at byte `offset`.
    pub fn read32(&self, offset: u16) -> u32 {
        self.space.read32(offset)
    }

    /// Writes the configuration word at byte `offset`.
    pub fn write32(&self, offset: u16, value: u32) {
        self.space.write32(offset, value);
    }

    /// Lets the function answer in memory space and start transfers of its own; turns its interrupt pin off.
    pub fn enable(&self) {
        // The upper half is the status register, whose bits are cleared by writing ones.
        let command = self.read32(COMMAND) & 0xffff;
        self.write32(COMMAND, command | COMMAND_MEMORY | COMMAND_BUS_MASTER | COMMAND_NO_INTX);
    }

    /// Physical address in memory base address register `index`.
    pub fn bar(&self, index: u8) -> Result<u64, DriverError> {
        let missing = DriverError::BarMissing(index);
        if index >= 6 {
            return Err(missing);
        }
        let offset = BAR_0 + 4 * u16::from(index);
        let low = self.read32(offset);
        let base = u64::from(low & !0xf);
        let base = match low & 0b111 {
            0b000 => base,
            0b100 if index < 5 => base | u64::from(self.read32(offset + 4)) << 32,
            _ => return Err(missing),
        };
        if base == 0 { Err(DriverError::BarUnassigned(index)) } else { Ok(base) }
    }

    /// The capabilities in the order of their list.
    pub fn capabilities(&self) -> impl Iterator<Item = Capability> + '_ {
        let listed = self.read32(COMMAND) & STATUS_CAPABILITIES != 0;
        let mut next = if listed { self.read32(CAPABILITIES) as u8 } else { 0 };
        core::iter::from_fn(move || {
            let offset = u16::from(next & !3);
            if offset < 0x40 {
                return None;
            }
            let word = self.read32(offset);
            next = (word >> 8) as u8;
            Some(Capability { id: word as u8, offset })
        })
        .take(MAX_CAPABILITIES)
    }
}

#[cfg(test)]
mod tests {
    use super::fake::FakeSpace;
    use super::*;

    fn function(space: FakeSpace) -> Function<FakeSpace> {
        Function::new(Address { bus: 0, device: 3, function: 0 }, 0x1043_1af4, space)
    }

    #[test]
    fn capabilities_are_followed_to_the_end_of_the_list() {
        let space = FakeSpace::new();
        space.set(0x04, 0x0010_0000);
        space.set(0x34, 0x98);
        space.set(0x98, 0x0000_8011);
        space.set(0x80, 0x0000_0009);
        let found: Vec<Capability> = function(space).capabilities().collect();
        assert_eq!(found, [Capability { id: 0x11, offset: 0x98 }, Capability { id: 9, offset: 0x80 }]);
    }

    #[test]
    fn a_function_without_the_status_bit_has_no_capabilities() {
        let space = FakeSpace::new();
        space.set(0x34, 0x40);
        assert_eq!(function(space).capabilities().count(), 0);
    }

    #[test]
    fn a_looping_list_ends() {
        let space = FakeSpace::new();
        space.set(0x04, 0x0010_0000);
        space.set(0x34, 0x40);
        space.set(0x40, 0x0000_4009);
        assert_eq!(function(space).capabilities().count(), MAX_CAPABILITIES);
    }

    #[test]
    fn bars_of_each_kind() {
        let space = FakeSpace::new();
        space.set(0x10, 0xfebd_1000);
        space.set(0x14, 0x0000_c001);
        space.set(0x20, 0x0000_400c);
        space.set(0x24, 0x0000_0070);
        let function = function(space);
        assert_eq!(function.bar(0), Ok(0xfebd_1000));
        assert_eq!(function.bar(1), Err(DriverError::BarMissing(1)));
        assert_eq!(function.bar(2), Err(DriverError::BarUnassigned(2)));
        assert_eq!(function.bar(4), Ok(0x70_0000_4000));
        assert_eq!(function.bar(6), Err(DriverError::BarMissing(6)));
    }

    #[test]
    fn enabling_leaves_the_status_bits_alone() {
        let space = FakeSpace::new();
        space.set(0x04, 0xf9b0_0101);
        let function = function(space);
        function.enable();
        assert_eq!(function.read32(0x04), 0x0507);
    }
}
