// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Unpacks an initramfs: a cpio archive in the "newc" format (magic `070701`, or `070702` with checksums, which
//! are not compared).
//!
//! Each entry is a header of 110 characters in hexadecimal, the name with a zero, and the content, both padded
//! to 4 bytes. Entries that share an inode number are names of one file. Regular files, directories and symbolic
//! links are unpacked; device nodes, pipes and sockets are passed over.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use crate::errno::Errno;
use crate::flags::OpenFlags;
use crate::inode::{Inode, Owner};
use crate::metadata::{FileKind, MODE_PERMISSIONS, SetAttr, SetTime, Timespec};

/// Why an archive could not be unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpioError {
    /// The bytes at this offset are no entry, or the archive ends within it.
    Malformed {
        /// Offset of the entry in bytes.
        offset: usize,
    },
    /// The file system refused an entry.
    Refused {
        /// Offset of the entry in bytes.
        offset: usize,
        /// What it said.
        error: Errno,
    },
}

impl fmt::Display for CpioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed { offset } => write!(f, "no cpio entry at offset {offset} of the archive"),
            Self::Refused { offset, error } => {
                write!(f, "cannot unpack the cpio entry at offset {offset}: {error}")
            }
        }
    }
}

impl core::error::Error for CpioError {}

const HEADER_LEN: usize = 110;

/// One entry of an archive.
struct Entry<'a> {
    name: &'a [u8],
    data: &'a [u8],
    /// Major and minor device and inode number: what names of one file have in common.
    identity: (u32, u32, u32),
    mode: u32,
    owner: Owner,
    links: u32,
    mtime: u32,
    /// Where the next entry starts.
    end: usize,
}

/// Unpacks an archive below `root`; returns the number of entries. Directories that the archive does not name are
/// made with mode 0755.
pub fn unpack(archive: &[u8], root: &Arc<dyn Inode>) -> Result<usize, CpioError> {
    let mut offset = 0;
    let mut count = 0;
    let mut linked = BTreeMap::new();
    loop {
        let entry = parse(archive, offset).ok_or(CpioError::Malformed { offset })?;
        if entry.name == b"TRAILER!!!" {
            return Ok(count);
        }
        place(&entry, root, &mut linked).map_err(|error| CpioError::Refused { offset, error })?;
        offset = entry.end;
        count += 1;
    }
}

fn parse(archive: &[u8], offset: usize) -> Option<Entry<'_>> {
    let header = archive.get(offset..)?.get(..HEADER_LEN)?;
    if !matches!(&header[..6], b"070701" | b"070702") {
        return None;
    }
    let field = |index: usize| -> Option<u32> {
        let digits = &header[6 + 8 * index..][..8];
        digits.iter().try_fold(0, |value, &digit| Some(value << 4 | char::from(digit).to_digit(16)?))
    };
    let name_start = offset + HEADER_LEN;
    let name_end = name_start.checked_add(field(11)? as usize)?;
    let (&0, name) = archive.get(name_start..name_end)?.split_last()? else { return None };
    let data_start = name_end.checked_next_multiple_of(4)?;
    let data_end = data_start.checked_add(field(6)? as usize)?;
    Some(Entry {
        name,
        data: archive.get(data_start..data_end)?,
        identity: (field(7)?, field(8)?, field(0)?),
        mode: field(1)?,
        owner: Owner { uid: field(2)?, gid: field(3)? },
        links: field(4)?,
        mtime: field(5)?,
        end: data_end.checked_next_multiple_of(4)?,
    })
}

fn place(
    entry: &Entry<'_>,
    root: &Arc<dyn Inode>,
    linked: &mut BTreeMap<(u32, u32, u32), Arc<dyn Inode>>,
) -> Result<(), Errno> {
    let mut names: Vec<&[u8]> =
        entry.name.split(|&byte| byte == b'/').filter(|name| !matches!(*name, b"" | b".")).collect();
    if names.contains(&&b".."[..]) {
        return Err(Errno::EINVAL);
    }
    let mode = entry.mode & MODE_PERMISSIONS;
    let Some(name) = names.pop() else {
        // The entry "." gives the root its mode.
        return root.set_attr(&SetAttr::mode(mode));
    };
    let mut parent = root.clone();
    for name in names {
        parent = match parent.lookup(name) {
            Err(Errno::ENOENT) => parent.mkdir(name, 0o755, Owner::default())?,
            found => found?,
        };
    }
    match FileKind::from_mode(entry.mode) {
        FileKind::Directory => match parent.mkdir(name, mode, entry.owner) {
            Err(Errno::EEXIST) => parent.lookup(name)?.set_attr(&SetAttr::mode(mode)),
            made => made.map(drop),
        },
        FileKind::Symlink => parent.symlink(name, entry.data, entry.owner).map(drop),
        FileKind::Regular => {
            let known = if entry.links > 1 { linked.get(&entry.identity) } else { None };
            let inode = match known {
                Some(inode) => {
                    parent.link(name, inode)?;
                    inode.clone()
                }
                None => parent.create(name, mode, entry.owner, OpenFlags::WRITE_ONLY)?.inode,
            };
            // The content comes with one of the names, usually the last.
            write_all(&inode, entry.data)?;
            let mtime = Timespec { sec: i64::from(entry.mtime), nsec: 0 };
            inode.set_attr(&SetAttr { mtime: Some(SetTime::At(mtime)), ..SetAttr::default() })?;
            linked.insert(entry.identity, inode);
            Ok(())
        }
        _ => Ok(()),
    }
}

fn write_all(inode: &Arc<dyn Inode>, data: &[u8]) -> Result<(), Errno> {
    let file = inode.clone().open(OpenFlags::WRITE_ONLY)?;
    let mut done = 0;
    while done < data.len() {
        match file.write_at(done as u64, &data[done..])? {
            0 => return Err(Errno::EIO),
            count => done += count,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use proptest::prelude::*;

    fn entry(name: &str, ino: u32, mode: u32, links: u32, data: &[u8]) -> Vec<u8> {
        let fields = [ino, mode, 0, 0, links, 1000, data.len() as u32, 0, 0, 0, 0, name.len() as u32 + 1, 0];
        let mut bytes = b"070701".to_vec();
        fields.iter().for_each(|field| bytes.extend(format!("{field:08x}").into_bytes()));
        bytes.extend(name.bytes());
        bytes.push(0);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes.extend(data);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn archive(entries: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = entries.concat();
        bytes.extend(entry("TRAILER!!!", 0, 0, 1, b""));
        bytes
    }

    fn read(inode: &Arc<dyn Inode>) -> Vec<u8> {
        let file = inode.clone().open(OpenFlags::read_only()).unwrap();
        let mut buffer = vec![0; 100];
        let count = file.read_at(0, &mut buffer).unwrap();
        buffer.truncate(count);
        buffer
    }

    #[test]
    fn a_tree_comes_out_as_it_went_in() {
        let root = testing::tmpfs(1 << 20);
        let bytes = archive(&[
            entry(".", 1, 0o40700, 2, b""),
            entry("bin", 2, 0o40755, 2, b""),
            entry("bin/a", 3, 0o100755, 1, b"hello"),
            entry("./bin/l", 4, 0o120777, 1, b"a"),
            entry("deep/er/x", 5, 0o100600, 2, b""),
            entry("y", 5, 0o100600, 2, b"shared"),
            entry("dev0", 6, 0o020644, 1, b""),
        ]);
        assert_eq!(unpack(&bytes, &root), Ok(7));
        let bin = root.lookup(b"bin").unwrap();
        let a = bin.lookup(b"a").unwrap();
        assert_eq!(read(&a), b"hello");
        let metadata = a.metadata().unwrap();
        assert_eq!((metadata.mode, metadata.mtime.sec), (0o100755, 1000));
        assert_eq!(bin.lookup(b"l").unwrap().readlink().unwrap(), b"a");
        let x = root.lookup(b"deep").unwrap().lookup(b"er").unwrap().lookup(b"x").unwrap();
        assert_eq!(read(&x), b"shared");
        assert_eq!(x.identity(), root.lookup(b"y").unwrap().identity());
        assert_eq!(x.metadata().unwrap().nlink, 2);
        assert_eq!(root.metadata().unwrap().mode, 0o40700);
        assert_eq!(root.lookup(b"dev0").err(), Some(Errno::ENOENT));
    }

    #[test]
    fn broken_archives_are_refused() {
        let root = testing::tmpfs(1 << 20);
        assert_eq!(unpack(b"", &root), Err(CpioError::Malformed { offset: 0 }));
        let good = archive(&[entry("a", 3, 0o100644, 1, b"hello")]);
        for len in 0..good.len() - 4 {
            assert!(unpack(&good[..len], &testing::tmpfs(1 << 20)).is_err(), "{len}");
        }
        let outside = archive(&[entry("../a", 3, 0o100644, 1, b"")]);
        assert_eq!(unpack(&outside, &root), Err(CpioError::Refused { offset: 0, error: Errno::EINVAL }));
        let large = archive(&[entry("a", 3, 0o100644, 1, &[1; 10000])]);
        assert!(matches!(unpack(&large, &testing::tmpfs(4096)), Err(CpioError::Refused { .. })));
    }

    proptest! {
        #[test]
        fn any_bytes_end_in_a_result(at in 0usize..250, value: u8, tail: Vec<u8>) {
            let mut bytes = archive(&[entry("a", 3, 0o100644, 1, b"hello")]);
            let at = at % bytes.len();
            bytes[at] = value;
            bytes.extend(tail);
            let _ = unpack(&bytes, &testing::tmpfs(1 << 20));
        }
    }
}
