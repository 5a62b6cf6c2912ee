// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Connecting a socket to one with a name.

use alloc::sync::Arc;

use hadal_vfs::{Blocking, PollEvents};

use super::ids::Ids;
use super::names::{self, Address};
use super::side::{Role, Side};
use super::{Kind, Socket};
use crate::{Errno, Result};

impl Socket {
    /// `EISCONN` or `EINVAL` if a socket with connections cannot get another end any more.
    fn check_fresh(role: Role) -> Result<()> {
        match role {
            Role::Fresh => Ok(()),
            Role::Listening => Err(Errno::EINVAL),
            Role::Connected => Err(Errno::EISCONN),
        }
    }

    /// Makes a connection to the socket at an address, which will take it some time: waits while too many others do.
    /// For datagrams this says where they go, and who alone may send some here.
    pub(crate) fn connect(&self, address: &Address, ids: Ids, blocking: Blocking) -> Result<()> {
        let other = names::find(address, self.kind)?;
        self.name_for_ids()?;
        if self.kind == Kind::Datagram {
            return self.aim_at(other);
        }
        let timeout_ns = self.options().lock().send_timeout_ns;
        Self::check_fresh(*self.side.role.lock())?;
        self.wait(blocking, timeout_ns, || self.try_connect(&other, ids).transpose())??;
        other.queue.wake_all_for(PollEvents::READABLE.changes());
        // Who polls it hears that it has another end.
        self.side.queue.wake_all();
        Ok(())
    }

    /// Who asks for the ids of others gets a name, so that they can answer.
    pub(super) fn name_for_ids(&self) -> Result<()> {
        if self.side.asks_for_ids() && self.name().is_none() { self.bind_abstract(None) } else { Ok(()) }
    }

    /// `None` while there is no room for the connection.
    fn try_connect(&self, other: &Arc<Side>, ids: Ids) -> Result<Option<()>> {
        if other.inbox.lock().closed {
            return Err(Errno::ECONNREFUSED);
        }
        let end = Self::new(self.kind)?;
        let mut backlog = other.backlog.lock();
        if !backlog.make_room(&self.side)? {
            return Ok(None);
        }
        {
            let mut role = self.side.role.lock();
            Self::check_fresh(*role)?;
            *role = Role::Connected;
        }
        *end.side.role.lock() = Role::Connected;
        // Whether who takes it will ask for ids is not known.
        end.pass_credentials(true);
        end.side.inbox.lock().is_taken = false;
        end.mate.call_once(|| self.side.clone());
        end.peer_ids.call_once(|| ids);
        if let Some(name) = other.name.get() {
            end.side.name.call_once(|| name.clone());
        }
        self.mate.call_once(|| end.side.clone());
        let listener = backlog.push(end);
        self.peer_ids.call_once(|| listener);
        Ok(Some(()))
    }

    /// Datagrams go to `other` from now on; `EPERM` if that hears somebody else.
    fn aim_at(&self, other: Arc<Side>) -> Result<()> {
        if !other.hears(&self.side) {
            return Err(Errno::EPERM);
        }
        self.change_target(Some(other));
        Ok(())
    }

    /// Datagrams go nowhere without an address (`AF_UNSPEC`).
    pub(crate) fn disconnect(&self) {
        self.change_target(None);
    }

    fn change_target(&self, other: Option<Arc<Side>>) {
        let is_same = |before: &Arc<Side>| other.as_ref().is_some_and(|other| Arc::ptr_eq(before, other));
        let mut target = self.side.target.lock();
        if target.as_ref().is_some_and(is_same) {
            return;
        }
        let before = core::mem::replace(&mut *target, other);
        drop(target);
        if let Some(before) = before {
            // What it had sent is not for this socket any more.
            let unread = self.side.inbox.lock().clear();
            drop(unread);
            if before.is_aimed_at(&self.side) {
                before.options.lock().reset = true;
            }
            before.queue.wake_all();
        }
        self.side.queue.wake_all();
    }
}
