// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What an ELF file asks for, checked: pure, so that it can be fuzzed and tested on the host.

use alloc::vec::Vec;
use core::fmt;

use object::LittleEndian;
use object::elf::{self, FileHeader64, ProgramHeader64};
use object::read::elf::{FileHeader, ProgramHeader};

use hadal_mem::space::{PAGE_SIZE, Prot, WINDOW_END, WINDOW_START};

/// The header and the program headers of a file that can be loaded lie in this many bytes at its start.
pub const HEAD_LEN: usize = 64 << 10;
/// Longest path of an interpreter.
const INTERPRETER_MAX: u64 = 4096;

/// One `PT_LOAD` segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Address, before a position-independent image is moved.
    pub address: usize,
    /// Where the content starts in the file.
    pub offset: u64,
    /// Bytes of content.
    pub file_len: usize,
    /// Bytes in memory; what the file does not give is zero.
    pub memory_len: usize,
    /// Access rights.
    pub prot: Prot,
}

impl Segment {
    /// First page.
    pub fn first_page(&self) -> usize {
        self.address & !(PAGE_SIZE - 1)
    }

    /// Page after the last one.
    pub fn end_page(&self) -> usize {
        (self.address + self.memory_len).next_multiple_of(PAGE_SIZE)
    }
}

/// A program or an interpreter, as its headers describe it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Whether the image may be placed anywhere (`ET_DYN`).
    pub relocatable: bool,
    /// First instruction.
    pub entry: usize,
    /// Segments in the order of the file, in which they are mapped: of two that share a page the later one has it, as on
    /// Linux.
    pub segments: Vec<Segment>,
    /// Place of the interpreter's path in the file (offset, length without NUL), if there is one.
    pub interpreter: Option<(u64, usize)>,
    /// Address of the program headers in memory, if a segment holds them.
    pub headers_address: Option<usize>,
    /// Number of program headers.
    pub header_count: usize,
    /// Whether the stack has to be executable.
    pub executable_stack: bool,
    /// Alignment that the first segment needs, at least a page.
    pub align: usize,
}

/// Why a file cannot be loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageError {
    /// No ELF file.
    NotElf,
    /// The file ends before its headers or segments do.
    Truncated,
    /// A 32-bit file.
    Bits32,
    /// For another processor: its ELF machine number.
    Machine(u16),
    /// Neither an executable nor position-independent: an object file or a core dump.
    NotExecutable,
    /// No segment to load.
    NoSegments,
    /// A segment is outside the part of the address space that programs may use.
    OutOfRange(usize),
    /// A segment's place in the file and in memory disagree about the page offset, or its sizes do.
    BadSegment(usize),
    /// The interpreter's path is empty, too long or not ended.
    BadInterpreter,
}

impl fmt::Display for ImageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotElf => f.write_str("not an ELF file"),
            Self::Truncated => f.write_str("the ELF file is cut short"),
            Self::Bits32 => f.write_str("a 32-bit program; Hadal runs 64-bit x86 programs"),
            Self::Machine(number) => write!(f, "a program for another processor (ELF machine {number})"),
            Self::NotExecutable => f.write_str("an ELF file that is not a program"),
            Self::NoSegments => f.write_str("the ELF file has nothing to load"),
            Self::OutOfRange(address) => {
                write!(f, "the segment at {address:#x} is outside the address space of programs")
            }
            Self::BadSegment(address) => write!(f, "the segment at {address:#x} is malformed"),
            Self::BadInterpreter => f.write_str("the path of the interpreter is malformed"),
        }
    }
}

impl Image {
    /// Reads the headers at the start of a file of `file_len` bytes. `head` is its first [`HEAD_LEN`] bytes, or all of it.
    pub fn parse(head: &[u8], file_len: u64) -> Result<Self, ImageError> {
        const IDENT_CLASS: usize = 4;
        if !head.starts_with(&elf::ELFMAG) {
            return Err(ImageError::NotElf);
        }
        match head.get(IDENT_CLASS).copied().map(elf::FileClass) {
            Some(elf::ELFCLASS64) => {}
            Some(elf::ELFCLASS32) => return Err(ImageError::Bits32),
            Some(_) => return Err(ImageError::NotElf),
            None => return Err(ImageError::Truncated),
        }
        if head.len() < size_of::<FileHeader64<LittleEndian>>() {
            return Err(ImageError::Truncated);
        }
        let header = FileHeader64::<LittleEndian>::parse(head).map_err(|_| ImageError::NotElf)?;
        let endian = LittleEndian;
        let machine = header.e_machine(endian);
        if machine != elf::EM_X86_64 {
            return Err(ImageError::Machine(machine.0));
        }
        let relocatable = match header.e_type(endian) {
            elf::ET_EXEC => false,
            elf::ET_DYN => true,
            _ => return Err(ImageError::NotExecutable),
        };
        let programs = header.program_headers(endian, head).map_err(|_| ImageError::Truncated)?;
        let mut image = Self {
            relocatable,
            entry: header.e_entry(endian) as usize,
            segments: Vec::new(),
            interpreter: None,
            headers_address: None,
            header_count: programs.len(),
            executable_stack: false,
            align: PAGE_SIZE,
        };
        for program in programs {
            image.add(program, file_len)?;
        }
        if image.segments.is_empty() {
            return Err(ImageError::NoSegments);
        }
        let headers_at = header.e_phoff(endian);
        image.headers_address = image.address_of(headers_at);
        Ok(image)
    }

    fn add(&mut self, program: &ProgramHeader64<LittleEndian>, file_len: u64) -> Result<(), ImageError> {
        let endian = LittleEndian;
        let (offset, len) = (program.p_offset(endian), program.p_filesz(endian));
        match program.p_type(endian) {
            elf::PT_LOAD if program.p_memsz(endian) > 0 => self.add_segment(program, file_len)?,
            // The first one counts, as on Linux.
            elf::PT_INTERP if self.interpreter.is_none() => {
                if !(2..=INTERPRETER_MAX).contains(&len) {
                    return Err(ImageError::BadInterpreter);
                }
                if offset.checked_add(len).is_none_or(|end| end > file_len) {
                    return Err(ImageError::Truncated);
                }
                self.interpreter = Some((offset, len as usize - 1));
            }
            elf::PT_GNU_STACK => self.executable_stack = program.p_flags(endian).contains(elf::PF_X),
            _ => {}
        }
        Ok(())
    }

    fn add_segment(
        &mut self,
        program: &ProgramHeader64<LittleEndian>,
        file_len: u64,
    ) -> Result<(), ImageError> {
        let endian = LittleEndian;
        let address = program.p_vaddr(endian) as usize;
        let offset = program.p_offset(endian);
        let (in_file, in_memory) = (program.p_filesz(endian), program.p_memsz(endian));
        let page = PAGE_SIZE as u64;
        if in_file > in_memory || (in_file > 0 && offset % page != address as u64 % page) {
            return Err(ImageError::BadSegment(address));
        }
        if offset.checked_add(in_file).is_none_or(|end| end > file_len) {
            return Err(ImageError::Truncated);
        }
        let end = (address as u64).checked_add(in_memory).ok_or(ImageError::OutOfRange(address))?;
        let lowest = if self.relocatable { 0 } else { WINDOW_START };
        if address < lowest || end > WINDOW_END as u64 {
            return Err(ImageError::OutOfRange(address));
        }
        let align = program.p_align(endian) as usize;
        if align.is_power_of_two() {
            self.align = self.align.max(align.min(1 << 30));
        }
        let flags = program.p_flags(endian);
        let mut prot = Prot::empty();
        prot.set(Prot::READ, flags.contains(elf::PF_R));
        prot.set(Prot::WRITE, flags.contains(elf::PF_W));
        prot.set(Prot::EXEC, flags.contains(elf::PF_X));
        self.segments.push(Segment {
            address,
            offset,
            file_len: in_file as usize,
            memory_len: in_memory as usize,
            prot,
        });
        Ok(())
    }

    fn address_of(&self, offset: u64) -> Option<usize> {
        self.segments.iter().find_map(|segment| {
            let inside = offset.checked_sub(segment.offset)?;
            (inside < segment.file_len as u64).then(|| segment.address + inside as usize)
        })
    }

    /// First page of the image.
    pub fn start(&self) -> usize {
        self.segments.iter().map(Segment::first_page).min().unwrap_or(0)
    }

    /// Bytes from the first page to the end of the last one.
    pub fn span(&self) -> usize {
        self.segments.iter().map(Segment::end_page).max().unwrap_or(0) - self.start()
    }
}

#[cfg(test)]
mod tests {
    use super::{Image, ImageError};
    use alloc::vec::Vec;

    /// A 64-bit x86 executable with the given type and `PT_LOAD`s of (offset, address, file size, memory size).
    fn file(kind: u16, loads: &[(u64, u64, u64, u64)]) -> Vec<u8> {
        let mut bytes = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
        bytes.extend(kind.to_le_bytes());
        bytes.extend(62u16.to_le_bytes());
        bytes.extend(1u32.to_le_bytes());
        for word in [0x40_1000u64, 64, 0] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(0u32.to_le_bytes());
        for half in [64u16, 56, loads.len() as u16, 64, 0, 0] {
            bytes.extend(half.to_le_bytes());
        }
        for &(offset, address, in_file, in_memory) in loads {
            bytes.extend(1u32.to_le_bytes());
            bytes.extend(5u32.to_le_bytes());
            for word in [offset, address, address, in_file, in_memory, 0x1000] {
                bytes.extend(word.to_le_bytes());
            }
        }
        bytes
    }

    fn parse(kind: u16, loads: &[(u64, u64, u64, u64)]) -> Result<Image, ImageError> {
        Image::parse(&file(kind, loads), 0x10_0000)
    }

    #[test]
    fn accepts_an_ordinary_program() {
        let image = parse(2, &[(0, 0x40_0000, 0x1234, 0x1234), (0x2000, 0x40_3000, 0x10, 0x5000)]).unwrap();
        assert_eq!((image.start(), image.span(), image.segments.len()), (0x40_0000, 0x8000, 2));
        assert_eq!(image.headers_address, Some(0x40_0040));
        assert!(!image.relocatable);
    }

    #[test]
    fn names_what_is_wrong() {
        assert_eq!(Image::parse(b"#!/bin/sh", 9), Err(ImageError::NotElf));
        assert_eq!(Image::parse(b"", 0), Err(ImageError::NotElf));
        assert_eq!(Image::parse(&file(2, &[])[..40], 40), Err(ImageError::Truncated));
        assert_eq!(parse(1, &[(0, 0x40_0000, 1, 1)]), Err(ImageError::NotExecutable));
        assert_eq!(parse(2, &[]), Err(ImageError::NoSegments));
        assert_eq!(parse(2, &[(0, 0x40_0000, 0x20_0000, 0x20_0000)]), Err(ImageError::Truncated));
        assert_eq!(parse(2, &[(0, 0x1000, 1, 1)]), Err(ImageError::OutOfRange(0x1000)));
        assert_eq!(parse(2, &[(0, 0x40_0000, 1, u64::MAX)]), Err(ImageError::OutOfRange(0x40_0000)));
        assert_eq!(parse(2, &[(1, 0x40_0000, 1, 1)]), Err(ImageError::BadSegment(0x40_0000)));
    }

    #[test]
    fn segments_may_share_pages_and_come_in_any_order() {
        let image = parse(2, &[(0x1100, 0x40_1100, 0x100, 0x2000), (0, 0x40_0000, 0x1100, 0x1100)]).unwrap();
        assert_eq!((image.start(), image.span()), (0x40_0000, 0x4000));
        assert_eq!(image.segments[0].address, 0x40_1100, "the file's order");
    }

    #[test]
    fn names_foreign_files() {
        let mut bits32 = file(2, &[]);
        bits32[4] = 1;
        assert_eq!(Image::parse(&bits32, 64), Err(ImageError::Bits32));
        let mut arm = file(2, &[]);
        arm[18] = 183;
        assert_eq!(Image::parse(&arm, 64), Err(ImageError::Machine(183)));
    }
}
