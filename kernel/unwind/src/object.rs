// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Unwind tables in memory, with an index by function, for walks that cannot read files.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

use gimli::{BaseAddresses, CieOrFde, EhFrame, EhFrameHdr, LittleEndian, UnwindSection};

use crate::fuel::Fuel;
use crate::rules::{Table, entry_len, sized_len};

/// A section of an ELF file, and its address in the program.
#[derive(Clone, Debug)]
pub struct Section {
    /// First address.
    pub address: u64,
    /// Content.
    pub bytes: Vec<u8>,
}

/// The unwind tables of a mapped file, with an index by function.
#[derive(Debug)]
pub struct Tables {
    eh_frame: Section,
    /// First address of each function and place of its description, by address.
    functions: Vec<(u64, u64)>,
}

impl Tables {
    /// Those in `.eh_frame`. The index is in `.eh_frame_hdr`; statically linked programs have none, and it is made. `None` when
    /// memory is out.
    pub fn new(eh_frame: Section, eh_frame_hdr: Option<&Section>) -> Option<Self> {
        let functions = match eh_frame_hdr.and_then(|header| listed(&eh_frame, header)) {
            Some(functions) => functions,
            None => described(&eh_frame)?,
        };
        Some(Self { eh_frame, functions })
    }

    /// The content of `.eh_frame`.
    pub fn bytes(&self) -> &[u8] {
        &self.eh_frame.bytes
    }

    /// Bytes of memory that they take.
    pub fn memory_bytes(&self) -> usize {
        self.eh_frame.bytes.capacity() + self.functions.capacity() * size_of::<(u64, u64)>()
    }

    /// The table that may describe the function at an address.
    pub fn find(&self, address: u64) -> Option<Table<&[u8]>> {
        let index = self.functions.partition_point(|&(start, _)| start <= address).checked_sub(1)?;
        let at = usize::try_from(self.functions[index].1).ok()?;
        Some(Table { address: self.eh_frame.address, bytes: self.bytes(), at })
    }
}

/// The functions in `.eh_frame_hdr`; `None` if it is of no use, or when memory is out.
fn listed(eh_frame: &Section, header: &Section) -> Option<Vec<(u64, u64)>> {
    let bases = BaseAddresses::default().set_eh_frame(eh_frame.address).set_eh_frame_hdr(header.address);
    let parsed = EhFrameHdr::new(&header.bytes, LittleEndian).parse(&bases, 8).ok()?;
    let table = parsed.table()?;
    let mut entries = table.iter(&bases);
    let mut functions = Vec::new();
    while let Some((start, description)) = entries.next().ok()? {
        let at = description.direct().ok()?.checked_sub(eh_frame.address)?;
        functions.try_reserve(1).ok()?;
        functions.push((start.direct().ok()?, at));
    }
    Some(sorted(functions))
}

/// How often the bytes of a section are read at most to find its functions: each is in one description, or in the common part of
/// many, which is short.
const READINGS: usize = 8;

/// The functions that `.eh_frame` describes, as far as it makes sense; `None` when memory is out.
fn described(eh_frame: &Section) -> Option<Vec<(u64, u64)>> {
    let bases = BaseAddresses::default().set_eh_frame(eh_frame.address);
    let mut section = EhFrame::new(&eh_frame.bytes, LittleEndian);
    section.set_address_size(8);
    let mut entries = section.entries(&bases);
    let mut functions = Vec::new();
    let mut fuel = Fuel::new(eh_frame.bytes.len().saturating_mul(READINGS));
    let mut at = 0;
    while let Some(len) = sized_len(&eh_frame.bytes, at)
        && fuel.take(len)
        && let Ok(Some(entry)) = entries.next()
    {
        let place = at;
        at += len;
        let CieOrFde::Fde(partial) = entry else { continue };
        if !entry_len(&eh_frame.bytes, place).is_some_and(|len| fuel.take(len)) {
            continue;
        }
        let Ok(function) = partial.parse(EhFrame::cie_from_offset) else { continue };
        functions.try_reserve(1).ok()?;
        functions.push((function.initial_address(), function.offset() as u64));
    }
    Some(sorted(functions))
}

fn sorted(mut functions: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    functions.sort_unstable();
    functions
}

/// Executable memory, and the unwind tables of the file that is mapped there.
#[derive(Clone, Debug)]
pub struct Object {
    range: Range<u64>,
    tables: Option<Arc<Tables>>,
}

impl Object {
    /// Memory that these tables describe, if there are any.
    pub fn new(range: Range<u64>, tables: Option<Arc<Tables>>) -> Self {
        Self { range, tables }
    }
}

/// All executable memory of a program.
#[derive(Clone, Debug, Default)]
pub struct Code(Vec<Arc<Object>>);

impl Code {
    /// Objects that do not overlap, in any order.
    pub fn new(mut objects: Vec<Arc<Object>>) -> Self {
        objects.sort_unstable_by_key(|object| object.range.start);
        Self(objects)
    }

    /// What an address is in.
    fn object(&self, address: u64) -> Option<&Object> {
        let after = self.0.partition_point(|object| object.range.end <= address);
        self.0.get(after).filter(|object| object.range.contains(&address)).map(|object| &**object)
    }

    /// Whether code may run at an address.
    pub fn contains(&self, address: u64) -> bool {
        self.object(address).is_some()
    }

    /// The table that may describe the function at an address.
    pub fn table(&self, address: u64) -> Option<Table<&[u8]>> {
        self.object(address)?.tables.as_ref()?.find(address)
    }
}
