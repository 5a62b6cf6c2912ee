// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The structures that `stat`, `statx` and `statfs` fill in.

use hadal_vfs::{Location, Metadata, MountFlags, StatFs, Timespec, dev_major, dev_minor};
use linux_raw_sys::general::{STATX_ATTR_MOUNT_ROOT, STATX_BASIC_STATS, STATX_MNT_ID};
use zerocopy::{Immutable, IntoBytes};

/// `struct stat`.
#[repr(C)]
#[derive(Clone, Copy, IntoBytes, Immutable)]
pub(crate) struct Stat {
    dev: u64,
    ino: u64,
    nlink: u64,
    mode: u32,
    uid: u32,
    gid: u32,
    padding: u32,
    rdev: u64,
    size: i64,
    blksize: i64,
    blocks: i64,
    atime: StatTime,
    mtime: StatTime,
    ctime: StatTime,
    unused: [i64; 3],
}

#[repr(C)]
#[derive(Clone, Copy, IntoBytes, Immutable)]
struct StatTime {
    sec: i64,
    nsec: u64,
}

const _: () = assert!(size_of::<Stat>() == 144);

impl From<Timespec> for StatTime {
    fn from(time: Timespec) -> Self {
        Self { sec: time.sec, nsec: u64::from(time.nsec) }
    }
}

impl From<&Metadata> for Stat {
    fn from(metadata: &Metadata) -> Self {
        Self {
            dev: metadata.dev,
            ino: metadata.ino,
            nlink: metadata.nlink,
            mode: metadata.mode,
            uid: metadata.uid,
            gid: metadata.gid,
            padding: 0,
            rdev: metadata.rdev,
            size: metadata.size as i64,
            blksize: metadata.blksize as i64,
            blocks: metadata.blocks as i64,
            atime: metadata.atime.into(),
            mtime: metadata.mtime.into(),
            ctime: metadata.ctime.into(),
            unused: [0; 3],
        }
    }
}

/// `struct statx`.
#[repr(C)]
#[derive(Clone, Copy, IntoBytes, Immutable)]
pub(crate) struct Statx {
    mask: u32,
    blksize: u32,
    attributes: u64,
    nlink: u32,
    uid: u32,
    gid: u32,
    mode: u16,
    padding: u16,
    ino: u64,
    size: u64,
    blocks: u64,
    attributes_mask: u64,
    atime: StatxTime,
    btime: StatxTime,
    ctime: StatxTime,
    mtime: StatxTime,
    rdev_major: u32,
    rdev_minor: u32,
    dev_major: u32,
    dev_minor: u32,
    mount_id: u64,
    /// Alignment of direct input and output, sub-volume, atomic writes: their bits in `mask` stay off.
    unknown: [u64; 13],
}

#[repr(C)]
#[derive(Clone, Copy, IntoBytes, Immutable)]
struct StatxTime {
    sec: i64,
    nsec: u32,
    reserved: i32,
}

const _: () = assert!(size_of::<Statx>() == 256);

impl From<Timespec> for StatxTime {
    fn from(time: Timespec) -> Self {
        Self { sec: time.sec, nsec: time.nsec, reserved: 0 }
    }
}

impl Statx {
    /// Fills the structure in for an inode with its place. Like Linux, it gives more than was asked for when that costs
    /// nothing, and says so in the mask.
    pub(crate) fn new(metadata: &Metadata, location: &Location) -> Self {
        let mount = location.mount();
        let at_mount_root = *mount.path == *location.path();
        Self {
            mask: STATX_BASIC_STATS | STATX_MNT_ID,
            blksize: metadata.blksize as u32,
            attributes: if at_mount_root { u64::from(STATX_ATTR_MOUNT_ROOT) } else { 0 },
            nlink: metadata.nlink as u32,
            uid: metadata.uid,
            gid: metadata.gid,
            mode: metadata.mode as u16,
            padding: 0,
            ino: metadata.ino,
            size: metadata.size,
            blocks: metadata.blocks,
            attributes_mask: u64::from(STATX_ATTR_MOUNT_ROOT),
            atime: metadata.atime.into(),
            btime: Timespec::default().into(),
            ctime: metadata.ctime.into(),
            mtime: metadata.mtime.into(),
            rdev_major: dev_major(metadata.rdev),
            rdev_minor: dev_minor(metadata.rdev),
            dev_major: dev_major(metadata.dev),
            dev_minor: dev_minor(metadata.dev),
            mount_id: u64::from(mount.id),
            unknown: [0; 13],
        }
    }
}

/// `struct statfs`.
#[repr(C)]
#[derive(Clone, Copy, IntoBytes, Immutable)]
pub(crate) struct StatfsLayout {
    kind: u64,
    block_size: u64,
    blocks: u64,
    blocks_free: u64,
    blocks_available: u64,
    files: u64,
    files_free: u64,
    fsid: u64,
    name_max: u64,
    fragment_size: u64,
    flags: u64,
    spare: [u64; 4],
}

const _: () = assert!(size_of::<StatfsLayout>() == 120);

/// The flags word holds mount options (`ST_VALID`).
const FLAGS_VALID: u64 = 0x20;

impl StatfsLayout {
    /// Fills the structure in.
    pub(crate) fn new(numbers: &StatFs, mount: MountFlags) -> Self {
        Self {
            kind: numbers.magic,
            block_size: numbers.block_size,
            blocks: numbers.blocks,
            blocks_free: numbers.blocks_free,
            blocks_available: numbers.blocks_available,
            files: numbers.files,
            files_free: numbers.files_free,
            fsid: numbers.fsid,
            name_max: numbers.name_max,
            fragment_size: numbers.block_size,
            // Mount options have the values of the `ST_*` constants.
            flags: FLAGS_VALID | u64::from(mount.bits()),
            spare: [0; 4],
        }
    }
}

#[cfg(test)]
mod tests {
    use core::mem::offset_of;

    use linux_raw_sys::general::{stat, statfs, statx};

    use super::*;

    #[test]
    fn fields_lie_where_linux_has_them() {
        assert_eq!(offset_of!(Stat, mode), offset_of!(stat, st_mode));
        assert_eq!(offset_of!(Stat, rdev), offset_of!(stat, st_rdev));
        assert_eq!(offset_of!(Stat, size), offset_of!(stat, st_size));
        assert_eq!(offset_of!(Stat, blocks), offset_of!(stat, st_blocks));
        assert_eq!(offset_of!(Stat, mtime), offset_of!(stat, st_mtime));
        assert_eq!(offset_of!(Statx, ino), offset_of!(statx, stx_ino));
        assert_eq!(offset_of!(Statx, attributes_mask), offset_of!(statx, stx_attributes_mask));
        assert_eq!(offset_of!(Statx, mtime), offset_of!(statx, stx_mtime));
        assert_eq!(offset_of!(Statx, mount_id), offset_of!(statx, stx_mnt_id));
        assert_eq!(offset_of!(StatfsLayout, name_max), offset_of!(statfs, f_namelen));
        assert_eq!(offset_of!(StatfsLayout, flags), offset_of!(statfs, f_flags));
    }

    #[test]
    fn values_arrive() {
        let time = Timespec { sec: -5, nsec: 7 };
        let metadata = Metadata {
            dev: 0x1_0000_0203,
            ino: 9,
            mode: 0o100_644,
            nlink: 2,
            uid: 3,
            gid: 4,
            rdev: 0,
            size: 1 << 40,
            blksize: 4096,
            blocks: 8,
            atime: time,
            mtime: time,
            ctime: time,
        };
        let stat = Stat::from(&metadata);
        assert_eq!(
            (stat.ino, stat.mode, stat.size, stat.mtime.sec, stat.mtime.nsec),
            (9, 0o100_644, 1 << 40, -5, 7)
        );
    }
}
