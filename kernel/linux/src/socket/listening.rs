// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Waiting for connections, and taking them.

use alloc::collections::VecDeque;
use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;

use hadal_hal::memory::fallible::MakeRoom;
use hadal_vfs::{Blocking, PollEvents};

use super::ids::Ids;
use super::side::{Role, Side};
use super::{Kind, Socket};
use crate::{Errno, Result};

/// Most connections that may wait (`net.core.somaxconn`).
const MOST: usize = 4096;

/// Connections that wait to be taken.
pub(super) struct Backlog {
    /// So many may wait and one more; `None` when the socket does not listen.
    limit: Option<usize>,
    pending: VecDeque<Socket>,
    /// Who waits for room.
    waiting: Vec<Weak<Side>>,
    /// Who listens.
    ids: Ids,
}

impl Backlog {
    pub(super) const fn new() -> Self {
        Self { limit: None, pending: VecDeque::new(), waiting: Vec::new(), ids: Ids::NOBODY }
    }

    /// Nobody will take a connection any more. What was there is returned, to be dropped outside the lock, and who waits.
    pub(super) fn close(&mut self) -> (VecDeque<Socket>, Vec<Weak<Side>>) {
        self.limit = None;
        (core::mem::take(&mut self.pending), core::mem::take(&mut self.waiting))
    }

    /// Whether a connection waits.
    pub(super) fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Whether there is room for a connection: `ECONNREFUSED` when nobody listens. If there is none, `from` will hear of it.
    pub(super) fn make_room(&mut self, from: &Arc<Side>) -> Result<bool> {
        let limit = self.limit.ok_or(Errno::ECONNREFUSED)?;
        if self.pending.len() <= limit {
            self.pending.make_room(1)?;
            return Ok(true);
        }
        register(&mut self.waiting, from)?;
        Ok(false)
    }

    /// Adds a connection, for which there is room, and says who listens.
    pub(super) fn push(&mut self, connection: Socket) -> Ids {
        self.pending.push_back(connection);
        self.ids
    }
}

/// Notes that a socket waits, unless that is noted. Those that were closed meanwhile are forgotten, so that there are no more than
/// open sockets.
pub(super) fn register(waiting: &mut Vec<Weak<Side>>, side: &Arc<Side>) -> Result<()> {
    if waiting.iter().any(|noted| Weak::as_ptr(noted) == Arc::as_ptr(side)) {
        return Ok(());
    }
    waiting.retain(|noted| noted.strong_count() > 0);
    waiting.make_room(1)?;
    waiting.push(Arc::downgrade(side));
    Ok(())
}

/// Tells sockets that wait for room that there is some.
pub(super) fn tell(waiting: Vec<Weak<Side>>) {
    for side in waiting.iter().filter_map(Weak::upgrade) {
        side.queue.wake_all_for(PollEvents::WRITABLE.changes());
    }
}

impl Socket {
    /// Begins to wait for connections, or changes how many may wait: `EINVAL` without a name or with another end,
    /// `EOPNOTSUPP` where there are no connections.
    pub(crate) fn listen(&self, most: i32, ids: Ids) -> Result<()> {
        if !self.is_connected() {
            return Err(Errno::EOPNOTSUPP);
        }
        if self.name().is_none() {
            return Err(Errno::EINVAL);
        }
        let mut backlog = self.side.backlog.lock();
        {
            let mut role = self.side.role.lock();
            if *role == Role::Connected {
                return Err(Errno::EINVAL);
            }
            *role = Role::Listening;
        }
        // Linux takes a negative number for a large one.
        backlog.limit = Some(usize::try_from(most).unwrap_or(MOST).min(MOST));
        backlog.ids = ids;
        let waiting = core::mem::take(&mut backlog.waiting);
        drop(backlog);
        tell(waiting);
        Ok(())
    }

    /// Takes a connection: `EINVAL` if the socket does not listen, `EOPNOTSUPP` where there are no connections.
    pub(crate) fn accept(&self, blocking: Blocking) -> Result<Self> {
        if !self.is_connected() {
            return Err(Errno::EOPNOTSUPP);
        }
        if !self.listens() {
            return Err(Errno::EINVAL);
        }
        let timeout_ns = self.options().lock().receive_timeout_ns;
        let connection = self.wait(blocking, timeout_ns, || {
            let mut backlog = self.side.backlog.lock();
            match backlog.pending.pop_front() {
                Some(connection) => {
                    let waiting = core::mem::take(&mut backlog.waiting);
                    drop(backlog);
                    tell(waiting);
                    Some(Ok(connection))
                }
                None => {
                    drop(backlog);
                    self.side.inbox.lock().closed.then_some(Err(Errno::EINVAL))
                }
            }
        })??;
        connection.pass_credentials(self.side.asks_for_ids());
        connection.side.inbox.lock().is_taken = true;
        Ok(connection)
    }

    /// Whether it waits for connections (`SO_ACCEPTCONN`).
    pub(crate) fn listens(&self) -> bool {
        *self.side.role.lock() == Role::Listening
    }

    /// What poll(2) says of a socket that listens, apart from its end.
    pub(super) fn poll_listening(&self) -> PollEvents {
        let has_pending = self.side.backlog.lock().has_pending();
        if has_pending { PollEvents::READABLE } else { PollEvents::empty() }
    }
}

impl Kind {
    /// The end of a connection is told to both sides, except for datagrams.
    pub(super) fn is_connected(self) -> bool {
        matches!(self, Self::Stream | Self::Packets)
    }
}
