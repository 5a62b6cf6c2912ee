// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Who may use an object: its owner, its creator, their groups, or everybody, by the bits of its mode.

use hadal_vfs::Caller;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::{Errno, Result};

/// Bits of an object's mode that say who may do what.
const BITS: u32 = 0o777;
/// To read, for all three kinds of users.
pub(crate) const READ: u32 = 0o444;
/// To change.
pub(crate) const CHANGE: u32 = 0o222;
/// To execute.
pub(crate) const EXECUTE: u32 = 0o111;

/// `struct ipc64_perm`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub(crate) struct Permissions {
    pub(crate) key: i32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) creator_uid: u32,
    pub(crate) creator_gid: u32,
    /// With bits that only the kind of object knows.
    pub(crate) mode: u32,
    pub(crate) sequence: u16,
    padding: [u16; 3],
    unused: [u64; 2],
}

impl Permissions {
    /// Those of an object that a caller makes with the flags of a call.
    pub(crate) fn new(key: i32, caller: &Caller<'_>, flags: i32) -> Self {
        Self {
            key,
            uid: caller.uid,
            gid: caller.gid,
            creator_uid: caller.uid,
            creator_gid: caller.gid,
            mode: flags as u32 & BITS,
            ..Self::default()
        }
    }

    /// The same of an object whose sequence number is known.
    pub(crate) fn at(self, sequence: u16) -> Self {
        Self { sequence, ..self }
    }

    fn is_owner(&self, caller: &Caller<'_>) -> bool {
        caller.uid == self.uid || caller.uid == self.creator_uid
    }

    /// `EACCES` unless the caller may do what the bits say, which may be those of any kind of user.
    pub(crate) fn check(&self, caller: &Caller<'_>, wanted: u32) -> Result<()> {
        let wanted = (wanted >> 6 | wanted >> 3 | wanted) & 0o7;
        let in_group = |gid| caller.gid == gid || caller.groups.contains(&gid);
        let shift = if self.is_owner(caller) {
            6
        } else if in_group(self.creator_gid) || in_group(self.gid) {
            3
        } else {
            0
        };
        if wanted & !(self.mode >> shift) == 0 || caller.uid == 0 { Ok(()) } else { Err(Errno::EACCES) }
    }

    /// `EPERM` unless the caller may change the object itself and remove it.
    pub(crate) fn check_owner(&self, caller: &Caller<'_>) -> Result<()> {
        if self.is_owner(caller) || caller.uid == 0 { Ok(()) } else { Err(Errno::EPERM) }
    }

    /// `IPC_SET`: owner, group and mode become those of another object. `EINVAL` for ids that are none.
    pub(crate) fn change(&mut self, wanted: &Self) -> Result<()> {
        const NONE: u32 = u32::MAX;
        if wanted.uid == NONE || wanted.gid == NONE {
            return Err(Errno::EINVAL);
        }
        (self.uid, self.gid) = (wanted.uid, wanted.gid);
        self.mode = self.mode & !BITS | wanted.mode & BITS;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(uid: u32, gid: u32, groups: &[u32]) -> Caller<'_> {
        Caller { uid, gid, groups, umask: 0, is_guest: false }
    }

    #[test]
    fn the_first_kind_of_user_that_fits_decides() {
        let mut permissions = Permissions::new(7, &caller(1, 2, &[]), 0o1046);
        assert_eq!(permissions.mode, 0o046);
        assert_eq!(permissions.check(&caller(1, 2, &[]), READ), Err(Errno::EACCES), "the owner may not");
        assert_eq!(permissions.check(&caller(3, 2, &[]), READ), Ok(()));
        assert_eq!(permissions.check(&caller(3, 4, &[2]), CHANGE), Err(Errno::EACCES));
        assert_eq!(permissions.check(&caller(3, 4, &[]), READ | CHANGE), Ok(()));
        assert_eq!(permissions.check(&caller(0, 0, &[]), READ | CHANGE | 0o111), Ok(()));
        let wanted = Permissions { uid: 5, gid: 6, mode: 0o1600, key: 9, ..permissions };
        assert_eq!(permissions.change(&wanted), Ok(()));
        assert_eq!((permissions.key, permissions.mode, permissions.creator_uid), (7, 0o600, 1));
        assert_eq!(permissions.check(&caller(5, 0, &[]), READ), Ok(()));
        assert_eq!(permissions.check(&caller(1, 0, &[]), CHANGE), Ok(()), "the creator, too");
        assert_eq!(permissions.check_owner(&caller(6, 2, &[])), Err(Errno::EPERM));
        assert_eq!(permissions.check_owner(&caller(1, 0, &[])), Ok(()));
        assert_eq!(permissions.change(&Permissions { uid: u32::MAX, ..wanted }), Err(Errno::EINVAL));
    }
}
