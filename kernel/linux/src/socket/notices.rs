// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sockets of `AF_NETLINK` that have no address: C libraries make one to hear of messages in queues (`mq_notify` with
//! `SIGEV_THREAD`). Nothing can be sent by them, and nobody but the kernel sends to them.

use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;

use hadal_vfs::{File, OpenFile, PollEvents};

use super::{Kind, Socket};
use crate::{Errno, Result};

impl Socket {
    /// Makes such a socket.
    pub(crate) fn for_notices() -> Result<Self> {
        Self::new(Kind::Notices)
    }
}

/// A message that will come to a socket, and has its place there.
pub(crate) struct Expected {
    /// `None` when it has come.
    socket: Option<Weak<dyn File>>,
}

impl Expected {
    /// Keeps a place at the socket that a file is: `ENOTSOCK` if it is none, `EINVAL` if it is of another kind, `ENOBUFS` if it
    /// is full.
    pub(crate) fn at(file: &OpenFile) -> Result<Self> {
        let socket = Socket::of(file)?;
        if socket.kind != Kind::Notices {
            return Err(Errno::EINVAL);
        }
        let limit = socket.options().lock().receive_bytes;
        socket.side.inbox.lock().expect(limit)?;
        Ok(Self { socket: Some(Arc::downgrade(file.file()?)) })
    }

    /// Uses the place, unless it has been used or the socket is closed.
    fn once(&mut self, act: impl FnOnce(&Socket)) {
        let file = self.socket.take().and_then(|socket| socket.upgrade());
        if let Some(socket) = file.as_ref().and_then(|file| file.as_any()).and_then(|any| any.downcast_ref())
        {
            act(socket);
        }
    }

    /// The message comes.
    pub(crate) fn put(mut self, data: Vec<u8>) {
        self.once(|socket| {
            socket.side.inbox.lock().push_expected(data);
            socket.side.queue.wake_all_for(PollEvents::READABLE.changes());
        });
    }
}

impl Drop for Expected {
    fn drop(&mut self) {
        self.once(|socket| socket.side.inbox.lock().expect_no_more());
    }
}

#[cfg(test)]
mod tests {
    use hadal_vfs::Blocking;

    use super::*;

    #[test]
    fn nothing_can_be_sent() {
        let socket = Socket::for_notices().unwrap();
        assert_eq!(socket.write(b"x", Blocking::Never), Err(Errno::EOPNOTSUPP));
        assert_eq!(socket.read(&mut [0; 8], Blocking::Never), Err(Errno::EAGAIN));
        socket.side.inbox.lock().expect(1000).unwrap();
        assert_eq!(socket.poll(), PollEvents::WRITABLE);
        socket.side.inbox.lock().push_expected(alloc::vec![1, 2]);
        assert_eq!(socket.poll(), PollEvents::READABLE | PollEvents::WRITABLE);
        assert_eq!(socket.read(&mut [0; 8], Blocking::Never), Ok(2));
    }

    #[test]
    fn places_are_limited() {
        let socket = Socket::for_notices().unwrap();
        let mut inbox = socket.side.inbox.lock();
        let kept = (0..1000).take_while(|_| inbox.expect(10_000).is_ok()).count();
        assert_eq!(kept, 40);
        inbox.expect_no_more();
        assert_eq!(inbox.expect(10_000), Ok(()));
    }
}
