// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Who sends a message, or is at the other end of a connection (`struct ucred`).

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::process::Process;
use crate::{Errno, Result};

/// What Linux shows for a user or group that is not known (`overflowuid`).
const UNKNOWN: u32 = 65534;

/// A process, its user and its group.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub(crate) struct Ids {
    pid: u32,
    uid: u32,
    gid: u32,
}

impl Ids {
    /// Nobody asked when the message was sent.
    pub(super) const NOT_ASKED_FOR: Self = Self { pid: 0, uid: UNKNOWN, gid: UNKNOWN };
    /// Of a socket without another end.
    pub(super) const NOBODY: Self = Self { pid: 0, uid: u32::MAX, gid: u32::MAX };

    /// By whose rights a process acts: what the other end of a connection is told of it.
    pub(crate) fn acting(process: &Process) -> Self {
        let (uid, gid) = process.credentials.effective();
        Self { pid: process.pid(), uid, gid }
    }

    /// Whose process it is: what comes with its messages.
    pub(super) fn sending(process: &Process) -> Self {
        let (uid, gid) = (process.credentials.user().real, process.credentials.group().real);
        Self { pid: process.pid(), uid, gid }
    }

    /// `EPERM` unless a process may say this of itself: nothing but the truth, if it is not the superuser's.
    pub(crate) fn check(&self, process: &Process) -> Result<()> {
        let (user, group) = (process.credentials.user(), process.credentials.group());
        let is_own = [user.real, user.effective, user.saved].contains(&self.uid)
            && [group.real, group.effective, group.saved].contains(&self.gid);
        let may = self.pid == process.pid() && (is_own || user.effective == 0);
        if may { Ok(()) } else { Err(Errno::EPERM) }
    }
}
