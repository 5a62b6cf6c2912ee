// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Requests about standard streams that are regular files on the host.
//!
//! The position of such a file stays where it is: with the host's open file, which the shell that opened it, and a second
//! descriptor of the program, may share. So requests name the descriptor, and the host does to it what the program asked
//! for. Plain output goes by [`crate::control::GuestMessage::Output`]; all of it is done in the order of the channel.

use alloc::vec::Vec;

use postcard::fixint;
use serde::{Deserialize, Serialize};

/// Most bytes that one request moves.
pub const MAX_BYTES: u32 = 256 << 10;

/// What `lseek` counts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Whence {
    /// The start of the file.
    Start,
    /// The present position.
    Current,
    /// The end of the file.
    End,
    /// The next data.
    Data,
    /// The next hole.
    Hole,
}

/// What to do to a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operation {
    /// Read up to so many bytes at the position; answered by `Bytes`.
    Read(u32),
    /// Write at the position; answered by `Number`, of bytes.
    Write(Vec<u8>),
    /// Read up to `len` bytes elsewhere; answered by `Bytes`.
    ReadAt {
        /// Where.
        offset: u64,
        /// Most bytes.
        len: u32,
    },
    /// Write elsewhere; answered by `Number`, of bytes.
    WriteAt {
        /// Where.
        offset: u64,
        /// What.
        data: Vec<u8>,
    },
    /// Move the position; answered by `Number`, the new one.
    Seek {
        /// From where.
        whence: Whence,
        /// By how much.
        offset: i64,
    },
    /// Tell the attributes.
    Attributes,
    /// Set the length; answered by `Number`.
    Truncate(u64),
    /// Bring data, or data and attributes, to stable storage; answered by `Number`.
    Sync {
        /// Data is enough.
        data_only: bool,
    },
    /// Turn `O_APPEND` on or off; answered by `Number`.
    SetAppend(bool),
}

/// A request about one of the descriptors 0 to 2.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Which descriptor.
    pub descriptor: u8,
    /// What to do.
    pub operation: Operation,
}

/// A time since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Time {
    /// Seconds.
    #[serde(with = "fixint::le")]
    pub sec: i64,
    /// Nanoseconds.
    #[serde(with = "fixint::le")]
    pub nsec: u32,
}

/// Attributes of a file, as `stat` has them. What differs from one run to the next takes as many bytes in each: reading it
/// is part of what a counting machine counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attributes {
    /// Number of the inode on the host.
    #[serde(with = "fixint::le")]
    pub ino: u64,
    /// Type and permissions.
    pub mode: u32,
    /// Number of names.
    pub nlink: u64,
    /// User.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Length in bytes.
    #[serde(with = "fixint::le")]
    pub size: u64,
    /// Preferred unit of transfers in bytes.
    pub blksize: u64,
    /// Storage in units of 512 bytes.
    #[serde(with = "fixint::le")]
    pub blocks: u64,
    /// Last read.
    pub atime: Time,
    /// Last change of content.
    pub mtime: Time,
    /// Last change of attributes.
    pub ctime: Time,
}

/// The answer to a [`Request`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// What was read; nothing at the end of the file.
    Bytes(Vec<u8>),
    /// A position, a number of bytes, or 0 for what has no result.
    Number(u64),
    /// What the file is.
    Attributes(Attributes),
    /// Linux number of the error.
    Failed(u16),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_take_as_many_bytes_in_each_run() {
        let len = |number: u32| {
            let time = Time { sec: number.into(), nsec: number };
            let number = u64::from(number);
            let attributes = Attributes {
                ino: number,
                size: number,
                blocks: number,
                atime: time,
                mtime: time,
                ctime: time,
                ..Attributes::default()
            };
            let bytes = postcard::to_allocvec(&attributes).unwrap();
            assert_eq!(postcard::from_bytes(&bytes), Ok(attributes));
            bytes.len()
        };
        assert_eq!(len(0), len(999_999_999));
    }
}
