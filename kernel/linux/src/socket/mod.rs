// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Connected sockets: what `socketpair` makes; and sockets to which the kernel sends ([`notices`]).
//!
//! Each end has an inbox that the other end fills, and a queue where its threads wait, for data and for room alike. A stream
//! is read as bytes, the other kinds as messages.

mod inbox;
mod leaving;
pub(crate) mod notices;
mod options;
mod rights;

use alloc::sync::Arc;
use core::any::Any;

use hadal_hal::sync::SpinLock;
use hadal_sync::{Mutex, WaitMode, WaitQueue};
use hadal_vfs::{Blocking, File, IoctlArgument, OpenFile, PollEvents};
use linux_raw_sys::ioctl::FIONREAD;

pub(crate) use inbox::Received;
pub(crate) use options::Options;
pub(crate) use rights::Rights;

use crate::call::Call;
use crate::restart::Restart;
use crate::{Errno, Result, clock};
use inbox::{Inbox, Used};
use leaving::{End, Next};

/// What a socket carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Bytes (`SOCK_STREAM`).
    Stream = 1,
    /// Messages without an end (`SOCK_DGRAM`).
    Datagram = 2,
    /// Messages of the kernel (`AF_NETLINK`, `SOCK_RAW`).
    Notices = 3,
    /// Messages with an end (`SOCK_SEQPACKET`).
    Packets = 5,
}

/// One side of a connection.
struct Side {
    inbox: Mutex<Inbox>,
    queue: WaitQueue,
    options: SpinLock<Options>,
    next: Next,
}

impl Side {
    fn new() -> Self {
        Self {
            inbox: Mutex::new(Inbox::new()),
            queue: WaitQueue::new(),
            options: SpinLock::new(Options::new()),
            next: Next::new(),
        }
    }
}

/// One end of a connection; the connection ends when it is dropped.
pub(crate) struct Socket {
    pub(crate) kind: Kind,
    sides: Arc<[Side; 2]>,
    own: usize,
}

/// How a message is read.
#[derive(Clone, Copy)]
pub(crate) struct ReceiveFlags {
    /// Whether to wait.
    pub(crate) blocking: Blocking,
    /// It stays where it is (`MSG_PEEK`).
    pub(crate) peek: bool,
}

impl Socket {
    /// Makes a connection.
    pub(crate) fn pair(kind: Kind) -> (Self, Self) {
        let sides = Arc::new([Side::new(), Side::new()]);
        (Self { kind, sides: sides.clone(), own: 0 }, Self { kind, sides, own: 1 })
    }

    /// The socket that a file is; `ENOTSOCK` if it is none.
    pub(crate) fn of(file: &OpenFile) -> Result<&Self> {
        file.file()?.as_any().and_then(|any| any.downcast_ref()).ok_or(Errno::ENOTSOCK)
    }

    /// What `setsockopt` has set.
    pub(crate) fn options(&self) -> &SpinLock<Options> {
        &self.own().options
    }

    /// Whether a program that writes to an end without another is sent SIGPIPE.
    pub(crate) fn raises_sigpipe(&self) -> bool {
        self.kind == Kind::Stream
    }

    /// What a call that receives returns for an error: one that a signal interrupts is not made again if the socket has a
    /// time-out, which would begin anew.
    pub(crate) fn receive_error(&self, call: &Call<'_>, error: Errno) -> Errno {
        let timeout_ns = self.options().lock().receive_timeout_ns;
        interrupted(call, error, timeout_ns)
    }

    /// The same for a call that sends.
    pub(crate) fn send_error(&self, call: &Call<'_>, error: Errno) -> Errno {
        let timeout_ns = self.options().lock().send_timeout_ns;
        interrupted(call, error, timeout_ns)
    }

    /// Whether a datagram has been refused since the other end is gone: there is no connection any more.
    pub(crate) fn is_disconnected(&self) -> bool {
        self.own().options.lock().disconnected
    }

    fn own(&self) -> &Side {
        &self.sides[self.own]
    }

    fn peer(&self) -> &Side {
        &self.sides[1 - self.own]
    }

    /// The end of a connection is told to both sides, except for datagrams.
    fn is_connected(&self) -> bool {
        matches!(self.kind, Kind::Stream | Kind::Packets)
    }

    fn wait<T>(
        &self,
        blocking: Blocking,
        timeout_ns: Option<u64>,
        mut attempt: impl FnMut() -> Option<T>,
    ) -> Result<T> {
        if blocking == Blocking::Never {
            return attempt().ok_or(Errno::EAGAIN);
        }
        let deadline_ns = timeout_ns.map(clock::after);
        match self.own().queue.wait_until(deadline_ns, WaitMode::Interruptible, attempt).map_err(Errno::from)
        {
            Err(Errno::ETIMEDOUT) => Err(Errno::EAGAIN),
            result => result,
        }
    }

    /// Receives: nothing at all at the end of the data.
    pub(crate) fn receive(&self, buffer: &mut [u8], flags: ReceiveFlags) -> Result<Received> {
        let timeout_ns = self.own().options.lock().receive_timeout_ns;
        let received = self.wait(flags.blocking, timeout_ns, || {
            let mut used = Used::default();
            let mut inbox = self.own().inbox.lock();
            let found = match self.kind {
                Kind::Stream => inbox.read_bytes(buffer, flags.peek, &mut used),
                _ => inbox.read_message(buffer, flags.peek, &mut used),
            };
            let over = inbox.closed || inbox.ended;
            drop(inbox);
            match found {
                Some(found) => Some(found),
                None if self.own().options.lock().take_reset() => Some(Err(Errno::ECONNRESET)),
                None => over.then(|| Ok(Received::default())),
            }
        })??;
        if !flags.peek {
            self.peer().queue.wake_all_for(PollEvents::WRITABLE.changes());
        }
        Ok(received)
    }

    /// Sends: of a stream as much as fits, or waits for more room until all is sent; else one message.
    pub(crate) fn send(&self, data: &[u8], mut rights: Rights, blocking: Blocking) -> Result<usize> {
        if self.kind == Kind::Notices {
            return Err(Errno::EOPNOTSUPP);
        }
        let (timeout_ns, limit) = {
            let options = self.own().options.lock();
            (options.send_timeout_ns, options.send_bytes)
        };
        if self.kind != Kind::Stream && data.len() > limit.saturating_sub(32) {
            return Err(Errno::EMSGSIZE);
        }
        let mut sent = 0;
        loop {
            let step = self.wait(blocking, timeout_ns, || {
                let mut inbox = self.peer().inbox.lock();
                // Looked at last: waiting for the inbox may use up the wake-up that tells of it.
                if self.own().options.lock().sends_no_more {
                    return Some(Err(Errno::EPIPE));
                }
                if inbox.gone && !self.is_connected() {
                    let before = core::mem::replace(&mut self.own().options.lock().disconnected, true);
                    return Some(Err(if before { Errno::ENOTCONN } else { Errno::ECONNREFUSED }));
                }
                if inbox.closed {
                    return Some(Err(Errno::EPIPE));
                }
                match self.kind {
                    Kind::Stream if data.is_empty() => Some(Ok(0)),
                    Kind::Stream => inbox.push_bytes(&data[sent..], &mut rights, limit),
                    _ => inbox.push_message(data, &mut rights, limit),
                }
            });
            match step.and_then(|result| result) {
                Ok(count) => sent += count,
                Err(error) if sent == 0 => return Err(error),
                Err(_) => return Ok(sent),
            }
            self.peer().queue.wake_all_for(PollEvents::READABLE.changes());
            if sent >= data.len() {
                return Ok(sent);
            }
        }
    }

    /// Ends receiving, sending, or both.
    pub(crate) fn shut_down(&self, receiving: bool, sending: bool) {
        if receiving {
            self.own().inbox.lock().closed = true;
            if self.is_connected() {
                self.peer().options.lock().sends_no_more = true;
            }
        }
        if sending {
            self.own().options.lock().sends_no_more = true;
            if self.is_connected() {
                self.peer().inbox.lock().ended = true;
            }
        }
        self.sides.iter().for_each(|side| {
            side.queue.wake_all();
        });
    }
}

fn interrupted(call: &Call<'_>, error: Errno, timeout_ns: Option<u64>) -> Errno {
    match (error, timeout_ns) {
        (Errno::EINTR, Some(_)) => call.interrupted_as(Restart::Never),
        _ => error,
    }
}

impl File for Socket {
    fn read(&self, buffer: &mut [u8], blocking: Blocking) -> Result<usize> {
        // `recv` of nothing waits, and takes a message; `read` does neither.
        if buffer.is_empty() {
            return Ok(0);
        }
        self.receive(buffer, ReceiveFlags { blocking, peek: false }).map(|received| received.len)
    }

    fn write(&self, data: &[u8], blocking: Blocking) -> Result<usize> {
        self.send(data, Rights::default(), blocking)
    }

    fn poll(&self) -> PollEvents {
        let (sends_no_more, limit, reset) = {
            let options = self.own().options.lock();
            (options.sends_no_more, options.send_bytes, options.reset)
        };
        let room = {
            let inbox = self.peer().inbox.lock();
            inbox.closed || inbox.has_room(limit)
        };
        let (readable, receives_no_more) = {
            let inbox = self.own().inbox.lock();
            (!inbox.is_empty(), inbox.closed || inbox.ended)
        };
        let mut events = PollEvents::empty();
        events.set(PollEvents::READABLE, readable || receives_no_more);
        events.set(PollEvents::READ_HANG_UP, receives_no_more);
        events.set(PollEvents::WRITABLE, room);
        events.set(PollEvents::HANG_UP, receives_no_more && sends_no_more);
        events.set(PollEvents::ERROR, reset);
        events
    }

    fn ioctl(&self, request: u32, argument: &mut dyn IoctlArgument) -> Result<usize> {
        if request != FIONREAD {
            return Err(Errno::ENOTTY);
        }
        let count = self.own().inbox.lock().readable_bytes(self.is_connected()) as u32;
        argument.write(&count.to_ne_bytes())?;
        Ok(0)
    }

    fn wait_queues(&self) -> [Option<&WaitQueue>; 2] {
        [Some(&self.own().queue), None]
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let (had_unread, unread) = {
            let mut inbox = self.own().inbox.lock();
            (inbox.closed, inbox.gone) = (true, true);
            (!inbox.is_empty(), (!inbox.has_files()).then(|| inbox.clear()))
        };
        match unread {
            Some(unread) => drop(unread),
            None => leaving::empty(End { sides: self.sides.clone(), own: self.own }),
        }
        if self.is_connected() {
            let mut options = self.peer().options.lock();
            options.sends_no_more = true;
            options.reset = had_unread;
            drop(options);
            self.peer().inbox.lock().ended = true;
        }
        self.peer().queue.wake_all();
    }
}

#[cfg(test)]
mod tests {
    use hadal_vfs::synthetic::Directory;
    use hadal_vfs::{MountFlags, Namespace, OpenFlags, Owner};

    use super::*;

    const NEVER: Blocking = Blocking::Never;

    #[test]
    fn bytes_go_both_ways() {
        let (a, b) = Socket::pair(Kind::Stream);
        let mut buffer = [0; 8];
        assert_eq!(a.read(&mut buffer, NEVER), Err(Errno::EAGAIN));
        assert_eq!(a.write(b"ping", NEVER), Ok(4));
        assert_eq!(b.write(b"pong!", NEVER), Ok(5));
        assert_eq!(b.read(&mut buffer[..3], NEVER), Ok(3));
        assert_eq!(b.read(&mut buffer[3..], NEVER), Ok(1));
        assert_eq!(&buffer[..4], b"ping");
        assert_eq!(a.poll(), PollEvents::READABLE | PollEvents::WRITABLE);
        assert_eq!(b.poll(), PollEvents::WRITABLE);
    }

    #[test]
    fn a_full_buffer_takes_no_more() {
        let (a, b) = Socket::pair(Kind::Stream);
        let data = alloc::vec![7; 300_000];
        let sent = a.write(&data, NEVER).unwrap();
        assert!(sent < data.len());
        assert_eq!(a.write(b"x", NEVER), Err(Errno::EAGAIN));
        assert!(!a.poll().contains(PollEvents::WRITE));
        let mut rest = alloc::vec![0; sent];
        assert_eq!(b.read(&mut rest, NEVER), Ok(sent));
        assert_eq!(b.read(&mut rest, NEVER), Err(Errno::EAGAIN));
        assert_eq!(a.write(&data, NEVER), Ok(sent));
    }

    #[test]
    fn messages_keep_their_bounds() {
        let (a, b) = Socket::pair(Kind::Packets);
        for message in [&b"one"[..], b"", b"three"] {
            assert_eq!(a.write(message, NEVER), Ok(message.len()));
        }
        let mut buffer = [0; 4];
        assert_eq!(b.read(&mut buffer, NEVER), Ok(3));
        assert_eq!(b.read(&mut buffer, NEVER), Ok(0));
        let peeked = b.receive(&mut buffer, ReceiveFlags { blocking: NEVER, peek: true }).unwrap();
        assert_eq!((peeked.len, peeked.whole), (4, 5));
        assert_eq!(b.read(&mut buffer, NEVER), Ok(4));
        drop(a);
        assert_eq!(b.read(&mut buffer, NEVER), Ok(0));
        assert_eq!(b.write(b"x", NEVER), Err(Errno::EPIPE));
    }

    #[test]
    fn the_end_is_seen_after_the_data() {
        let (a, b) = Socket::pair(Kind::Stream);
        a.write(b"last", NEVER).unwrap();
        drop(a);
        let mut buffer = [0; 8];
        assert!(b.poll().contains(PollEvents::HANG_UP));
        assert_eq!(b.read(&mut buffer, NEVER), Ok(4));
        assert_eq!(b.read(&mut buffer, NEVER), Ok(0));
        assert_eq!(b.write(b"x", NEVER), Err(Errno::EPIPE));
    }

    #[test]
    fn sockets_in_sockets_need_no_stack() {
        const DEPTH: usize = 100_000;
        let location =
            Namespace::new(Directory::root(0, Owner::default()), MountFlags::empty(), "", "").root();
        let open = |socket| OpenFile::new(Arc::new(socket), location.clone(), OpenFlags::READ_WRITE).unwrap();
        let (innermost, mut outer) = Socket::pair(Kind::Stream);
        for index in 0..DEPTH {
            let kind = if index % 2 == 0 { Kind::Stream } else { Kind::Datagram };
            let (sender, receiver) = Socket::pair(kind);
            let rights = Rights::new(alloc::vec![open(outer)], u64::MAX).unwrap();
            assert_eq!(sender.send(b"x", rights, NEVER), Ok(1));
            outer = receiver;
        }
        assert_eq!(innermost.write(b"x", NEVER), Ok(1));
        drop(outer);
        assert_eq!(innermost.write(b"x", NEVER), Err(Errno::EPIPE));
    }
}
