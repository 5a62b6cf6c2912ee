// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Who a program runs as: real, effective and saved ids of user and group, and how they change (credentials(7)).
//!
//! The host knows the program by the ids that it started with. With others the kernel checks mode bits itself, on shares of the
//! host, too (`Caller::is_guest`).

use alloc::vec::Vec;
use core::sync::atomic::{AtomicU32, Ordering};

use hadal_hal::sync::SpinLock;

use crate::{Errno, Result};

/// Stands for "leave it as it is" in the calls that set several ids.
const KEEP: u32 = u32::MAX;

/// Real, effective and saved id of a user or a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ids {
    /// Who started the program.
    pub real: u32,
    /// By whose rights it acts.
    pub effective: u32,
    /// What the effective id may become again.
    pub saved: u32,
}

impl Ids {
    /// All three the same.
    fn all(id: u32) -> Self {
        Self { real: id, effective: id, saved: id }
    }

    fn has(&self, id: u32) -> bool {
        [self.real, self.effective, self.saved].contains(&id)
    }

    /// `setuid`, `setgid`.
    fn set(self, id: u32, privileged: bool) -> Result<Self> {
        match id {
            KEEP => Err(Errno::EINVAL),
            _ if privileged => Ok(Self::all(id)),
            _ if id == self.real || id == self.saved => Ok(Self { effective: id, ..self }),
            _ => Err(Errno::EPERM),
        }
    }

    /// `setreuid`, `setregid`.
    fn set_two(self, [real, effective]: [u32; 2], privileged: bool) -> Result<Self> {
        let real_fits = real == KEEP || real == self.real || real == self.effective;
        let effective_fits = effective == KEEP || self.has(effective);
        let allowed = privileged || real_fits && effective_fits;
        if !allowed {
            return Err(Errno::EPERM);
        }
        let mut ids = self;
        keep_or(&mut ids.real, real);
        keep_or(&mut ids.effective, effective);
        if real != KEEP || effective != KEEP && effective != self.real {
            ids.saved = ids.effective;
        }
        Ok(ids)
    }

    /// `setresuid`, `setresgid`.
    fn set_three(self, wanted: [u32; 3], privileged: bool) -> Result<Self> {
        if !privileged && !wanted.iter().all(|&id| id == KEEP || self.has(id)) {
            return Err(Errno::EPERM);
        }
        let mut ids = self;
        let [real, effective, saved] = wanted;
        keep_or(&mut ids.real, real);
        keep_or(&mut ids.effective, effective);
        keep_or(&mut ids.saved, saved);
        Ok(ids)
    }
}

fn keep_or(id: &mut u32, wanted: u32) {
    if wanted != KEEP {
        *id = wanted;
    }
}

/// A change of ids, as one of the system calls asks for it; -1 leaves one of several as it is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change {
    /// `setuid`, `setgid`.
    One(u32),
    /// `setreuid`, `setregid`: real and effective.
    Two([u32; 2]),
    /// `setresuid`, `setresgid`: real, effective and saved.
    Three([u32; 3]),
}

/// User and groups of a process. Linux's are those of a thread, and C libraries change them in all threads.
pub struct Credentials {
    user: SpinLock<Ids>,
    group: SpinLock<Ids>,
    /// The effective ids of both, which every path asks for. They change with the ids, under their locks.
    effective: [AtomicU32; 2],
    start: (u32, u32),
    /// Supplementary groups.
    pub groups: Vec<u32>,
}

impl Clone for Credentials {
    fn clone(&self) -> Self {
        let copy = Self::new(self.start.0, self.start.1, self.groups.clone());
        copy.take_over(self);
        copy
    }
}

impl Credentials {
    /// Those of a program that starts.
    pub fn new(uid: u32, gid: u32, groups: Vec<u32>) -> Self {
        let [user, group] = [uid, gid].map(|id| SpinLock::new(Ids::all(id)));
        Self { user, group, effective: [uid, gid].map(AtomicU32::new), start: (uid, gid), groups }
    }

    /// Ids of the user.
    pub fn user(&self) -> Ids {
        *self.user.lock()
    }

    /// Ids of the group.
    pub fn group(&self) -> Ids {
        *self.group.lock()
    }

    /// Effective ids of user and group.
    #[inline]
    pub fn effective(&self) -> (u32, u32) {
        let [user, group] = &self.effective;
        (user.load(Ordering::Relaxed), group.load(Ordering::Relaxed))
    }

    /// Whether the program acts as the superuser.
    pub fn is_privileged(&self) -> bool {
        self.effective().0 == 0
    }

    /// Becomes those of another process of the same start.
    pub(crate) fn take_over(&self, other: &Self) {
        *self.user.lock() = other.user();
        *self.group.lock() = other.group();
        let (user, group) = other.effective();
        self.effective[0].store(user, Ordering::Relaxed);
        self.effective[1].store(group, Ordering::Relaxed);
    }

    /// `execve`: what is in effect can be come back to.
    pub(crate) fn keep_effective(&self) {
        for ids in [&self.user, &self.group] {
            let mut ids = ids.lock();
            ids.saved = ids.effective;
        }
    }

    /// Whether a user and a group are not those the program started with, which the host knows it by.
    pub fn are_new(&self, uid: u32, gid: u32) -> bool {
        (uid, gid) != self.start
    }

    pub(crate) fn change_user(&self, change: Change) -> Result<()> {
        let mut ids = self.user.lock();
        *ids = changed(*ids, change, ids.effective == 0)?;
        self.effective[0].store(ids.effective, Ordering::Relaxed);
        Ok(())
    }

    pub(crate) fn change_group(&self, change: Change) -> Result<()> {
        let privileged = self.is_privileged();
        let mut ids = self.group.lock();
        *ids = changed(*ids, change, privileged)?;
        self.effective[1].store(ids.effective, Ordering::Relaxed);
        Ok(())
    }
}

fn changed(ids: Ids, change: Change, privileged: bool) -> Result<Ids> {
    match change {
        Change::One(id) => ids.set(id, privileged),
        Change::Two(wanted) => ids.set_two(wanted, privileged),
        Change::Three(wanted) => ids.set_three(wanted, privileged),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(credentials: &Credentials) -> [u32; 3] {
        let ids = credentials.user();
        [ids.real, ids.effective, ids.saved]
    }

    #[test]
    fn the_superuser_can_come_back_from_an_effective_id_only() {
        let credentials = Credentials::new(0, 0, Vec::new());
        assert_eq!(credentials.change_user(Change::Three([KEEP, 5, KEEP])), Ok(()));
        assert_eq!((user(&credentials), credentials.is_privileged()), ([0, 5, 0], false));
        assert_eq!(credentials.change_group(Change::One(5)), Err(Errno::EPERM));
        assert_eq!(credentials.change_user(Change::One(0)), Ok(()));
        assert_eq!((user(&credentials), credentials.is_privileged()), ([0, 0, 0], true));
        assert_eq!(credentials.change_user(Change::One(KEEP)), Err(Errno::EINVAL));
        assert_eq!(credentials.change_group(Change::One(7)), Ok(()));
        assert_eq!(credentials.change_user(Change::One(5)), Ok(()));
        assert_eq!(user(&credentials), [5, 5, 5]);
        assert_eq!(credentials.change_user(Change::One(0)), Err(Errno::EPERM));
        assert!(credentials.are_new(5, 0) && !credentials.are_new(0, 0));
    }

    #[test]
    fn the_effective_ids_are_those_of_both() {
        let credentials = Credentials::new(0, 7, Vec::new());
        assert_eq!(credentials.effective(), (0, 7));
        assert_eq!(credentials.change_group(Change::Two([KEEP, 9])), Ok(()));
        assert_eq!(credentials.change_user(Change::Three([KEEP, 5, KEEP])), Ok(()));
        assert_eq!(credentials.effective(), (5, 9));
        assert_eq!((credentials.user().effective, credentials.group().effective), credentials.effective());
        assert_eq!(credentials.change_user(Change::One(3)), Err(Errno::EPERM));
        assert_eq!(credentials.effective(), (5, 9));
    }

    #[test]
    fn two_ids_change_the_saved_one_as_on_linux() {
        let credentials = Credentials::new(0, 0, Vec::new());
        assert_eq!(credentials.change_user(Change::Two([KEEP, 5])), Ok(()));
        assert_eq!(user(&credentials), [0, 5, 5]);
        assert_eq!(credentials.change_user(Change::Two([5, 0])), Ok(()));
        assert_eq!(user(&credentials), [5, 0, 0]);
        let other = Credentials::new(1000, 1000, Vec::new());
        assert_eq!(other.change_user(Change::Two([KEEP, 0])), Err(Errno::EPERM));
        assert_eq!(other.change_user(Change::Three([1000, KEEP, 1000])), Ok(()));
    }
}
