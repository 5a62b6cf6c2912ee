// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What one end of a connection has received and nobody has read.

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;

use hadal_hal::memory::fallible::MakeRoom;
use hadal_vfs::OpenFile;

use super::rights::Rights;
use crate::{Errno, Result};

/// Bytes of kernel memory that a message is counted as beside its data.
const OVERHEAD: usize = 256;
/// Data of a stream is joined up to this length.
const JOINED: usize = 64 * 1024;

struct Message {
    data: Vec<u8>,
    /// What of a stream's data has been read.
    read: usize,
    rights: Rights,
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
}

/// Messages that wait to be read at one end.
pub(super) struct Inbox {
    messages: VecDeque<Message>,
    charged: usize,
    /// Messages that will come and have a place.
    expected: usize,
    /// Nobody will read: the end is gone, or has stopped to receive.
    pub(super) closed: bool,
    /// The end is gone.
    pub(super) gone: bool,
    /// Nobody will write any more.
    pub(super) ended: bool,
}

impl Inbox {
    pub(super) const fn new() -> Self {
        Self { messages: VecDeque::new(), charged: 0, expected: 0, closed: false, gone: false, ended: false }
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
        limit: usize,
    ) -> Option<Result<usize>> {
        if !self.has_room(limit) {
            return None;
        }
        let count = data.len().min(limit - self.charged);
        let joins = |last: &&mut Message| {
            rights.is_empty() && last.rights.is_empty() && last.data.len() + count <= JOINED
        };
        if let Some(last) = self.messages.back_mut().filter(joins) {
            if last.data.make_room(count).is_err() {
                return Some(Err(Errno::ENOBUFS));
            }
            last.data.extend_from_slice(&data[..count]);
            self.charged += count;
            return Some(Ok(count));
        }
        Some(self.push(&data[..count], rights).map(|()| count))
    }

    /// Puts in a whole message, which may be longer than the room that is there; `None` when there is none.
    pub(super) fn push_message(
        &mut self,
        data: &[u8],
        rights: &mut Rights,
        limit: usize,
    ) -> Option<Result<usize>> {
        if !self.has_room(limit) {
            return None;
        }
        Some(self.push(data, rights).map(|()| data.len()))
    }

    fn push(&mut self, data: &[u8], rights: &mut Rights) -> Result<()> {
        let mut copy = Vec::new();
        copy.make_room(data.len()).map_err(|_| Errno::ENOBUFS)?;
        self.messages.make_room(1).map_err(|_| Errno::ENOBUFS)?;
        copy.extend_from_slice(data);
        self.charged += data.len() + OVERHEAD;
        self.messages.push_back(Message { data: copy, read: 0, rights: core::mem::take(rights) });
        Ok(())
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
            self.messages.push_back(Message { data, read: 0, rights: Rights::default() });
        }
    }

    /// Reads a stream: up to the end of a message that brings files. `None` when there is nothing. Messages that are used up go
    /// to `used`, to be dropped outside the lock.
    pub(super) fn read_bytes(
        &mut self,
        buffer: &mut [u8],
        peek: bool,
        used: &mut Used,
    ) -> Option<Result<Received>> {
        let mut received = Received::default();
        let mut index = 0;
        // Even who has no room for data gets the files that come with the first message.
        while received.len < buffer.len() || index == 0 && buffer.is_empty() {
            let Some(message) = self.messages.get_mut(index) else { break };
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
                    self.drop_first(used);
                }
            }
            if brings_files || buffer.is_empty() {
                break;
            }
        }
        received.whole = received.len;
        (received.len > 0 || !self.messages.is_empty()).then_some(Ok(received))
    }

    /// Reads one message; `None` when there is none. What does not fit is lost.
    pub(super) fn read_message(
        &mut self,
        buffer: &mut [u8],
        peek: bool,
        used: &mut Used,
    ) -> Option<Result<Received>> {
        let message = self.messages.front_mut()?;
        let files = match message.rights.hand_over(peek) {
            Ok(files) => files,
            Err(error) => return Some(Err(error)),
        };
        let len = message.data.len().min(buffer.len());
        buffer[..len].copy_from_slice(&message.data[..len]);
        let whole = message.data.len();
        if !peek {
            self.charged -= whole;
            self.drop_first(used);
        }
        Some(Ok(Received { len, whole, files }))
    }

    fn drop_first(&mut self, used: &mut Used) {
        used.0 = self.messages.pop_front().map(|message| message.rights);
        self.charged -= OVERHEAD;
    }

    /// Throws everything away; what was there is returned, to be dropped outside the lock.
    pub(super) fn clear(&mut self) -> impl Sized + use<> {
        self.charged = 0;
        core::mem::take(&mut self.messages)
    }
}

/// What is left of a message that was read. (A stream's messages without files leave nothing.)
#[derive(Default)]
pub(super) struct Used(Option<Rights>);
