// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The table of memory-mapped PCI configuration windows (ECAM).

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::table::HEADER_BYTES;
use crate::{Error, Table};

/// Eight reserved bytes lie between the header and the entries.
const ENTRIES_OFFSET: u32 = HEADER_BYTES + 8;

/// The table itself.
#[derive(Clone, Copy)]
pub struct Mcfg<'m> {
    table: Table<'m>,
}

impl<'m> Mcfg<'m> {
    pub(crate) fn new(table: Table<'m>) -> Result<Self, Error> {
        if table.length_bytes() < ENTRIES_OFFSET { Err(Error::BadLength) } else { Ok(Self { table }) }
    }

    /// The windows in the firmware's order.
    pub fn windows(&self) -> EcamWindows<'m> {
        EcamWindows { table: self.table, offset: ENTRIES_OFFSET }
    }
}

/// One window: 1 MiB of configuration space for each bus of the range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EcamWindow {
    /// Physical address that bus 0 of the segment has or would have.
    pub base: u64,
    /// PCI segment group.
    pub segment: u16,
    /// First bus in the window.
    pub first_bus: u8,
    /// Last bus in the window.
    pub last_bus: u8,
}

impl EcamWindow {
    /// Physical address of a function's 4 KiB of configuration space; `None` for a bus outside the window.
    pub fn function_pa(&self, bus: u8, device: u8, function: u8) -> Option<u64> {
        if !(self.first_bus..=self.last_bus).contains(&bus) || device >= 32 || function >= 8 {
            return None;
        }
        let offset = u64::from(bus) << 20 | u64::from(device) << 15 | u64::from(function) << 12;
        self.base.checked_add(offset)
    }
}

/// Iterator over the windows.
#[derive(Clone)]
pub struct EcamWindows<'m> {
    table: Table<'m>,
    offset: u32,
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct RawWindow {
    base: U64,
    segment: U16,
    first_bus: u8,
    last_bus: u8,
    reserved: U32,
}

impl Iterator for EcamWindows<'_> {
    type Item = EcamWindow;

    fn next(&mut self) -> Option<EcamWindow> {
        let raw: RawWindow = self.table.read(self.offset)?;
        self.offset += size_of::<RawWindow>() as u32;
        Some(EcamWindow {
            base: raw.base.get(),
            segment: raw.segment.get(),
            first_bus: raw.first_bus,
            last_bus: raw.last_bus,
        })
    }
}
