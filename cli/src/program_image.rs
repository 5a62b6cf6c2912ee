// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Program images (`a.hadal`): making one of a kernel and a program, and recognising one, by its content and not its name.
//!
//! An image is the kernel's ELF file with a payload (`hadal_abi::image`) behind it, to which the program header of the
//! kernel's own segment for a program has been pointed. Beside that, segments are said to be linked at their physical
//! addresses, which boot loaders do not look at, and Linux can map: it executes an image by the path of a command that is
//! left in the first segment (`kernel/hal/src/boot/linux_start.rs`).

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;

use hadal_abi::image::{self, Contents, Header, ImageError};
use hadal_abi::{config, control, symbols};
use object::elf::{FileHeader64, PT_LOAD, ProgramHeader64};
use object::read::elf::{FileHeader as _, ProgramHeader as _, SectionHeader as _};
use object::{LittleEndian, ReadRef, pod};

const LE: LittleEndian = LittleEndian;

/// Places in a program header (ELF-64 specification): file offset, length in the file, length in memory.
const P_OFFSET: usize = 8;
const P_VADDR: usize = 16;
const P_FILESZ: usize = 32;
const P_MEMSZ: usize = 40;
/// Places in a section header.
const SH_ADDR: usize = 16;
const SH_OFFSET: usize = 24;
const SH_SIZE: usize = 32;
/// Bytes of a program header.
const PHDR_LEN: usize = size_of::<ProgramHeader64<LittleEndian>>();

/// Why a file is not a usable image, though it is a kernel of Hadal.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WrongImage {
    #[error("is a Hadal kernel without a program")]
    NoProgram,
    #[error("is a damaged program image: {0}")]
    Damaged(#[from] ImageError),
    #[error(
        "was made by another version of hadal: its kernel reads run configurations of version {config} and speaks \
         version {control} of the control channel, this command versions {} and {}",
        config::VERSION,
        control::VERSION
    )]
    Version { config: u32, control: u32 },
    #[error("cannot be read: {0}")]
    Unreadable(#[from] io::Error),
}

/// Why no image can be made of a kernel.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PackError {
    #[error("the kernel is no ELF file with a segment for a program")]
    NoSegment,
    #[error("{0}")]
    Contents(#[from] ImageError),
}

/// An image in memory.
#[derive(Clone, Debug)]
pub(crate) struct ProgramImage {
    bytes: Vec<u8>,
    payload: Range<usize>,
}

/// The segment for a program in a kernel's file.
struct Segment {
    /// Place of its program header.
    header_at: usize,
    /// Place of its section header, if it has one.
    section_at: Option<usize>,
    /// Place and length of its content.
    offset: u64,
    len: u64,
}

impl ProgramImage {
    /// Reads a file if it is a kernel of Hadal, with or without a program; `None` for every other file.
    pub(crate) fn open(path: &Path) -> Result<Option<Self>, WrongImage> {
        if !path.is_file() || !is_kernel(path) {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        File::open(path)?.read_to_end(&mut bytes)?;
        let segment = find_segment(&bytes).ok_or(WrongImage::NoProgram)?;
        let end = segment.offset.saturating_add(segment.len);
        if end > bytes.len() as u64 {
            return Err(ImageError::Truncated.into());
        }
        let payload = segment.offset as usize..end as usize;
        let header = Header::from_bytes(&bytes[payload.clone()]).ok_or(ImageError::NoHeader)?;
        if header.len == 0 {
            return Err(WrongImage::NoProgram);
        }
        if (header.config_version, header.control_version) != (config::VERSION, control::VERSION) {
            return Err(WrongImage::Version {
                config: header.config_version,
                control: header.control_version,
            });
        }
        image::decode(&bytes[payload.clone()])?;
        Ok(Some(Self { bytes, payload }))
    }

    /// Makes an image of a kernel and what it is to hold.
    pub(crate) fn pack(kernel: &[u8], contents: &Contents<'_>) -> Result<Self, PackError> {
        let segment = find_segment(kernel).ok_or(PackError::NoSegment)?;
        let old = kernel.get(segment.offset as usize..).and_then(Header::from_bytes);
        let payload = image::encode(&old.ok_or(PackError::NoSegment)?, contents)?;
        let mut bytes = kernel.to_vec();
        bytes.resize(bytes.len().next_multiple_of(image::PART_ALIGN), 0);
        let start = bytes.len();
        bytes.extend_from_slice(&payload);
        let mut put =
            |at: usize, value: usize| bytes[at..at + 8].copy_from_slice(&(value as u64).to_le_bytes());
        put(segment.header_at + P_OFFSET, start);
        put(segment.header_at + P_FILESZ, payload.len());
        put(segment.header_at + P_MEMSZ, payload.len());
        if let Some(section) = segment.section_at {
            put(section + SH_OFFSET, start);
            put(section + SH_SIZE, payload.len());
        }
        for (header_at, physical) in loaded_segments(kernel) {
            put(header_at + P_VADDR, physical as usize);
        }
        // As their segments, or `strip` takes them apart.
        for (header_at, physical) in high_sections(kernel) {
            put(header_at + SH_ADDR, physical as usize);
        }
        Ok(Self { payload: start..bytes.len(), bytes })
    }

    /// Names the command that runs the image when Linux executes it. A path that has no room is left out: the image looks
    /// for a command in PATH then.
    pub(crate) fn set_command(&mut self, command: &Path) {
        let path = command.as_os_str().as_bytes();
        if let Some(place) = command_place(&self.bytes).filter(|place| path.len() < place.len()) {
            let (text, rest) = self.bytes[place].split_at_mut(path.len());
            text.copy_from_slice(path);
            rest.fill(0);
        }
    }

    /// The file's content: what boots.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What it holds.
    pub(crate) fn contents(&self) -> Contents<'_> {
        // `open` and `pack` have made sure that this works.
        image::decode(&self.bytes[self.payload.clone()]).expect("the payload has been decoded before")
    }

    /// The names of its kernel's functions, as its own boot module has them.
    pub(crate) fn symbols(&self) -> Vec<u8> {
        let rest = config::split(self.contents().config).map_or(&[][..], |decoded| decoded.rest);
        if rest.starts_with(symbols::MAGIC) { rest.to_vec() } else { Vec::new() }
    }
}

/// Bytes at the start of a file by which a kernel is told from other files: its headers, and its first segment behind them.
const HEAD_LEN: usize = 4096 + image::COMMAND_WITHIN;

/// Whether a file is a kernel of Hadal, judged by its first bytes alone: its first segment has the place for a command's
/// path. What only asks for a kernel's address is a program, and gets the loader's answer.
fn is_kernel(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    let mut head = [0; HEAD_LEN];
    let len = file.read_at(&mut head, 0).unwrap_or(0);
    command_place(&head[..len]).is_some()
}

/// Where a kernel has the path of the command that runs it.
fn command_place(bytes: &[u8]) -> Option<Range<usize>> {
    let header = FileHeader64::<LittleEndian>::parse(bytes).ok()?;
    let segments = header.program_headers(LE, bytes).ok()?;
    let first = segments.iter().find(|segment| segment.p_type(LE) == PT_LOAD)?;
    let start = usize::try_from(first.p_offset(LE)).ok()?;
    let within = bytes.get(start..)?.get(..image::COMMAND_WITHIN)?;
    let magic =
        within.windows(image::COMMAND_MAGIC.len()).position(|window| window == image::COMMAND_MAGIC)?;
    let place = start + magic + image::COMMAND_MAGIC.len();
    (place + image::COMMAND_LEN <= bytes.len()).then_some(place..place + image::COMMAND_LEN)
}

/// Places of the program headers of what is loaded, and the physical addresses there.
fn loaded_segments(bytes: &[u8]) -> Vec<(usize, u64)> {
    let Ok(header) = FileHeader64::<LittleEndian>::parse(bytes) else { return Vec::new() };
    let segments = header.program_headers(LE, bytes).unwrap_or_default().iter().enumerate();
    let loaded = segments.filter(|(_, segment)| segment.p_type(LE) == PT_LOAD);
    let at = |index: usize| header.e_phoff(LE) as usize + index * PHDR_LEN;
    loaded.map(|(index, segment)| (at(index), segment.p_paddr(LE))).collect()
}

/// Places of the headers of sections that are linked at the kernel's base, and the physical addresses there.
fn high_sections(bytes: &[u8]) -> Vec<(usize, u64)> {
    let Ok(header) = FileHeader64::<LittleEndian>::parse(bytes) else { return Vec::new() };
    let sections = header.section_headers(LE, bytes).unwrap_or_default().iter();
    let physical = |address: u64| address.checked_sub(symbols::BASE);
    sections.filter_map(|section| Some((place_of(bytes, section), physical(section.sh_addr(LE))?))).collect()
}

/// Where a header is in the file that it was read from.
fn place_of<T: pod::Pod>(bytes: &[u8], header: &T) -> usize {
    pod::bytes_of(header).as_ptr() as usize - bytes.as_ptr() as usize
}

/// Finds the segment for a program: the one whose content begins with the header's magic. Of a file that is cut short only
/// headers may be left, so a segment whose content is not there counts, too: only the last one is that far behind.
fn find_segment(bytes: &[u8]) -> Option<Segment> {
    let header = FileHeader64::<LittleEndian>::parse(bytes).ok()?;
    let segments = header.program_headers(LE, bytes).ok()?;
    let (index, found) =
        segments.iter().enumerate().filter(|(_, s)| s.p_type(LE) == PT_LOAD).find(|(_, s)| {
            let magic = bytes.read_bytes_at(s.p_offset(LE), image::MAGIC.len() as u64);
            magic.map_or(s.p_offset(LE) >= bytes.len() as u64, |magic| magic == image::MAGIC)
        })?;
    let sections = header.section_headers(LE, bytes).unwrap_or_default();
    let section = sections.iter().find(|section| section.sh_addr(LE) == found.p_vaddr(LE));
    Some(Segment {
        header_at: header.e_phoff(LE) as usize + index * PHDR_LEN,
        section_at: section.map(|section| place_of(bytes, section)),
        offset: found.p_offset(LE),
        len: found.p_filesz(LE),
    })
}

#[cfg(test)]
mod tests;
