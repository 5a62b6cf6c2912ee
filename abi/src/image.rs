// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The payload of a program image (`a.hadal`): the content of the segment that the kernel's ELF file reserves for it.
//!
//! The kernel is linked with a segment of its own for it (`kernel/kernel.ld`), which holds only a [`Header`] without a
//! payload. The command appends the payload to the file and points that segment's program header at it, so any loader
//! that can load the kernel loads the program, too.
//!
//! Layout, little endian: [`Header`] ([`HEADER_LEN`] bytes); the [`Index`] in postcard; then the parts that it names, each
//! at a multiple of [`PART_ALIGN`] from the payload's start: the program's ELF file, the configuration for a boot without
//! a command (a [boot module](crate::config)), and modules.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};

use crate::{config, control};

/// First bytes of the header.
pub const MAGIC: &[u8; 8] = b"HADALIMG";

/// Version of this layout.
pub const FORMAT: u32 = 1;

/// Stands before the place for the path of the command that runs the image when Linux executes it, in the first
/// [`COMMAND_WITHIN`] bytes of the kernel's first segment.
pub const COMMAND_MAGIC: &[u8; 16] = b"HADAL-COMMAND-1\n";

/// Bytes of that place. The path ends with a NUL; without one it is empty.
pub const COMMAND_LEN: usize = 1024;

/// Bytes of the first segment that have the place in them.
pub const COMMAND_WITHIN: usize = 4096;

/// Bytes of the header.
pub const HEADER_LEN: usize = 32;

/// Parts start at multiples of this, so that they can be mapped.
pub const PART_ALIGN: usize = 4096;

/// Largest payload in bytes: the boot page tables and all machines have that much below 4 GiB.
pub const MAX_LEN: u64 = 1 << 30;

/// The first bytes of the payload; written by the kernel's linker with a length of 0, and by the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Bytes of the payload with this header; 0 in a kernel without one.
    pub len: u64,
    /// Version of the layout.
    pub format: u32,
    /// Version of the run configuration that the kernel reads.
    pub config_version: u32,
    /// Version of the control channel that the kernel speaks.
    pub control_version: u32,
    /// Bytes of the index, which follows.
    pub index_len: u32,
}

impl Header {
    /// The header of a kernel of this version without a payload.
    pub const EMPTY: Self = Self {
        len: 0,
        format: FORMAT,
        config_version: config::VERSION,
        control_version: control::VERSION,
        index_len: 0,
    };

    /// The header as it stands in memory.
    pub const fn to_bytes(self) -> [u8; HEADER_LEN] {
        let mut out = [0; HEADER_LEN];
        put(&mut out, 0, MAGIC);
        put(&mut out, 8, &self.len.to_le_bytes());
        put(&mut out, 16, &self.format.to_le_bytes());
        put(&mut out, 20, &self.config_version.to_le_bytes());
        put(&mut out, 24, &self.control_version.to_le_bytes());
        put(&mut out, 28, &self.index_len.to_le_bytes());
        out
    }

    /// Reads a header; `None` if the bytes are none.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (magic, _) = bytes.get(..HEADER_LEN)?.split_first_chunk::<8>()?;
        let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        if magic != MAGIC {
            return None;
        }
        Some(Self {
            len: u64::from(word(8)?) | u64::from(word(12)?) << 32,
            format: word(16)?,
            config_version: word(20)?,
            control_version: word(24)?,
            index_len: word(28)?,
        })
    }
}

const fn put(out: &mut [u8; HEADER_LEN], at: usize, bytes: &[u8]) {
    let mut i = 0;
    while i < bytes.len() {
        out[at + i] = bytes[i];
        i += 1;
    }
}

/// Place of a part in the payload, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Part {
    offset: u64,
    len: u64,
}

/// What is in the payload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Index {
    program: Part,
    config: Part,
    modules: Vec<(String, Part)>,
}

/// The parts of a payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents<'a> {
    /// The program's ELF file.
    pub program: &'a [u8],
    /// The boot module for a boot without a command: configuration and the kernel's symbols.
    pub config: &'a [u8],
    /// Modules, name and content.
    pub modules: Vec<(String, &'a [u8])>,
}

/// Why a payload cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageError {
    /// There is no header.
    NoHeader,
    /// The layout is of another version (the version found).
    Format(u32),
    /// The bytes end before the length they announce.
    Truncated,
    /// The index is damaged.
    Damaged,
    /// The parts are larger than a payload may be (in bytes).
    TooLarge(u64),
}

impl fmt::Display for ImageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoHeader => write!(f, "the kernel's segment for a program has no header"),
            Self::Format(found) => write!(f, "image format {found}, this is for format {FORMAT}"),
            Self::Truncated => write!(f, "the image is cut short"),
            Self::Damaged => write!(f, "the image's list of contents is damaged"),
            Self::TooLarge(len) => {
                write!(f, "program and modules have {} MiB, an image holds {} MiB", len >> 20, MAX_LEN >> 20)
            }
        }
    }
}

impl core::error::Error for ImageError {}

/// Builds a payload for a kernel whose own header is `kernel`.
pub fn encode(kernel: &Header, contents: &Contents<'_>) -> Result<Vec<u8>, ImageError> {
    let parts = [contents.program, contents.config].into_iter();
    let parts: Vec<&[u8]> = parts.chain(contents.modules.iter().map(|&(_, bytes)| bytes)).collect();
    // The index has numbers of variable length, so its room is found with the largest offsets.
    let room = HEADER_LEN + index_of(contents, &parts, MAX_LEN as usize).len();
    let index = index_of(contents, &parts, room);
    let len = parts.iter().fold(room, |at, part| at.next_multiple_of(PART_ALIGN) + part.len());
    if len as u64 > MAX_LEN {
        return Err(ImageError::TooLarge(len as u64));
    }
    let header =
        Header { len: len as u64, format: FORMAT, index_len: index.len() as u32, ..*kernel }.to_bytes();
    let mut out = Vec::with_capacity(len);
    out.extend_from_slice(&header);
    out.extend_from_slice(&index);
    out.resize(room, 0);
    for part in parts {
        out.resize(out.len().next_multiple_of(PART_ALIGN), 0);
        out.extend_from_slice(part);
    }
    Ok(out)
}

/// The encoded index for parts that start behind `room` bytes.
fn index_of(contents: &Contents<'_>, parts: &[&[u8]], room: usize) -> Vec<u8> {
    let mut at = room;
    let mut places = parts.iter().map(|part| {
        let offset = at.next_multiple_of(PART_ALIGN);
        at = offset + part.len();
        Part { offset: offset as u64, len: part.len() as u64 }
    });
    let mut next = || places.next().unwrap_or(Part { offset: 0, len: 0 });
    let (program, config) = (next(), next());
    let modules = contents.modules.iter().map(|(name, _)| (name.clone(), next())).collect();
    // Serialising plain owned data into a growing vector has no failing path.
    postcard::to_allocvec(&Index { program, config, modules }).unwrap_or_default()
}

/// Finds the parts of a payload; bytes behind it are ignored.
pub fn decode(payload: &[u8]) -> Result<Contents<'_>, ImageError> {
    let header = Header::from_bytes(payload).ok_or(ImageError::NoHeader)?;
    if header.format != FORMAT {
        return Err(ImageError::Format(header.format));
    }
    let len = usize::try_from(header.len).map_err(|_| ImageError::Truncated)?;
    let payload = payload.get(..len).ok_or(ImageError::Truncated)?;
    let index = payload.get(HEADER_LEN..).and_then(|rest| rest.get(..header.index_len as usize));
    let index: Index =
        postcard::from_bytes(index.ok_or(ImageError::Truncated)?).map_err(|_| ImageError::Damaged)?;
    let part = |part: &Part| {
        let start = usize::try_from(part.offset).map_err(|_| ImageError::Damaged)?;
        let len = usize::try_from(part.len).map_err(|_| ImageError::Damaged)?;
        payload.get(start..).and_then(|rest| rest.get(..len)).ok_or(ImageError::Truncated)
    };
    let modules = index.modules.iter().map(|(name, place)| Ok((name.clone(), part(place)?)));
    Ok(Contents {
        program: part(&index.program)?,
        config: part(&index.config)?,
        modules: modules.collect::<Result<_, _>>()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample() -> Contents<'static> {
        Contents {
            program: b"\x7fELF and so on",
            config: b"configuration",
            modules: vec![("data".into(), &[7; 5000][..]), ("none".into(), &[][..])],
        }
    }

    #[test]
    fn parts_come_back_aligned() {
        let bytes = encode(&Header::EMPTY, &sample()).unwrap();
        let contents = decode(&bytes).unwrap();
        assert_eq!(contents, sample());
        let offset = contents.program.as_ptr() as usize - bytes.as_ptr() as usize;
        assert_eq!(offset % PART_ALIGN, 0);
        let mut longer = bytes.clone();
        longer.push(1);
        assert_eq!(decode(&longer).unwrap(), sample());
    }

    #[test]
    fn headers_keep_the_versions_of_their_kernel() {
        let kernel = Header { config_version: 77, control_version: 78, ..Header::EMPTY };
        let bytes = encode(&kernel, &sample()).unwrap();
        let header = Header::from_bytes(&bytes).unwrap();
        assert_eq!((header.config_version, header.control_version), (77, 78));
        assert_eq!(header.len, bytes.len() as u64);
        assert_eq!(Header::from_bytes(&Header::EMPTY.to_bytes()), Some(Header::EMPTY));
    }

    #[test]
    fn every_truncation_and_another_format_are_errors() {
        let bytes = encode(&Header::EMPTY, &sample()).unwrap();
        for len in 0..bytes.len() {
            assert!(decode(&bytes[..len]).is_err(), "{len} bytes were accepted");
        }
        let mut other = bytes.clone();
        other[16] = 9;
        assert_eq!(decode(&other), Err(ImageError::Format(9)));
    }

    proptest! {
        #[test]
        fn any_index_decodes_or_fails(tail in proptest::collection::vec(any::<u8>(), 0..300)) {
            let header = Header { len: (HEADER_LEN + tail.len()) as u64, index_len: tail.len() as u32, ..Header::EMPTY };
            let mut bytes = header.to_bytes().to_vec();
            bytes.extend_from_slice(&tail);
            let _ = decode(&bytes);
        }
    }
}
