// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The list of tables, one table's header and checksum, and bounded reads inside it.
//!
//! [`Tables`] finds a table by signature; [`Table`] is the untyped table that the typed ones wrap.
//! [`Entries`] walks the length-prefixed entries that MADT and SRAT consist of.

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{Fadt, HpetTable, Madt, Mcfg, PhysicalMemory, Rsdp, Slit, SoftOff, Srat};

/// Bytes of the header that every table starts with.
pub(crate) const HEADER_BYTES: u32 = 36;
/// No table used here comes near this; a longer one has a corrupt length.
const MAX_TABLE_BYTES: u32 = 1 << 20;
/// More tables than any machine has; bounds the search on a corrupt root.
const MAX_TABLES: u32 = 1024;

/// Why a table cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Error {
    /// The machine has no such table.
    NotFound,
    /// The table lies outside readable memory.
    Unreadable,
    /// The table's length is too short for its kind, or absurdly long.
    BadLength,
    /// The sum of the table's bytes is not zero.
    BadChecksum,
    /// The signature is not the one expected at that address.
    BadSignature,
}

impl core::fmt::Display for Error {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Error::NotFound => "no such ACPI table",
            Error::Unreadable => "ACPI table lies outside memory",
            Error::BadLength => "ACPI table has an impossible length",
            Error::BadChecksum => "ACPI table has a wrong checksum",
            Error::BadSignature => "ACPI table has a wrong signature",
        })
    }
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Header {
    signature: [u8; 4],
    length: U32,
    revision: u8,
    checksum: u8,
    oem_id: [u8; 6],
    oem_table_id: [u8; 8],
    oem_revision: U32,
    creator_id: U32,
    creator_revision: U32,
}

/// All tables of the machine.
#[derive(Clone, Copy)]
pub struct Tables<'m> {
    root: Table<'m>,
    /// Size of one pointer in the root table: 8 in the XSDT, 4 in the RSDT.
    pointer_bytes: u32,
}

impl<'m> Tables<'m> {
    /// Opens the list of tables: the XSDT, or the RSDT where the former is absent or damaged.
    pub fn open(memory: &'m dyn PhysicalMemory, rsdp: Rsdp) -> Result<Self, Error> {
        if rsdp.xsdt_pa != 0
            && let Ok(root) = Table::open(memory, rsdp.xsdt_pa, *b"XSDT")
        {
            return Ok(Self { root, pointer_bytes: 8 });
        }
        if rsdp.rsdt_pa == 0 {
            return Err(Error::NotFound);
        }
        let root = Table::open(memory, rsdp.rsdt_pa.into(), *b"RSDT")?;
        Ok(Self { root, pointer_bytes: 4 })
    }

    /// Finds the first table with this signature and checks it.
    pub fn find(&self, signature: [u8; 4]) -> Result<Table<'m>, Error> {
        let pa = self.addresses().find(|&pa| {
            let mut found = [0; 4];
            self.root.memory.read(pa, &mut found) && found == signature
        });
        Table::open(self.root.memory, pa.ok_or(Error::NotFound)?, signature)
    }

    /// The physical addresses of all tables, in the firmware's order.
    pub fn addresses(&self) -> impl Iterator<Item = u64> + use<'m> {
        let Self { root, pointer_bytes } = *self;
        let count = ((root.length - HEADER_BYTES) / pointer_bytes).min(MAX_TABLES);
        (0..count).filter_map(move |index| {
            let mut pa = [0; 8];
            let at = HEADER_BYTES + index * pointer_bytes;
            let read = root.read_bytes(at, &mut pa[..pointer_bytes as usize]);
            let pa = u64::from_le_bytes(pa);
            (read && pa != 0).then_some(pa)
        })
    }

    /// The interrupt controllers and CPUs.
    pub fn madt(&self) -> Result<Madt<'m>, Error> {
        Madt::new(self.find(*b"APIC")?)
    }

    /// The zones of CPUs and memory.
    pub fn srat(&self) -> Result<Srat<'m>, Error> {
        Srat::new(self.find(*b"SRAT")?)
    }

    /// The distances between zones.
    pub fn slit(&self) -> Result<Slit<'m>, Error> {
        Slit::new(self.find(*b"SLIT")?)
    }

    /// The first high precision event timer.
    pub fn hpet(&self) -> Result<HpetTable, Error> {
        HpetTable::new(self.find(*b"HPET")?)
    }

    /// The memory-mapped PCI configuration windows.
    pub fn mcfg(&self) -> Result<Mcfg<'m>, Error> {
        Mcfg::new(self.find(*b"MCFG")?)
    }

    /// The table whose byte code describes the machine's devices.
    pub(crate) fn dsdt(&self) -> Result<Table<'m>, Error> {
        const DSDT: u32 = 40;
        const X_DSDT: u32 = 140;
        let fadt = self.find(*b"FACP")?;
        let extended = fadt.read::<U64>(X_DSDT).map(U64::get).filter(|&pa| pa != 0);
        let old = fadt.read::<U32>(DSDT).map(|pa| pa.get().into()).filter(|&pa: &u64| pa != 0);
        Table::open(self.root.memory, extended.or(old).ok_or(Error::NotFound)?, *b"DSDT")
    }

    /// All intact tables with this signature.
    pub(crate) fn all(&self, signature: [u8; 4]) -> impl Iterator<Item = Table<'m>> + use<'m> {
        let memory = self.root.memory;
        self.addresses().filter_map(move |pa| Table::open(memory, pa, signature).ok())
    }

    /// How the machine is turned off; `None` where the tables do not say so in a way that is understood.
    pub fn soft_off(&self) -> Option<SoftOff> {
        SoftOff::new(self)
    }

    /// Fixed hardware: reset register, boot flags, power-management timer.
    pub fn fadt(&self) -> Result<Fadt, Error> {
        Fadt::new(self.find(*b"FACP")?)
    }
}

/// One checked table of any kind.
#[derive(Clone, Copy)]
pub struct Table<'m> {
    memory: &'m dyn PhysicalMemory,
    pa: u64,
    length: u32,
    revision: u8,
}

impl<'m> Table<'m> {
    /// Opens the table at physical address `pa`: signature, length and checksum must be right.
    pub fn open(memory: &'m dyn PhysicalMemory, pa: u64, signature: [u8; 4]) -> Result<Self, Error> {
        let mut header = [0; HEADER_BYTES as usize];
        if !memory.read(pa, &mut header) {
            return Err(Error::Unreadable);
        }
        let header = Header::read_from_bytes(&header).map_err(|_| Error::BadLength)?;
        if header.signature != signature {
            return Err(Error::BadSignature);
        }
        let length = header.length.get();
        if !(HEADER_BYTES..=MAX_TABLE_BYTES).contains(&length) || pa.checked_add(length.into()).is_none() {
            return Err(Error::BadLength);
        }
        let table = Self { memory, pa, length, revision: header.revision };
        table.verify()?;
        Ok(table)
    }

    /// Physical address of the table.
    pub fn pa(&self) -> u64 {
        self.pa
    }

    /// Length in bytes, header included.
    pub fn length_bytes(&self) -> u32 {
        self.length
    }

    /// Revision of the table's format.
    pub fn revision(&self) -> u8 {
        self.revision
    }

    /// Fills `buf` from `offset` bytes into the table; false when that passes the table's end.
    pub fn read_bytes(&self, offset: u32, buf: &mut [u8]) -> bool {
        let in_table = u64::from(offset) + buf.len() as u64 <= self.length.into();
        in_table && self.memory.read(self.pa + u64::from(offset), buf)
    }

    /// Reads a structure at `offset`.
    pub(crate) fn read<T: FromBytes + IntoBytes>(&self, offset: u32) -> Option<T> {
        let mut value = T::new_zeroed();
        self.read_bytes(offset, value.as_mut_bytes()).then_some(value)
    }

    /// Offset of the first occurrence of these bytes at `from` or later.
    pub(crate) fn find(&self, bytes: &[u8; 4], from: u32) -> Option<u32> {
        const CHUNK: u32 = 256;
        let mut buf = [0; CHUNK as usize];
        // Chunks overlap by what an occurrence can lie across.
        let step = CHUNK as usize - (bytes.len() - 1);
        for offset in (from..self.length).step_by(step) {
            let chunk = &mut buf[..(self.length - offset).min(CHUNK) as usize];
            if !self.read_bytes(offset, chunk) {
                return None;
            }
            if let Some(at) = chunk.windows(bytes.len()).position(|window| window == bytes) {
                return Some(offset + at as u32);
            }
        }
        None
    }

    /// Walks the length-prefixed entries from `offset` to the end of the table.
    pub(crate) fn entries(&self, offset: u32) -> Entries<'m> {
        Entries { table: *self, offset }
    }

    fn verify(&self) -> Result<(), Error> {
        const CHUNK: u32 = 256;
        let mut buf = [0; CHUNK as usize];
        let mut sum = 0_u8;
        for offset in (0..self.length).step_by(CHUNK as usize) {
            let chunk = &mut buf[..(self.length - offset).min(CHUNK) as usize];
            if !self.read_bytes(offset, chunk) {
                return Err(Error::Unreadable);
            }
            sum = sum.wrapping_add(sum_of(chunk));
        }
        if sum == 0 { Ok(()) } else { Err(Error::BadChecksum) }
    }
}

/// The sum of all bytes, modulo 256; zero over a whole structure when it is intact.
pub(crate) fn sum_of(bytes: &[u8]) -> u8 {
    // Eight bytes at a time, as four 16-bit lanes twice: a 255-CPU machine has 10 KiB to sum before the
    // kernel's first thread runs. A lane holds 257 byte values, so it cannot overflow within 128 words.
    const LANES: u64 = 0x00ff_00ff_00ff_00ff;
    let mut total = 0_u64;
    for block in bytes.chunks(1024) {
        let mut lanes = 0_u64;
        let words = block.chunks_exact(8);
        for &byte in words.remainder() {
            total += u64::from(byte);
        }
        for word in words {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(word);
            let word = u64::from_le_bytes(bytes);
            lanes += (word & LANES) + ((word >> 8) & LANES);
        }
        total += (lanes & 0xffff) + (lanes >> 16 & 0xffff) + (lanes >> 32 & 0xffff) + (lanes >> 48);
    }
    (total & 0xff) as u8
}

/// The longest entry that is decoded (SRAT memory affinity); what is longer is cut.
const ENTRY_BYTES: usize = 40;

/// Iterator over entries of the shape kind, length, body.
#[derive(Clone)]
pub(crate) struct Entries<'m> {
    table: Table<'m>,
    offset: u32,
}

/// One entry, cut to the part that is decoded.
pub(crate) struct Entry {
    pub(crate) kind: u8,
    bytes: [u8; ENTRY_BYTES],
    length: usize,
}

impl Entry {
    /// The entry as a structure that includes kind and length; `None` when the entry is too short for it.
    pub(crate) fn decode<T: FromBytes + KnownLayout + Immutable>(&self) -> Option<T> {
        T::read_from_prefix(&self.bytes[..self.length]).ok().map(|(value, _)| value)
    }
}

impl Iterator for Entries<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        let left = self.table.length.saturating_sub(self.offset);
        let mut bytes = [0; ENTRY_BYTES];
        let readable = (left as usize).min(ENTRY_BYTES);
        if !self.table.read_bytes(self.offset, &mut bytes[..readable]) {
            return None;
        }
        let length = u32::from(bytes[1]);
        // A length below 2 would repeat the entry for ever; one past the end is a cut table.
        if length < 2 || length > left {
            self.offset = self.table.length;
            return None;
        }
        self.offset += length;
        Some(Entry { kind: bytes[0], bytes, length: (length as usize).min(ENTRY_BYTES) })
    }
}
