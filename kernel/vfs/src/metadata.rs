// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What `stat`, `statx`, `statfs` and `chmod` and its relatives speak about.
//!
//! [`Metadata`] carries the values of `struct stat` with nanosecond times, [`SetAttr`] the changes one call asks
//! for, [`StatFs`] the numbers of a whole file system.

use crate::inode::{InodeId, Owner};

/// A point in time: seconds since 1970 and nanoseconds within the second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timespec {
    /// Seconds since 1970-01-01 00:00 UTC.
    pub sec: i64,
    /// Nanoseconds, 0 to 999,999,999.
    pub nsec: u32,
}

impl Timespec {
    /// The time now, by the machine's real-time clock.
    pub fn now() -> Self {
        Self::from_ns(hadal_time::realtime_ns())
    }

    /// Converts nanoseconds since 1970.
    pub const fn from_ns(ns: i64) -> Self {
        Self { sec: ns.div_euclid(1_000_000_000), nsec: ns.rem_euclid(1_000_000_000) as u32 }
    }
}

/// The type of an inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    Regular,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A character device.
    CharDevice,
    /// A block device.
    BlockDevice,
    /// A named or anonymous pipe.
    Fifo,
    /// A socket.
    Socket,
}

/// The bits of a mode that hold the file type (`S_IFMT`).
pub const MODE_TYPE_MASK: u32 = 0o170000;
/// The bits of a mode that `chmod` may change.
pub const MODE_PERMISSIONS: u32 = 0o7777;
/// The sticky bit: entries of such a directory are removed by their owners only.
pub const MODE_STICKY: u32 = 0o1000;
/// The set-group-id bit: entries of such a directory inherit its group.
pub const MODE_SET_GID: u32 = 0o2000;
/// The set-user-id bit.
pub const MODE_SET_UID: u32 = 0o4000;

impl FileKind {
    /// The type bits of a mode (`S_IFREG` and so on).
    pub const fn mode_bits(self) -> u32 {
        match self {
            Self::Fifo => 0o010000,
            Self::CharDevice => 0o020000,
            Self::Directory => 0o040000,
            Self::BlockDevice => 0o060000,
            Self::Regular => 0o100000,
            Self::Symlink => 0o120000,
            Self::Socket => 0o140000,
        }
    }

    /// The type a mode names; unknown type bits count as a regular file.
    pub const fn from_mode(mode: u32) -> Self {
        match mode & MODE_TYPE_MASK {
            0o010000 => Self::Fifo,
            0o020000 => Self::CharDevice,
            0o040000 => Self::Directory,
            0o060000 => Self::BlockDevice,
            0o120000 => Self::Symlink,
            0o140000 => Self::Socket,
            _ => Self::Regular,
        }
    }

    /// The `d_type` value of a directory entry (`DT_REG` and so on).
    pub const fn dirent_type(self) -> u8 {
        (self.mode_bits() >> 12) as u8
    }

    /// The type a `d_type` value names; `None` for `DT_UNKNOWN` and values Linux does not use.
    pub const fn from_dirent_type(value: u8) -> Option<Self> {
        match value {
            1 | 2 | 4 | 6 | 8 | 10 | 12 => Some(Self::from_mode((value as u32) << 12)),
            _ => None,
        }
    }
}

/// The attributes of an inode, as `stat` reports them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// Device of the file system.
    pub dev: u64,
    /// Inode number, unique within `dev`.
    pub ino: u64,
    /// Type and permission bits.
    pub mode: u32,
    /// Number of names.
    pub nlink: u64,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Device a device node stands for, in the encoding of `st_rdev`.
    pub rdev: u64,
    /// Length in bytes.
    pub size: u64,
    /// Preferred unit of input and output in bytes.
    pub blksize: u64,
    /// Storage in use, in units of 512 bytes.
    pub blocks: u64,
    /// Time of the last read.
    pub atime: Timespec,
    /// Time of the last change of the content.
    pub mtime: Timespec,
    /// Time of the last change of the attributes.
    pub ctime: Timespec,
}

impl Metadata {
    /// Those of an inode of `mode` that has one name and no storage, made by `owner` at `created` and not
    /// changed since.
    pub const fn without_storage(id: InodeId, mode: u32, owner: Owner, created: Timespec) -> Self {
        Self {
            dev: id.dev,
            ino: id.ino,
            mode,
            nlink: 1,
            uid: owner.uid,
            gid: owner.gid,
            rdev: 0,
            size: 0,
            blksize: 4096,
            blocks: 0,
            atime: created,
            mtime: created,
            ctime: created,
        }
    }

    /// The type of the inode.
    pub const fn kind(&self) -> FileKind {
        FileKind::from_mode(self.mode)
    }

    /// Makes a change to an inode without storage: the length stays.
    pub fn change(&mut self, change: &SetAttr) {
        let now = Timespec::now();
        let time = |set: SetTime| match set {
            SetTime::Now => now,
            SetTime::At(time) => time,
        };
        if let Some(mode) = change.mode {
            self.mode = self.mode & MODE_TYPE_MASK | mode & MODE_PERMISSIONS;
        }
        self.uid = change.uid.unwrap_or(self.uid);
        self.gid = change.gid.unwrap_or(self.gid);
        self.atime = change.atime.map_or(self.atime, time);
        self.mtime = change.mtime.map_or(self.mtime, time);
        self.ctime = now;
    }
}

/// A new value for a time stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetTime {
    /// The time of the change.
    Now,
    /// The given time.
    At(Timespec),
}

/// Changes to attributes; `None` leaves a value as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SetAttr {
    /// New permission bits (type bits are ignored).
    pub mode: Option<u32>,
    /// New owner.
    pub uid: Option<u32>,
    /// New group.
    pub gid: Option<u32>,
    /// New length in bytes: shortens, or grows with zeros.
    pub size: Option<u64>,
    /// New time of the last read.
    pub atime: Option<SetTime>,
    /// New time of the last change of the content.
    pub mtime: Option<SetTime>,
}

impl SetAttr {
    /// A change of the length only.
    pub fn size(size: u64) -> Self {
        Self { size: Some(size), ..Self::default() }
    }

    /// A change of the permission bits only.
    pub fn mode(mode: u32) -> Self {
        Self { mode: Some(mode), ..Self::default() }
    }
}

/// The numbers of a file system, as `statfs` reports them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatFs {
    /// Magic number of the file system type (`f_type`).
    pub magic: u64,
    /// Unit of the block counts in bytes.
    pub block_size: u64,
    /// All blocks.
    pub blocks: u64,
    /// Free blocks.
    pub blocks_free: u64,
    /// Blocks an ordinary user may still take.
    pub blocks_available: u64,
    /// All inodes.
    pub files: u64,
    /// Free inodes.
    pub files_free: u64,
    /// Identity of the file system.
    pub fsid: u64,
    /// Longest name in bytes.
    pub name_max: u64,
}

/// Packs major and minor number the way `st_dev` and `st_rdev` hold them.
pub const fn make_dev(major: u32, minor: u32) -> u64 {
    let (major, minor) = (major as u64, minor as u64);
    ((major & 0xffff_f000) << 32) | ((major & 0xfff) << 8) | ((minor & 0xffff_ff00) << 12) | (minor & 0xff)
}

/// The major number of a device.
pub const fn dev_major(dev: u64) -> u32 {
    (((dev >> 32) & 0xffff_f000) | ((dev >> 8) & 0xfff)) as u32
}

/// The minor number of a device.
pub const fn dev_minor(dev: u64) -> u32 {
    (((dev >> 12) & 0xffff_ff00) | (dev & 0xff)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_numbers_round_trip() {
        assert_eq!(make_dev(1, 3), 0x103);
        for (major, minor) in [(0, 0), (1, 9), (0xfff, 0xff), (0x1234_5678, 0x9abc_def0)] {
            let dev = make_dev(major, minor);
            assert_eq!((dev_major(dev), dev_minor(dev)), (major, minor));
        }
    }

    #[test]
    fn kinds_map_to_mode_and_dirent() {
        for kind in [
            FileKind::Regular,
            FileKind::Directory,
            FileKind::Symlink,
            FileKind::CharDevice,
            FileKind::BlockDevice,
            FileKind::Fifo,
            FileKind::Socket,
        ] {
            assert_eq!(FileKind::from_mode(kind.mode_bits() | 0o644), kind);
            assert_eq!(FileKind::from_dirent_type(kind.dirent_type()), Some(kind));
        }
        assert_eq!(FileKind::from_dirent_type(0), None);
    }

    #[test]
    fn times_before_1970_have_positive_nanoseconds() {
        assert_eq!(Timespec::from_ns(-1), Timespec { sec: -1, nsec: 999_999_999 });
    }
}
