// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sending: to the other end of a connection, or to a name.

use alloc::sync::Arc;

use hadal_vfs::{Blocking, PollEvents};

use super::ids::Ids;
use super::inbox::Sender;
use super::names::{self, Address};
use super::receiving::interrupted;
use super::rights::Rights;
use super::side::Side;
use super::{Kind, Socket};
use crate::call::Call;
use crate::task::Task;
use crate::{Errno, Result};

/// The socket that a datagram goes to.
pub(crate) struct Destination(Arc<Side>);

/// What goes with data.
pub(crate) struct Outgoing {
    /// Open files, until they are sent.
    pub(crate) rights: Rights,
    /// What the sender says of itself.
    pub(crate) ids: Option<Ids>,
    /// Where it goes, if not to the other end.
    pub(crate) to: Option<Destination>,
}

impl Default for Outgoing {
    fn default() -> Self {
        Self { rights: Rights::NONE, ids: None, to: None }
    }
}

impl Socket {
    /// Finds where a datagram goes: `ECONNREFUSED` if there is no socket of the name.
    pub(crate) fn destination(&self, address: &Address) -> Result<Destination> {
        self.name_for_ids()?;
        names::find(address, self.kind).map(Destination)
    }

    /// Sends: of a stream as much as fits, or waits for more room until all is sent; else one message.
    pub(crate) fn send(&self, data: &[u8], with: &mut Outgoing, blocking: Blocking) -> Result<usize> {
        let (timeout_ns, limit) = {
            let options = self.side.options.lock();
            (options.send_timeout_ns, options.send_bytes)
        };
        match self.kind {
            Kind::Notices => Err(Errno::EOPNOTSUPP),
            Kind::Datagram => self.send_datagram(data, with, blocking, (timeout_ns, limit)),
            Kind::Stream | Kind::Packets => self.send_connected(data, with, blocking, (timeout_ns, limit)),
        }
    }

    /// `EMSGSIZE` if a message is too long for the buffer that it is sent from.
    fn check_len(data: &[u8], limit: usize) -> Result<()> {
        if data.len() > limit.saturating_sub(32) { Err(Errno::EMSGSIZE) } else { Ok(()) }
    }

    /// The ids that a message to `other` brings.
    #[inline(always)]
    fn ids_for(&self, other: &Side, said: Option<Ids>) -> Ids {
        match said {
            Some(said) => said,
            None if self.side.asks_for_ids() || other.asks_for_ids() => Self::own_ids(),
            None => Ids::NOT_ASKED_FOR,
        }
    }

    #[cold]
    fn own_ids() -> Ids {
        Task::current().try_process().map_or(Ids::NOT_ASKED_FOR, Ids::sending)
    }

    fn send_connected(
        &self,
        data: &[u8],
        with: &mut Outgoing,
        blocking: Blocking,
        (timeout_ns, limit): (Option<u64>, usize),
    ) -> Result<usize> {
        let mate = self.mate.get().ok_or(Errno::ENOTCONN)?;
        if self.kind == Kind::Packets {
            Self::check_len(data, limit)?;
        }
        let ids = self.ids_for(mate, with.ids);
        let mut sent = 0;
        loop {
            let step = self.wait(blocking, timeout_ns, || {
                let mut inbox = mate.inbox.lock();
                // Looked at last: waiting for the inbox may use up the wake-up that tells of it.
                if self.side.sends_no_more() || inbox.closed {
                    return Some(Err(Errno::EPIPE));
                }
                match self.kind {
                    Kind::Stream if data.is_empty() => Some(Ok(0)),
                    Kind::Stream => inbox.push_bytes(&data[sent..], &mut with.rights, ids, limit),
                    _ if !inbox.has_room(limit) => None,
                    _ => Some(inbox.push(data, &mut with.rights, ids, None)),
                }
            });
            match step.and_then(|result| result) {
                Ok(count) => sent += count,
                Err(error) if sent == 0 => return Err(error),
                Err(_) => return Ok(sent),
            }
            mate.queue.wake_all_for(PollEvents::READABLE.changes());
            if sent >= data.len() {
                return Ok(sent);
            }
        }
    }

    fn send_datagram(
        &self,
        data: &[u8],
        with: &mut Outgoing,
        blocking: Blocking,
        (timeout_ns, limit): (Option<u64>, usize),
    ) -> Result<usize> {
        let is_named = with.to.is_some();
        let target = with.to.take().map(|to| to.0).or_else(|| self.side.target());
        let other = target.ok_or(Errno::ENOTCONN)?;
        Self::check_len(data, limit)?;
        let ids = self.ids_for(&other, with.ids);
        self.wait(blocking, timeout_ns, || {
            let mut inbox = other.inbox.lock();
            if self.side.sends_no_more() {
                return Some(Err(Errno::EPIPE));
            }
            if inbox.gone {
                if !is_named {
                    self.lose(&other);
                }
                return Some(Err(Errno::ECONNREFUSED));
            }
            if !other.hears(&self.side) {
                return Some(Err(Errno::EPERM));
            }
            if inbox.closed {
                return Some(Err(Errno::EPIPE));
            }
            let is_answered = Arc::ptr_eq(&other, &self.side) || other.is_aimed_at(&self.side);
            match inbox.takes_datagram(&Sender { side: &self.side, limit, is_answered }) {
                Ok(false) => None,
                Ok(true) => Some(inbox.push(data, &mut with.rights, ids, self.side.name.get().cloned())),
                Err(error) => Some(Err(error)),
            }
        })??;
        other.queue.wake_all_for(PollEvents::READABLE.changes());
        Ok(data.len())
    }

    /// The socket that datagrams go to is gone.
    fn lose(&self, other: &Arc<Side>) {
        let lost = self.side.target.lock().take_if(|target| Arc::ptr_eq(target, other));
        drop(lost);
    }

    /// Whether a program that writes to an end without another is sent SIGPIPE.
    pub(crate) fn raises_sigpipe(&self) -> bool {
        self.kind == Kind::Stream
    }

    /// What a call that sends returns for an error, as [`Socket::receive_error`].
    pub(crate) fn send_error(&self, call: &Call<'_>, error: Errno) -> Errno {
        let timeout_ns = self.options().lock().send_timeout_ns;
        interrupted(call, error, timeout_ns)
    }
}
