// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One ELF file that is mapped into a program: where its parts lie in memory, and its content.
//!
//! Programs may be anything, so each number of a file is checked where it is used, and what makes no sense is as if it were
//! not there.

use alloc::boxed::Box;
use alloc::vec::Vec;

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Reads exactly a buffer's length of a file at an offset; `false` if that cannot be done.
pub(crate) type Content = Box<dyn Fn(u64, &mut [u8]) -> bool>;

/// Most program headers that are looked at.
const MAX_SEGMENTS: usize = 64;
/// Most section headers that are looked at.
const MAX_SECTIONS: usize = 1024;

const MAGIC_64_LITTLE: [u8; 6] = *b"\x7fELF\x02\x01";
const PT_LOAD: u32 = 1;
const PT_GNU_EH_FRAME: u32 = 0x6474_e550;
const PF_EXECUTE: u32 = 1;
const SHT_SYMTAB: u32 = 2;
const SHT_NOBITS: u32 = 8;
const SHT_DYNSYM: u32 = 11;

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct FileHeader {
    ident: [u8; 16],
    kind: U16,
    machine: U16,
    version: U32,
    entry: U64,
    programs_at: U64,
    sections_at: U64,
    flags: U32,
    header_size: U16,
    program_size: U16,
    program_count: U16,
    section_size: U16,
    section_count: U16,
    names_index: U16,
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned, Clone)]
#[repr(C)]
struct ProgramHeader {
    kind: U32,
    flags: U32,
    offset: U64,
    address: U64,
    physical: U64,
    file_size: U64,
    memory_size: U64,
    align: U64,
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned, Clone)]
#[repr(C)]
struct SectionHeader {
    name: U32,
    kind: U32,
    flags: U64,
    address: U64,
    offset: U64,
    size: U64,
    link: U32,
    info: U32,
    align: U64,
    entry_size: U64,
}

/// A range of the file, and where it would be in memory without a bias.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) address: u64,
    pub(crate) offset: u64,
    pub(crate) len: u64,
}

/// Symbols and the text of their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SymbolPart {
    pub(crate) symbols: Part,
    pub(crate) names: Part,
}

/// A mapped ELF file.
pub(crate) struct Module {
    content: Content,
    /// What was added to the file's addresses.
    pub(crate) bias: u64,
    segments: Vec<Part>,
    /// The sorted table of unwind information.
    pub(crate) eh_frame_hdr: Option<Part>,
    sections: Vec<SectionHeader>,
    section_names: Option<Part>,
}

fn read<T: FromZeros + FromBytes + IntoBytes>(content: &Content, offset: u64) -> Option<T> {
    let mut value = T::new_zeroed();
    content(offset, value.as_mut_bytes()).then_some(value)
}

fn read_all<T>(content: &Content, offset: u64, count: usize) -> Option<Vec<T>>
where
    T: FromZeros + FromBytes + IntoBytes + Immutable + Clone,
{
    let mut values = crate::filled(T::new_zeroed(), count)?;
    content(offset, values.as_mut_slice().as_mut_bytes()).then_some(values)
}

impl Module {
    /// Reads the headers of a file of which the page-aligned `offset` is mapped, executable, at `address`. `None` if it is
    /// no ELF file, or that part of it is not executable.
    pub(crate) fn open(content: Content, address: u64, offset: u64) -> Option<Self> {
        let header: FileHeader = read(&content, 0)?;
        if !header.ident.starts_with(&MAGIC_64_LITTLE) {
            return None;
        }
        let count = usize::from(header.program_count.get()).min(MAX_SEGMENTS);
        let programs: Vec<ProgramHeader> = read_all(&content, header.programs_at.get(), count)?;
        let part = |program: &ProgramHeader| Part {
            address: program.address.get(),
            offset: program.offset.get(),
            len: program.file_size.get(),
        };
        let loads = programs.iter().filter(|program| program.kind.get() == PT_LOAD);
        let segments = loads.clone().map(part).collect();
        let page = |value: u64| value & !0xfff;
        let mapped = loads
            .filter(|program| program.flags.get() & PF_EXECUTE != 0)
            .map(part)
            .find(|part| page(part.offset) <= offset && offset < part.offset.saturating_add(part.len))?;
        let bias = address.wrapping_sub(offset).wrapping_add(mapped.offset).wrapping_sub(mapped.address);
        let eh_frame_hdr = programs.iter().find(|program| program.kind.get() == PT_GNU_EH_FRAME).map(part);
        let count = usize::from(header.section_count.get()).min(MAX_SECTIONS);
        // A file without section headers still has segments.
        let sections: Vec<SectionHeader> =
            read_all(&content, header.sections_at.get(), count).unwrap_or_default();
        let section_names = sections.get(usize::from(header.names_index.get())).map(SectionHeader::part);
        Some(Self { content, bias, segments, eh_frame_hdr, sections, section_names })
    }

    /// Reads from the file at an offset.
    pub(crate) fn read_file(&self, offset: u64, buffer: &mut [u8]) -> bool {
        (self.content)(offset, buffer)
    }

    /// Reads what the file holds for an address of its own (without the bias).
    pub(crate) fn read_address(&self, address: u64, buffer: &mut [u8]) -> bool {
        let len = buffer.len() as u64;
        let holds = |part: &&Part| {
            let inside = address.wrapping_sub(part.address);
            inside < part.len && len <= part.len - inside
        };
        let Some(part) = self.segments.iter().find(holds) else { return false };
        self.read_file(part.offset.wrapping_add(address - part.address), buffer)
    }

    /// The section `.eh_frame`.
    pub(crate) fn eh_frame(&self) -> Option<Part> {
        let names = self.section_names?;
        let found = self.sections.iter().find(|section| {
            const NAME: &[u8; 10] = b".eh_frame\0";
            let mut name = [0; NAME.len()];
            section.kind.get() != SHT_NOBITS
                && self.read_file(names.offset.wrapping_add(section.name.get().into()), &mut name)
                && name == *NAME
        });
        found.map(SectionHeader::part)
    }

    /// The full symbol table, or else that for dynamic linking.
    pub(crate) fn symbols(&self) -> Option<SymbolPart> {
        let of_kind = |kind| self.sections.iter().find(|section| section.kind.get() == kind);
        let table = of_kind(SHT_SYMTAB).or_else(|| of_kind(SHT_DYNSYM))?;
        let names = self.sections.get(table.link.get() as usize)?;
        Some(SymbolPart { symbols: table.part(), names: names.part() })
    }
}

impl SectionHeader {
    fn part(&self) -> Part {
        Part { address: self.address.get(), offset: self.offset.get(), len: self.size.get() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_bytes(bytes: &'static [u8]) -> Content {
        Box::new(move |offset, buffer| {
            let Some(rest) = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..)) else {
                return false;
            };
            let Some(part) = rest.get(..buffer.len()) else { return false };
            buffer.copy_from_slice(part);
            true
        })
    }

    #[test]
    fn the_vdso_is_a_module() {
        let module = Module::open(of_bytes(hadal_linux::vdso::IMAGE), 0x7000_0000, 0).unwrap();
        assert_eq!(module.bias, 0x7000_0000);
        assert!(module.eh_frame_hdr.is_some() && module.eh_frame().is_some());
        assert!(module.symbols().is_some());
        let mut magic = [0; 4];
        assert!(module.read_address(0, &mut magic));
        assert_eq!(magic, *b"\x7fELF");
        assert!(!module.read_address(u64::MAX, &mut magic));
    }

    #[test]
    fn other_files_are_none() {
        assert!(Module::open(of_bytes(b"#!/bin/sh"), 0, 0).is_none());
        assert!(Module::open(of_bytes(&[0; 64]), 0, 0).is_none());
        assert!(Module::open(of_bytes(&hadal_linux::vdso::IMAGE[..100]), 0, 0).is_none());
        assert!(Module::open(of_bytes(hadal_linux::vdso::IMAGE), 0, 1 << 40).is_none());
    }
}
