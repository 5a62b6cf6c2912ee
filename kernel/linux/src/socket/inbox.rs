// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a socket has received and nobody has read.

use alloc::collections::VecDeque;
use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;

use hadal_hal::memory::fallible::MakeRoom;
use hadal_vfs::OpenFile;

use super::ids::Ids;
use super::listening;
use super::names::Name;
use super::rights::Rights;
use super::side::Side;
use crate::{Errno, Result};

/// Bytes of kernel memory that a message is counted as beside its data.
const OVERHEAD: usize = 256;
/// Data of a stream is joined up to this length.
const JOINED: usize = 64 * 1024;

/// Datagrams that wait at a socket which does not send any to who has sent them: so many, and one more.
const MOST_DATAGRAMS: usize = 10;

struct Message {
    data: Vec<u8>,
    /// What of a stream's data has been read.
    read: usize,
    rights: Rights,
    /// Who has sent it.
    ids: Ids,
    /// The name of the socket that has; not of a stream, where it is the other end's.
    from: Option<Arc<Name>>,
}

/// What a read found.
#[derive(Default)]
pub(crate) struct Received {
    /// Bytes that were copied.
    pub(crate) len: usize,
    /// Bytes of the whole message.
    pub(crate) whole: usize,
    /// Files that came with them.
    pub(crate) files: Vec<Arc<OpenFile>>,
    /// Who has sent them.
    pub(crate) ids: Option<Ids>,
    /// The name of the socket that has.
    pub(crate) from: Option<Arc<Name>>,
}

/// Whom a message comes from, for the question whether there is room.
pub(super) struct Sender<'a> {
    pub(super) side: &'a Arc<Side>,
    /// Bytes of its buffer.
    pub(super) limit: usize,
    /// It gets messages from here.
    pub(super) is_answered: bool,
}

/// Messages that wait to be read at one end.
pub(super) struct Inbox {
    messages: VecDeque<Message>,
    charged: usize,
    /// Messages that will come and have a place.
    expected: usize,
    /// Sockets that wait for room, beside the other end.
    waiting: Vec<Weak<Side>>,
    /// Nobody will read: the end is gone, or has stopped to receive.
    pub(super) closed: bool,
    /// The end is gone.
    pub(super) gone: bool,
    /// A program has the end, or had it: it does not wait to be taken.
    pub(super) is_taken: bool,
    /// Nobody will write any more.
    pub(super) ended: bool,
}

impl Inbox {
    pub(super) const fn new() -> Self {
        Self {
            messages: VecDeque::new(),
            charged: 0,
            expected: 0,
            waiting: Vec::new(),
            closed: false,
            gone: false,
            is_taken: true,
            ended: false,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Whether a message brings files.
    pub(super) fn has_files(&self) -> bool {
        self.messages.iter().any(|message| !message.rights.is_empty())
    }

    /// Whether a writer whose buffer has `limit` bytes may put in more.
    pub(super) fn has_room(&self, limit: usize) -> bool {
        self.charged < limit
    }

    /// Whether somebody may put in one more datagram. If not, its socket will hear of it.
    pub(super) fn takes_datagram(&mut self, sender: &Sender<'_>) -> Result<bool> {
        if self.has_room(sender.limit) && (sender.is_answered || self.messages.len() <= MOST_DATAGRAMS) {
            return Ok(true);
        }
        listening::register(&mut self.waiting, sender.side)?;
        Ok(false)
    }

    /// Sockets that wait for room, which there is now.
    pub(super) fn take_waiting(&mut self) -> Vec<Weak<Side>> {
        core::mem::take(&mut self.waiting)
    }

    /// Bytes that wait: all of them, or those of the first message.
    pub(super) fn readable_bytes(&self, all: bool) -> usize {
        let count = if all { self.messages.len() } else { 1 };
        self.messages.iter().take(count).map(|message| message.data.len() - message.read).sum()
    }

    /// Puts in as much of a stream's data as there is room for; `None` when there is no room.
    pub(super) fn push_bytes(
        &mut self,
        data: &[u8],
        rights: &mut Rights,
        ids: Ids,
        limit: usize,
    ) -> Option<Result<usize>> {
        if !self.has_room(limit) {
            return None;
        }
        let count = data.len().min(limit - self.charged);
        let joins = |last: &&mut Message| {
            let bring_files = !rights.is_empty() || !last.rights.is_empty();
            !bring_files && last.data.len() + count <= JOINED && last.ids == ids
        };
        if let Some(last) = self.messages.back_mut().filter(joins) {
            if last.data.make_room(count).is_err() {
                return Some(Err(Errno::ENOBUFS));
            }
            last.data.extend_from_slice(&data[..count]);
            self.charged += count;
            return Some(Ok(count));
        }
        Some(self.push(&data[..count], rights, ids, None))
    }

    /// Puts in a whole message, for which there is room, though not for all of it, maybe.
    pub(super) fn push(
        &mut self,
        data: &[u8],
        rights: &mut Rights,
        ids: Ids,
        from: Option<Arc<Name>>,
    ) -> Result<usize> {
        let mut copy = Vec::new();
        copy.make_room(data.len()).map_err(|_| Errno::ENOBUFS)?;
        self.messages.make_room(1).map_err(|_| Errno::ENOBUFS)?;
        copy.extend_from_slice(data);
        self.charged += data.len() + OVERHEAD;
        self.messages.push_back(Message { data: copy, read: 0, rights: rights.take(), ids, from });
        Ok(data.len())
    }

    /// Keeps a place for a message; `ENOBUFS` when too many wait, or there is no memory.
    pub(super) fn expect(&mut self, limit: usize) -> Result<()> {
        if (self.messages.len() + self.expected) * OVERHEAD >= limit {
            return Err(Errno::ENOBUFS);
        }
        self.messages.make_room(self.expected + 1).map_err(|_| Errno::ENOBUFS)?;
        self.expected += 1;
        Ok(())
    }

    /// A place will not be used.
    pub(super) fn expect_no_more(&mut self) {
        self.expected -= 1;
    }

    /// Puts in a message that has a place.
    pub(super) fn push_expected(&mut self, data: Vec<u8>) {
        self.expected -= 1;
        if !self.closed {
            self.charged += data.len() + OVERHEAD;
            self.messages.push_back(Message {
                data,
                read: 0,
                rights: Rights::NONE,
                ids: Ids::NOT_ASKED_FOR,
                from: None,
            });
        }
    }

    /// Reads a stream: up to the end of a message that brings files, and of what one process has sent if `by_sender`. `None` when
    /// there is nothing.
    pub(super) fn read_bytes(
        &mut self,
        buffer: &mut [u8],
        peek: bool,
        by_sender: bool,
        received: &mut Received,
    ) -> Option<Result<()>> {
        let mut index = 0;
        // Even who has no room for data gets the files that come with the first message.
        while received.len < buffer.len() || index == 0 && buffer.is_empty() {
            let Some(message) = self.messages.get_mut(index) else { break };
            if by_sender && received.ids.is_some_and(|ids| ids != message.ids) {
                break;
            }
            received.ids = Some(message.ids);
            let brings_files = !message.rights.is_empty();
            if brings_files {
                match message.rights.hand_over(peek) {
                    Ok(files) => received.files = files,
                    Err(error) => return Some(Err(error)),
                }
            }
            let rest = &message.data[message.read..];
            let count = rest.len().min(buffer.len() - received.len);
            buffer[received.len..received.len + count].copy_from_slice(&rest[..count]);
            received.len += count;
            if peek {
                index += 1;
            } else {
                message.read += count;
                self.charged -= count;
                if message.read == message.data.len() {
                    self.drop_first();
                }
            }
            if brings_files || buffer.is_empty() {
                break;
            }
        }
        received.whole = received.len;
        (received.len > 0 || !self.messages.is_empty()).then_some(Ok(()))
    }

    /// Reads one message; `None` when there is none. What does not fit is lost.
    pub(super) fn read_message(
        &mut self,
        buffer: &mut [u8],
        peek: bool,
        received: &mut Received,
    ) -> Option<Result<()>> {
        let message = self.messages.front_mut()?;
        match message.rights.hand_over(peek) {
            Ok(files) => received.files = files,
            Err(error) => return Some(Err(error)),
        }
        received.len = message.data.len().min(buffer.len());
        buffer[..received.len].copy_from_slice(&message.data[..received.len]);
        received.whole = message.data.len();
        received.ids = Some(message.ids);
        received.from = if peek { message.from.clone() } else { message.from.take() };
        if !peek {
            self.charged -= received.whole;
            self.drop_first();
        }
        Some(Ok(()))
    }

    /// Takes a message out that has handed over what it brought.
    fn drop_first(&mut self) {
        self.messages.pop_front();
        self.charged -= OVERHEAD;
    }

    /// Throws everything away; what was there is returned, to be dropped outside the lock.
    pub(super) fn clear(&mut self) -> impl Sized + use<> {
        self.charged = 0;
        core::mem::take(&mut self.messages)
    }
}
