// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The messages of 9P2000.L that the client uses, each with its encoding and decoding.
//!
//! The type of a reply is that of its request plus one; an error has its own type.

use alloc::vec::Vec;

use super::codec::{Attributes, Changes, CodecError, FsNumbers, MAX_WALK, Qid, Reader, Writer};
use super::transport::TransportError;

/// A message to the server. Fids are the client's numbers for files.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the fields are those of the protocol
pub enum Request<'a> {
    Statfs { fid: u32 },
    Lopen { fid: u32, flags: u32 },
    Lcreate { fid: u32, name: &'a [u8], flags: u32, mode: u32, gid: u32 },
    Symlink { dir: u32, name: &'a [u8], target: &'a [u8], gid: u32 },
    Readlink { fid: u32 },
    Getattr { fid: u32, mask: u64 },
    Setattr { fid: u32, changes: Changes },
    Readdir { fid: u32, offset: u64, count: u32 },
    Fsync { fid: u32, data_only: bool },
    Link { dir: u32, fid: u32, name: &'a [u8] },
    Mkdir { dir: u32, name: &'a [u8], mode: u32, gid: u32 },
    Renameat { dir: u32, name: &'a [u8], new_dir: u32, new_name: &'a [u8] },
    Unlinkat { dir: u32, name: &'a [u8], flags: u32 },
    Version { msize: u32, version: &'a [u8] },
    Attach { fid: u32, afid: u32, user: &'a [u8], tree: &'a [u8], uid: u32 },
    Walk { fid: u32, new_fid: u32, names: Vec<&'a [u8]> },
    Read { fid: u32, offset: u64, count: u32 },
    Write { fid: u32, offset: u64, data: &'a [u8] },
    Clunk { fid: u32 },
}

/// A message from the server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the fields are those of the protocol
pub enum Reply<'a> {
    Error { number: u32 },
    Statfs(FsNumbers),
    Lopen { qid: Qid, io_unit: u32 },
    Lcreate { qid: Qid, io_unit: u32 },
    Symlink { qid: Qid },
    Readlink { target: &'a [u8] },
    Getattr(Attributes),
    Setattr,
    Readdir { data: &'a [u8] },
    Fsync,
    Link,
    Mkdir { qid: Qid },
    Renameat,
    Unlinkat,
    Version { msize: u32, version: &'a [u8] },
    Attach { qid: Qid },
    Walk { qids: Vec<Qid> },
    Read { data: &'a [u8] },
    Write { count: u32 },
    Clunk,
}

mod kind {
    pub(super) const ERROR: u8 = 7;
    pub(super) const STATFS: u8 = 8;
    pub(super) const LOPEN: u8 = 12;
    pub(super) const LCREATE: u8 = 14;
    pub(super) const SYMLINK: u8 = 16;
    pub(super) const READLINK: u8 = 22;
    pub(super) const GETATTR: u8 = 24;
    pub(super) const SETATTR: u8 = 26;
    pub(super) const READDIR: u8 = 40;
    pub(super) const FSYNC: u8 = 50;
    pub(super) const LINK: u8 = 70;
    pub(super) const MKDIR: u8 = 72;
    pub(super) const RENAMEAT: u8 = 74;
    pub(super) const UNLINKAT: u8 = 76;
    pub(super) const VERSION: u8 = 100;
    pub(super) const ATTACH: u8 = 104;
    pub(super) const WALK: u8 = 110;
    pub(super) const READ: u8 = 116;
    pub(super) const WRITE: u8 = 118;
    pub(super) const CLUNK: u8 = 120;
}

impl Request<'_> {
    /// The type byte.
    pub fn kind(&self) -> u8 {
        match self {
            Self::Statfs { .. } => kind::STATFS,
            Self::Lopen { .. } => kind::LOPEN,
            Self::Lcreate { .. } => kind::LCREATE,
            Self::Symlink { .. } => kind::SYMLINK,
            Self::Readlink { .. } => kind::READLINK,
            Self::Getattr { .. } => kind::GETATTR,
            Self::Setattr { .. } => kind::SETATTR,
            Self::Readdir { .. } => kind::READDIR,
            Self::Fsync { .. } => kind::FSYNC,
            Self::Link { .. } => kind::LINK,
            Self::Mkdir { .. } => kind::MKDIR,
            Self::Renameat { .. } => kind::RENAMEAT,
            Self::Unlinkat { .. } => kind::UNLINKAT,
            Self::Version { .. } => kind::VERSION,
            Self::Attach { .. } => kind::ATTACH,
            Self::Walk { .. } => kind::WALK,
            Self::Read { .. } => kind::READ,
            Self::Write { .. } => kind::WRITE,
            Self::Clunk { .. } => kind::CLUNK,
        }
    }

    /// The whole message, in a buffer that may be used again.
    pub fn encode(&self, tag: u16, buffer: Vec<u8>) -> Result<Vec<u8>, TransportError> {
        let mut w = Writer::start(buffer, self.kind(), tag);
        match self {
            Self::Statfs { fid } | Self::Readlink { fid } | Self::Clunk { fid } => w.u32(*fid),
            Self::Lopen { fid, flags } => {
                w.u32(*fid);
                w.u32(*flags);
            }
            Self::Lcreate { fid, name, flags, mode, gid } => {
                w.u32(*fid);
                w.string(name);
                w.u32(*flags);
                w.u32(*mode);
                w.u32(*gid);
            }
            Self::Symlink { dir, name, target, gid } => {
                w.u32(*dir);
                w.string(name);
                w.string(target);
                w.u32(*gid);
            }
            Self::Getattr { fid, mask } => {
                w.u32(*fid);
                w.u64(*mask);
            }
            Self::Setattr { fid, changes } => {
                w.u32(*fid);
                w.u32(changes.valid);
                w.u32(changes.mode);
                w.u32(changes.uid);
                w.u32(changes.gid);
                w.u64(changes.size);
                w.time(changes.atime);
                w.time(changes.mtime);
            }
            Self::Readdir { fid, offset, count } | Self::Read { fid, offset, count } => {
                w.u32(*fid);
                w.u64(*offset);
                w.u32(*count);
            }
            Self::Fsync { fid, data_only } => {
                w.u32(*fid);
                w.u32(u32::from(*data_only));
            }
            Self::Link { dir, fid, name } => {
                w.u32(*dir);
                w.u32(*fid);
                w.string(name);
            }
            Self::Mkdir { dir, name, mode, gid } => {
                w.u32(*dir);
                w.string(name);
                w.u32(*mode);
                w.u32(*gid);
            }
            Self::Renameat { dir, name, new_dir, new_name } => {
                w.u32(*dir);
                w.string(name);
                w.u32(*new_dir);
                w.string(new_name);
            }
            Self::Unlinkat { dir, name, flags } => {
                w.u32(*dir);
                w.string(name);
                w.u32(*flags);
            }
            Self::Version { msize, version } => {
                w.u32(*msize);
                w.string(version);
            }
            Self::Attach { fid, afid, user, tree, uid } => {
                w.u32(*fid);
                w.u32(*afid);
                w.string(user);
                w.string(tree);
                w.u32(*uid);
            }
            Self::Walk { fid, new_fid, names } => {
                w.u32(*fid);
                w.u32(*new_fid);
                w.u16(names.len() as u16);
                names.iter().for_each(|name| w.string(name));
            }
            Self::Write { fid, offset, data } => {
                w.u32(*fid);
                w.u64(*offset);
                w.data(data);
            }
        }
        w.finish()
    }
}

impl<'a> Request<'a> {
    /// Reads a whole message, as a server does; returns its tag too.
    pub fn decode(bytes: &'a [u8]) -> Result<(u16, Self), CodecError> {
        let (kind, tag, mut r) = Reader::message(bytes)?;
        let request = match kind {
            kind::STATFS => Self::Statfs { fid: r.u32()? },
            kind::LOPEN => Self::Lopen { fid: r.u32()?, flags: r.u32()? },
            kind::LCREATE => Self::Lcreate {
                fid: r.u32()?,
                name: r.string()?,
                flags: r.u32()?,
                mode: r.u32()?,
                gid: r.u32()?,
            },
            kind::SYMLINK => {
                Self::Symlink { dir: r.u32()?, name: r.string()?, target: r.string()?, gid: r.u32()? }
            }
            kind::READLINK => Self::Readlink { fid: r.u32()? },
            kind::GETATTR => Self::Getattr { fid: r.u32()?, mask: r.u64()? },
            kind::SETATTR => Self::Setattr {
                fid: r.u32()?,
                changes: Changes {
                    valid: r.u32()?,
                    mode: r.u32()?,
                    uid: r.u32()?,
                    gid: r.u32()?,
                    size: r.u64()?,
                    atime: r.time()?,
                    mtime: r.time()?,
                },
            },
            kind::READDIR => Self::Readdir { fid: r.u32()?, offset: r.u64()?, count: r.u32()? },
            kind::FSYNC => Self::Fsync { fid: r.u32()?, data_only: r.u32()? != 0 },
            kind::LINK => Self::Link { dir: r.u32()?, fid: r.u32()?, name: r.string()? },
            kind::MKDIR => Self::Mkdir { dir: r.u32()?, name: r.string()?, mode: r.u32()?, gid: r.u32()? },
            kind::RENAMEAT => {
                Self::Renameat { dir: r.u32()?, name: r.string()?, new_dir: r.u32()?, new_name: r.string()? }
            }
            kind::UNLINKAT => Self::Unlinkat { dir: r.u32()?, name: r.string()?, flags: r.u32()? },
            kind::VERSION => Self::Version { msize: r.u32()?, version: r.string()? },
            kind::ATTACH => Self::Attach {
                fid: r.u32()?,
                afid: r.u32()?,
                user: r.string()?,
                tree: r.string()?,
                uid: r.u32()?,
            },
            kind::WALK => {
                let (fid, new_fid, count) = (r.u32()?, r.u32()?, usize::from(r.u16()?));
                let names = (0..count).map(|_| r.string()).collect::<Result<_, _>>()?;
                Self::Walk { fid, new_fid, names }
            }
            kind::READ => Self::Read { fid: r.u32()?, offset: r.u64()?, count: r.u32()? },
            kind::WRITE => Self::Write { fid: r.u32()?, offset: r.u64()?, data: r.data()? },
            kind::CLUNK => Self::Clunk { fid: r.u32()? },
            _ => return Err(CodecError::Malformed),
        };
        if r.is_empty() { Ok((tag, request)) } else { Err(CodecError::Malformed) }
    }
}

impl Reply<'_> {
    /// The type byte.
    pub fn kind(&self) -> u8 {
        match self {
            Self::Error { .. } => kind::ERROR,
            Self::Statfs(_) => kind::STATFS + 1,
            Self::Lopen { .. } => kind::LOPEN + 1,
            Self::Lcreate { .. } => kind::LCREATE + 1,
            Self::Symlink { .. } => kind::SYMLINK + 1,
            Self::Readlink { .. } => kind::READLINK + 1,
            Self::Getattr(_) => kind::GETATTR + 1,
            Self::Setattr => kind::SETATTR + 1,
            Self::Readdir { .. } => kind::READDIR + 1,
            Self::Fsync => kind::FSYNC + 1,
            Self::Link => kind::LINK + 1,
            Self::Mkdir { .. } => kind::MKDIR + 1,
            Self::Renameat => kind::RENAMEAT + 1,
            Self::Unlinkat => kind::UNLINKAT + 1,
            Self::Version { .. } => kind::VERSION + 1,
            Self::Attach { .. } => kind::ATTACH + 1,
            Self::Walk { .. } => kind::WALK + 1,
            Self::Read { .. } => kind::READ + 1,
            Self::Write { .. } => kind::WRITE + 1,
            Self::Clunk => kind::CLUNK + 1,
        }
    }

    /// The whole message, as a server sends it.
    pub fn encode(&self, tag: u16) -> Result<Vec<u8>, TransportError> {
        let mut w = Writer::start(Vec::new(), self.kind(), tag);
        match self {
            Self::Error { number } => w.u32(*number),
            Self::Statfs(fs) => {
                w.u32(fs.magic);
                w.u32(fs.block_size);
                for value in
                    [fs.blocks, fs.blocks_free, fs.blocks_available, fs.files, fs.files_free, fs.fsid]
                {
                    w.u64(value);
                }
                w.u32(fs.name_max);
            }
            Self::Lopen { qid, io_unit } | Self::Lcreate { qid, io_unit } => {
                w.qid(*qid);
                w.u32(*io_unit);
            }
            Self::Symlink { qid } | Self::Mkdir { qid } | Self::Attach { qid } => w.qid(*qid),
            Self::Readlink { target } => w.string(target),
            Self::Getattr(a) => {
                w.u64(a.valid);
                w.qid(a.qid);
                w.u32(a.mode);
                w.u32(a.uid);
                w.u32(a.gid);
                for value in [a.nlink, a.rdev, a.size, a.blksize, a.blocks] {
                    w.u64(value);
                }
                for time in [a.atime, a.mtime, a.ctime, a.btime] {
                    w.time(time);
                }
                w.u64(a.generation);
                w.u64(a.data_version);
            }
            Self::Readdir { data } | Self::Read { data } => w.data(data),
            Self::Version { msize, version } => {
                w.u32(*msize);
                w.string(version);
            }
            Self::Walk { qids } => {
                w.u16(qids.len() as u16);
                qids.iter().for_each(|qid| w.qid(*qid));
            }
            Self::Write { count } => w.u32(*count),
            Self::Setattr | Self::Fsync | Self::Link | Self::Renameat | Self::Unlinkat | Self::Clunk => {}
        }
        w.finish()
    }
}

impl<'a> Reply<'a> {
    /// Reads a whole message; returns its tag too. Bytes behind the known fields are let pass: a later server
    /// may know more of them.
    pub fn decode(bytes: &'a [u8]) -> Result<(u16, Self), CodecError> {
        let (kind, tag, mut r) = Reader::message(bytes)?;
        if kind == kind::ERROR {
            return Ok((tag, Self::Error { number: r.u32()? }));
        }
        let reply = match kind.wrapping_sub(1) {
            kind::STATFS => Self::Statfs(FsNumbers {
                magic: r.u32()?,
                block_size: r.u32()?,
                blocks: r.u64()?,
                blocks_free: r.u64()?,
                blocks_available: r.u64()?,
                files: r.u64()?,
                files_free: r.u64()?,
                fsid: r.u64()?,
                name_max: r.u32()?,
            }),
            kind::LOPEN => Self::Lopen { qid: r.qid()?, io_unit: r.u32()? },
            kind::LCREATE => Self::Lcreate { qid: r.qid()?, io_unit: r.u32()? },
            kind::SYMLINK => Self::Symlink { qid: r.qid()? },
            kind::READLINK => Self::Readlink { target: r.string()? },
            kind::GETATTR => Self::Getattr(Attributes {
                valid: r.u64()?,
                qid: r.qid()?,
                mode: r.u32()?,
                uid: r.u32()?,
                gid: r.u32()?,
                nlink: r.u64()?,
                rdev: r.u64()?,
                size: r.u64()?,
                blksize: r.u64()?,
                blocks: r.u64()?,
                atime: r.time()?,
                mtime: r.time()?,
                ctime: r.time()?,
                btime: r.time()?,
                generation: r.u64()?,
                data_version: r.u64()?,
            }),
            kind::SETATTR => Self::Setattr,
            kind::READDIR => Self::Readdir { data: r.data()? },
            kind::FSYNC => Self::Fsync,
            kind::LINK => Self::Link,
            kind::MKDIR => Self::Mkdir { qid: r.qid()? },
            kind::RENAMEAT => Self::Renameat,
            kind::UNLINKAT => Self::Unlinkat,
            kind::VERSION => Self::Version { msize: r.u32()?, version: r.string()? },
            kind::ATTACH => Self::Attach { qid: r.qid()? },
            kind::WALK => {
                let count = usize::from(r.u16()?);
                if count > MAX_WALK {
                    return Err(CodecError::Malformed);
                }
                Self::Walk { qids: (0..count).map(|_| r.qid()).collect::<Result<_, _>>()? }
            }
            kind::READ => Self::Read { data: r.data()? },
            kind::WRITE => Self::Write { count: r.u32()? },
            kind::CLUNK => Self::Clunk,
            _ => return Err(CodecError::Malformed),
        };
        Ok((tag, reply))
    }
}
