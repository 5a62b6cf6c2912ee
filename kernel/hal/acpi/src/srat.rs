// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The system resource affinity table: which CPU and which memory belongs to which proximity domain.
//!
//! Only enabled entries are shown. [`crate::Topology`] turns domains into dense zone numbers.

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::table::{Entries, HEADER_BYTES};
use crate::{Error, Table};

/// Twelve reserved bytes lie between the header and the entries.
const ENTRIES_OFFSET: u32 = HEADER_BYTES + 12;
const FLAG_ENABLED: u32 = 1;

/// The table itself.
#[derive(Clone, Copy)]
pub struct Srat<'m> {
    table: Table<'m>,
}

impl<'m> Srat<'m> {
    pub(crate) fn new(table: Table<'m>) -> Result<Self, Error> {
        if table.length_bytes() < ENTRIES_OFFSET { Err(Error::BadLength) } else { Ok(Self { table }) }
    }

    /// The enabled entries in the firmware's order.
    pub fn entries(&self) -> SratEntries<'m> {
        SratEntries(self.table.entries(ENTRIES_OFFSET))
    }
}

/// Properties of a memory range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemoryFlags {
    /// More memory may appear in the range while the machine runs; it need not be there now.
    pub hot_pluggable: bool,
    /// The range keeps its content without power.
    pub non_volatile: bool,
}

/// One enabled entry of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SratEntry {
    /// A processor.
    Cpu {
        /// Identifier of its local APIC.
        apic_id: u32,
        /// The proximity domain that it is in.
        domain: u32,
    },
    /// A range of physical addresses.
    Memory {
        /// First address.
        base: u64,
        /// Length in bytes; `base + length` does not overflow.
        length: u64,
        /// The proximity domain that it is in.
        domain: u32,
        /// Its properties.
        flags: MemoryFlags,
    },
}

impl SratEntry {
    /// The proximity domain that the entry names.
    pub fn domain(&self) -> u32 {
        match *self {
            Self::Cpu { domain, .. } | Self::Memory { domain, .. } => domain,
        }
    }
}

/// Iterator over the table's enabled entries.
#[derive(Clone)]
pub struct SratEntries<'m>(Entries<'m>);

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct RawCpu {
    head: [u8; 2],
    domain_low: u8,
    apic_id: u8,
    flags: U32,
    sapic_eid: u8,
    domain_high: [u8; 3],
    clock_domain: U32,
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct RawMemory {
    head: [u8; 2],
    domain: U32,
    reserved_1: U16,
    base: U64,
    length: U64,
    reserved_2: U32,
    flags: U32,
    reserved_3: U64,
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct RawX2Apic {
    head: [u8; 2],
    reserved_1: U16,
    domain: U32,
    apic_id: U32,
    flags: U32,
    clock_domain: U32,
    reserved_2: U32,
}

impl Iterator for SratEntries<'_> {
    type Item = SratEntry;

    fn next(&mut self) -> Option<SratEntry> {
        loop {
            let entry = self.0.next()?;
            let decoded = match entry.kind {
                0 => entry.decode().and_then(cpu),
                1 => entry.decode().and_then(memory),
                2 => entry.decode().and_then(x2apic),
                _ => None,
            };
            if decoded.is_some() {
                return decoded;
            }
        }
    }
}

fn cpu(raw: RawCpu) -> Option<SratEntry> {
    let [high_1, high_2, high_3] = raw.domain_high;
    let domain = u32::from_le_bytes([raw.domain_low, high_1, high_2, high_3]);
    let enabled = raw.flags.get() & FLAG_ENABLED != 0;
    enabled.then_some(SratEntry::Cpu { apic_id: raw.apic_id.into(), domain })
}

fn memory(raw: RawMemory) -> Option<SratEntry> {
    let flags = raw.flags.get();
    let (base, length) = (raw.base.get(), raw.length.get());
    if flags & FLAG_ENABLED == 0 || length == 0 || base.checked_add(length).is_none() {
        return None;
    }
    let flags = MemoryFlags { hot_pluggable: flags & 2 != 0, non_volatile: flags & 4 != 0 };
    Some(SratEntry::Memory { base, length, domain: raw.domain.get(), flags })
}

fn x2apic(raw: RawX2Apic) -> Option<SratEntry> {
    let enabled = raw.flags.get() & FLAG_ENABLED != 0;
    enabled.then_some(SratEntry::Cpu { apic_id: raw.apic_id.get(), domain: raw.domain.get() })
}
