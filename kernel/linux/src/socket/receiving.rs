// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Receiving.

use alloc::vec::Vec;

use hadal_vfs::{Blocking, PollEvents};

use super::inbox::Received;
use super::{Kind, Socket, listening};
use crate::call::Call;
use crate::restart::Restart;
use crate::{Errno, Result};

/// How a message is read.
#[derive(Clone, Copy)]
pub(crate) struct ReceiveFlags {
    /// Whether to wait.
    pub(crate) blocking: Blocking,
    /// It stays where it is (`MSG_PEEK`).
    pub(crate) peek: bool,
}

impl Socket {
    /// Receives: nothing at all at the end of the data.
    pub(crate) fn receive(
        &self,
        buffer: &mut [u8],
        flags: ReceiveFlags,
        received: &mut Received,
    ) -> Result<()> {
        let mate = self.mate.get();
        if self.is_connected() && mate.is_none() {
            return Err(if self.kind == Kind::Stream { Errno::EINVAL } else { Errno::ENOTCONN });
        }
        let timeout_ns = self.side.options.lock().receive_timeout_ns;
        let by_sender = self.side.asks_for_ids();
        let mut waiting = Vec::new();
        let result = self.wait(flags.blocking, timeout_ns, || {
            let mut inbox = self.side.inbox.lock();
            let found = match self.kind {
                Kind::Stream => inbox.read_bytes(buffer, flags.peek, by_sender, received),
                _ => inbox.read_message(buffer, flags.peek, received),
            };
            let over = inbox.closed || inbox.ended;
            if mate.is_none() && found.is_some() && !flags.peek {
                waiting = inbox.take_waiting();
            }
            drop(inbox);
            match found {
                Some(found) => Some(found),
                None if self.side.options.lock().take_reset() => Some(Err(Errno::ECONNRESET)),
                None => over.then_some(Ok(())),
            }
        })?;
        if flags.peek {
            return result;
        }
        match mate {
            Some(mate) => {
                mate.queue.wake_all_for(PollEvents::WRITABLE.changes());
            }
            None => listening::tell(waiting),
        }
        result
    }

    /// What a call that receives returns for an error: one that a signal interrupts is not made again if the socket has a
    /// time-out, which would begin anew.
    pub(crate) fn receive_error(&self, call: &Call<'_>, error: Errno) -> Errno {
        let timeout_ns = self.options().lock().receive_timeout_ns;
        interrupted(call, error, timeout_ns)
    }
}

pub(super) fn interrupted(call: &Call<'_>, error: Errno, timeout_ns: Option<u64>) -> Errno {
    match (error, timeout_ns) {
        (Errno::EINTR, Some(_)) => call.interrupted_as(Restart::Never),
        _ => error,
    }
}
