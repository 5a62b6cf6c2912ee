// SPDX-License-Identifier: Apache-2.0 OR MIT
//! 9P2000.L messages as bytes.
//!
//! The primitives ([`Writer`], [`Reader`]): little-endian integers, and byte strings with a 16-bit length; and the
//! structures that the messages of [`super::message`] are made of. Both directions are here, so that the tests'
//! server uses the same code. Every message starts with its length (4 bytes), type (1) and tag (2).

use alloc::vec::Vec;

use super::transport::TransportError;

/// Bytes before the body of a message.
pub const HEADER_LEN: usize = 7;
/// Bytes around the data of a read or write, rounded up as the reference client does.
pub const IO_OVERHEAD: usize = 24;
/// Most names in one walk.
pub const MAX_WALK: usize = 16;
/// The tag of the version message.
pub const NO_TAG: u16 = u16::MAX;
/// The number that stands for "no fid" in an attach.
pub const NO_FID: u32 = u32::MAX;

/// `qid` type bit: a directory.
pub const QID_DIRECTORY: u8 = 0x80;
/// `qid` type bit: a symbolic link.
pub const QID_SYMLINK: u8 = 0x02;

/// Why bytes are not the message that was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodecError {
    /// The message ends too early.
    Short,
    /// A count, length or type has an impossible value.
    Malformed,
}

/// The server's identity of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Qid {
    /// Type bits.
    pub kind: u8,
    /// Changes with the content, or 0.
    pub version: u32,
    /// The file's number.
    pub path: u64,
}

/// A time on the wire: seconds and nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WireTime {
    /// Seconds since 1970; negative values are carried in two's complement.
    pub sec: u64,
    /// Nanoseconds.
    pub nsec: u64,
}

/// The answer to a getattr.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // the fields are those of `struct stat`
pub struct Attributes {
    pub valid: u64,
    pub qid: Qid,
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
    pub nlink: u64,
    pub rdev: u64,
    pub size: u64,
    pub blksize: u64,
    pub blocks: u64,
    pub atime: WireTime,
    pub mtime: WireTime,
    pub ctime: WireTime,
    pub btime: WireTime,
    pub generation: u64,
    pub data_version: u64,
}

/// What a getattr asks for: everything `stat` needs.
pub const GETATTR_BASIC: u64 = 0x7ff;

/// Changes for a setattr; `valid` says which.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // the fields are those of `struct stat`
pub struct Changes {
    pub valid: u32,
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
    pub size: u64,
    pub atime: WireTime,
    pub mtime: WireTime,
}

/// Bits of [`Changes::valid`].
#[allow(missing_docs)] // named after the fields they announce; `_SET` means: the given time, not now
pub mod change {
    pub const MODE: u32 = 0x1;
    pub const UID: u32 = 0x2;
    pub const GID: u32 = 0x4;
    pub const SIZE: u32 = 0x8;
    pub const ATIME: u32 = 0x10;
    pub const MTIME: u32 = 0x20;
    pub const ATIME_SET: u32 = 0x80;
    pub const MTIME_SET: u32 = 0x100;
}

/// The answer to a statfs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // the fields are those of `struct statfs`
pub struct FsNumbers {
    pub magic: u32,
    pub block_size: u32,
    pub blocks: u64,
    pub blocks_free: u64,
    pub blocks_available: u64,
    pub files: u64,
    pub files_free: u64,
    pub fsid: u64,
    pub name_max: u32,
}

/// One entry in the data of a readdir reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireEntry<'a> {
    /// The file.
    pub qid: Qid,
    /// Where reading goes on.
    pub offset: u64,
    /// The `d_type` value.
    pub kind: u8,
    /// The name.
    pub name: &'a [u8],
}

/// Writes the fields of a message.
#[derive(Default)]
pub struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// Starts a message of this type in a buffer whose content is thrown away; [`Writer::finish`] fills in the
    /// length.
    pub fn start(mut bytes: Vec<u8>, kind: u8, tag: u16) -> Self {
        bytes.clear();
        let mut writer = Self { bytes };
        writer.u32(0);
        writer.u8(kind);
        writer.u16(tag);
        writer
    }

    /// The finished message. `TooLarge` when it does not fit into a 32-bit length.
    pub fn finish(mut self) -> Result<Vec<u8>, TransportError> {
        let len = u32::try_from(self.bytes.len()).map_err(|_| TransportError::TooLarge)?;
        self.bytes[..4].copy_from_slice(&len.to_le_bytes());
        Ok(self.bytes)
    }

    pub(super) fn u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    pub(super) fn u16(&mut self, value: u16) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub(super) fn u32(&mut self, value: u32) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub(super) fn u64(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// A string; what exceeds 65,535 bytes is cut off (no name or path is that long).
    pub(super) fn string(&mut self, value: &[u8]) {
        let len = value.len().min(usize::from(u16::MAX));
        self.u16(len as u16);
        self.bytes.extend_from_slice(&value[..len]);
    }

    /// Bytes with a 32-bit length.
    pub(super) fn data(&mut self, value: &[u8]) {
        self.u32(value.len() as u32);
        self.bytes.extend_from_slice(value);
    }

    pub(super) fn qid(&mut self, qid: Qid) {
        self.u8(qid.kind);
        self.u32(qid.version);
        self.u64(qid.path);
    }

    pub(super) fn time(&mut self, time: WireTime) {
        self.u64(time.sec);
        self.u64(time.nsec);
    }
}

/// Reads the fields of a message.
#[derive(Clone)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Reads from the body of a message, or the data of a readdir reply.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Checks the header of a whole message; returns its type, its tag and a reader for its body.
    pub fn message(bytes: &'a [u8]) -> Result<(u8, u16, Self), CodecError> {
        let mut reader = Self::new(bytes);
        let len = reader.u32()? as usize;
        if len < HEADER_LEN || len > bytes.len() {
            return Err(CodecError::Malformed);
        }
        let (kind, tag) = (reader.u8()?, reader.u16()?);
        Ok((kind, tag, Self::new(&bytes[HEADER_LEN..len])))
    }

    /// True when everything was read.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(super) fn bytes(&mut self, len: usize) -> Result<&'a [u8], CodecError> {
        let (now, later) = self.rest.split_at_checked(len).ok_or(CodecError::Short)?;
        self.rest = later;
        Ok(now)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], CodecError> {
        let (now, later) = self.rest.split_first_chunk().ok_or(CodecError::Short)?;
        self.rest = later;
        Ok(*now)
    }

    pub(super) fn u8(&mut self) -> Result<u8, CodecError> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    pub(super) fn u16(&mut self) -> Result<u16, CodecError> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    pub(super) fn u32(&mut self) -> Result<u32, CodecError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(super) fn u64(&mut self) -> Result<u64, CodecError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    pub(super) fn string(&mut self) -> Result<&'a [u8], CodecError> {
        let len = self.u16()?;
        self.bytes(usize::from(len))
    }

    pub(super) fn data(&mut self) -> Result<&'a [u8], CodecError> {
        let len = self.u32()?;
        self.bytes(len as usize)
    }

    pub(super) fn qid(&mut self) -> Result<Qid, CodecError> {
        Ok(Qid { kind: self.u8()?, version: self.u32()?, path: self.u64()? })
    }

    pub(super) fn time(&mut self) -> Result<WireTime, CodecError> {
        Ok(WireTime { sec: self.u64()?, nsec: self.u64()? })
    }

    /// The next entry in the data of a readdir reply; `None` at its end.
    pub fn entry(&mut self) -> Result<Option<WireEntry<'a>>, CodecError> {
        if self.is_empty() {
            return Ok(None);
        }
        let (qid, offset, kind, name) = (self.qid()?, self.u64()?, self.u8()?, self.string()?);
        Ok(Some(WireEntry { qid, offset, kind, name }))
    }
}

impl WireEntry<'_> {
    /// Adds the entry to the data of a readdir reply.
    pub fn encode(&self, data: &mut Vec<u8>) {
        let mut writer = Writer { bytes: core::mem::take(data) };
        writer.qid(self.qid);
        writer.u64(self.offset);
        writer.u8(self.kind);
        writer.string(self.name);
        *data = writer.bytes;
    }
}
