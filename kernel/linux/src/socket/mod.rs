// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sockets of `AF_UNIX` (unix(7)): pairs, connections to a socket with a name ([`names`], [`listening`], [`connecting`]), and
//! datagrams; and sockets to which the kernel sends ([`notices`]).
//!
//! Each socket has a [`Side`](side::Side): an inbox that others fill, and a queue where its threads wait, for data and for room
//! alike. The other end of a connection holds on to it, and what has a name is found by that. A stream is read as bytes, the
//! other kinds as messages.

mod connecting;
mod ids;
mod inbox;
mod leaving;
mod listening;
pub(crate) mod names;
pub(crate) mod notices;
mod options;
mod receiving;
mod rights;
mod sending;
mod side;

use alloc::sync::Arc;
use core::any::Any;
use core::sync::atomic::Ordering;

use hadal_hal::sync::SpinLock;
use hadal_sync::WaitMode;
use hadal_vfs::{Blocking, File, IoctlArgument, OpenFile, PollEvents};
use linux_raw_sys::ioctl::FIONREAD;
use spin::Once;

pub(crate) use ids::Ids;
pub(crate) use inbox::Received;
pub(crate) use options::Options;
pub(crate) use receiving::ReceiveFlags;
pub(crate) use rights::Rights;
pub(crate) use sending::{Destination, Outgoing};

use crate::{Errno, Result, clock};
use inbox::Sender;
use names::Name;
use side::{Role, Side};

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

/// A socket; when it is dropped its connection ends.
pub(crate) struct Socket {
    pub(crate) kind: Kind,
    side: Arc<Side>,
    /// The other end of its connection.
    mate: Once<Arc<Side>>,
    /// Who is there.
    peer_ids: Once<Ids>,
}

impl Socket {
    /// Makes a socket without a name or another end.
    pub(crate) fn new(kind: Kind) -> Result<Self> {
        let side = Side::new(kind, Role::Fresh)?;
        Ok(Self { kind, side, mate: Once::new(), peer_ids: Once::new() })
    }

    /// Makes two that are connected, for a process with these ids.
    pub(crate) fn pair(kind: Kind, ids: Ids) -> Result<(Self, Self)> {
        let (first, second) = (Self::new(kind)?, Self::new(kind)?);
        for (end, other) in [(&first, &second), (&second, &first)] {
            match kind.is_connected() {
                true => {
                    *end.side.role.lock() = Role::Connected;
                    end.mate.call_once(|| other.side.clone());
                }
                false => *end.side.target.lock() = Some(other.side.clone()),
            }
            end.peer_ids.call_once(|| ids);
        }
        Ok((first, second))
    }

    /// The socket that a file is; `ENOTSOCK` if it is none.
    pub(crate) fn of(file: &OpenFile) -> Result<&Self> {
        file.file()?.as_any().and_then(|any| any.downcast_ref()).ok_or(Errno::ENOTSOCK)
    }

    /// What `setsockopt` has set.
    pub(crate) fn options(&self) -> &SpinLock<Options> {
        &self.side.options
    }

    /// Says whether messages come with the sender's ids (`SO_PASSCRED`).
    pub(crate) fn pass_credentials(&self, are_passed: bool) {
        self.side.passes_credentials.store(are_passed, Ordering::Relaxed);
    }

    /// Whether they do.
    pub(crate) fn passes_credentials(&self) -> bool {
        self.side.asks_for_ids()
    }

    /// Who is at the other end, or was when the connection was made (`SO_PEERCRED`).
    pub(crate) fn peer_ids(&self) -> Ids {
        self.peer_ids.get().copied().unwrap_or(Ids::NOBODY)
    }

    /// The name of the other end, if that has one; `ENOTCONN` if there is none.
    pub(crate) fn peer_name(&self) -> Result<Option<Arc<Name>>> {
        let target = self.side.target();
        let other = self.mate.get().or(target.as_ref()).ok_or(Errno::ENOTCONN)?;
        Ok(other.name.get().cloned())
    }

    fn is_connected(&self) -> bool {
        self.kind.is_connected()
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
        match self.side.queue.wait_until(deadline_ns, WaitMode::Interruptible, attempt).map_err(Errno::from) {
            Err(Errno::ETIMEDOUT) => Err(Errno::EAGAIN),
            result => result,
        }
    }

    /// Ends receiving, sending, or both.
    pub(crate) fn shut_down(&self, receiving: bool, sending: bool) {
        if receiving {
            self.side.inbox.lock().closed = true;
            if let Some(mate) = self.mate.get() {
                mate.stop_sending();
            }
        }
        if sending {
            self.side.stop_sending();
            if let Some(mate) = self.mate.get() {
                mate.inbox.lock().ended = true;
            }
        }
        let waiting = self.side.inbox.lock().take_waiting();
        listening::tell(waiting);
        self.side.queue.wake_all();
        if let Some(mate) = self.mate.get() {
            mate.queue.wake_all();
        }
    }

    /// Whether something can be sent. If not, the queue hears of it when it can.
    fn has_room(&self, limit: usize) -> bool {
        if let Some(mate) = self.mate.get() {
            let inbox = mate.inbox.lock();
            return inbox.closed || inbox.has_room(limit);
        }
        let Some(target) = self.side.target() else { return true };
        let sender = Sender { side: &self.side, limit, is_answered: target.is_aimed_at(&self.side) };
        let mut inbox = target.inbox.lock();
        inbox.closed || inbox.takes_datagram(&sender).unwrap_or(true)
    }
}

impl File for Socket {
    fn read(&self, buffer: &mut [u8], blocking: Blocking) -> Result<usize> {
        // `recv` of nothing waits, and takes a message; `read` does neither.
        if buffer.is_empty() {
            return Ok(0);
        }
        let mut received = Received::default();
        self.receive(buffer, ReceiveFlags { blocking, peek: false }, &mut received)?;
        Ok(received.len)
    }

    fn write(&self, data: &[u8], blocking: Blocking) -> Result<usize> {
        self.send(data, &mut Outgoing::default(), blocking)
    }

    fn poll(&self) -> PollEvents {
        let (limit, reset) = {
            let options = self.side.options.lock();
            (options.send_bytes, options.reset)
        };
        let (readable, receives_no_more) = {
            let inbox = self.side.inbox.lock();
            (!inbox.is_empty(), inbox.closed || inbox.ended)
        };
        let mut events = PollEvents::empty();
        events.set(PollEvents::READABLE, readable || receives_no_more);
        events.set(PollEvents::READ_HANG_UP, receives_no_more);
        events.set(PollEvents::HANG_UP, receives_no_more && self.side.sends_no_more());
        events.set(PollEvents::ERROR, reset);
        if self.is_connected() && self.mate.get().is_none() {
            events |= match self.listens() {
                true => self.poll_listening(),
                false => PollEvents::WRITABLE | PollEvents::HANG_UP,
            };
        } else {
            events.set(PollEvents::WRITABLE, self.has_room(limit));
        }
        events
    }

    fn ioctl(&self, request: u32, argument: &mut dyn IoctlArgument) -> Result<usize> {
        if request != FIONREAD {
            return Err(Errno::ENOTTY);
        }
        if self.listens() {
            return Err(Errno::EINVAL);
        }
        let count = self.side.inbox.lock().readable_bytes(self.is_connected()) as u32;
        argument.write(&count.to_ne_bytes())?;
        Ok(0)
    }

    fn wait_queues(&self) -> [Option<&hadal_sync::WaitQueue>; 2] {
        [Some(&self.side.queue), None]
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        names::forget(&self.side);
        let (pending, connecting) = self.side.backlog.lock().close();
        // Two may be each other's.
        let target = self.side.target.lock().take();
        let (is_reset, waiting, unread) = {
            let mut inbox = self.side.inbox.lock();
            (inbox.closed, inbox.gone) = (true, true);
            let is_reset = !inbox.is_empty() || !inbox.is_taken;
            (is_reset, inbox.take_waiting(), (!inbox.has_files()).then(|| inbox.clear()))
        };
        match unread {
            Some(unread) => drop(unread),
            None => leaving::empty(self.side.clone()),
        }
        drop((pending, target));
        [waiting, connecting].into_iter().for_each(listening::tell);
        if let Some(mate) = self.mate.get() {
            mate.stop_sending();
            mate.options.lock().reset = is_reset;
            mate.inbox.lock().ended = true;
            mate.queue.wake_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use hadal_vfs::synthetic::Directory;
    use hadal_vfs::{MountFlags, Namespace, OpenFlags, Owner};

    use super::*;

    const NEVER: Blocking = Blocking::Never;
    const NOBODY: Ids = Ids::NOBODY;

    /// Tests with names take turns: on a host nobody can wait for the table of names.
    fn turn() -> std::sync::MutexGuard<'static, ()> {
        static TURNS: std::sync::Mutex<()> = std::sync::Mutex::new(());
        TURNS.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    #[test]
    fn bytes_go_both_ways() {
        let (a, b) = Socket::pair(Kind::Stream, NOBODY).unwrap();
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
        let (a, b) = Socket::pair(Kind::Stream, NOBODY).unwrap();
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
        let (a, b) = Socket::pair(Kind::Packets, NOBODY).unwrap();
        for message in [&b"one"[..], b"", b"three"] {
            assert_eq!(a.write(message, NEVER), Ok(message.len()));
        }
        let mut buffer = [0; 4];
        assert_eq!(b.read(&mut buffer, NEVER), Ok(3));
        assert_eq!(b.read(&mut buffer, NEVER), Ok(0));
        let mut peeked = Received::default();
        b.receive(&mut buffer, ReceiveFlags { blocking: NEVER, peek: true }, &mut peeked).unwrap();
        assert_eq!((peeked.len, peeked.whole), (4, 5));
        assert_eq!(b.read(&mut buffer, NEVER), Ok(4));
        drop(a);
        assert_eq!(b.read(&mut buffer, NEVER), Ok(0));
        assert_eq!(b.write(b"x", NEVER), Err(Errno::EPIPE));
    }

    #[test]
    fn the_end_is_seen_after_the_data() {
        let (a, b) = Socket::pair(Kind::Stream, NOBODY).unwrap();
        a.write(b"last", NEVER).unwrap();
        drop(a);
        let mut buffer = [0; 8];
        assert!(b.poll().contains(PollEvents::HANG_UP));
        assert_eq!(b.read(&mut buffer, NEVER), Ok(4));
        assert_eq!(b.read(&mut buffer, NEVER), Ok(0));
        assert_eq!(b.write(b"x", NEVER), Err(Errno::EPIPE));
    }

    #[test]
    fn connections_are_taken_in_order() {
        let _turn = turn();
        let address = || names::Address::Abstract((*b"order").into());
        let listener = Socket::new(Kind::Stream).unwrap();
        assert_eq!(listener.listen(1, NOBODY), Err(Errno::EINVAL));
        listener.bind_abstract(Some(b"order")).unwrap();
        let client = || Socket::new(Kind::Stream).unwrap();
        assert_eq!(client().connect(&address(), NOBODY, NEVER), Err(Errno::ECONNREFUSED));
        listener.listen(1, NOBODY).unwrap();
        let (first, second, third) = (client(), client(), client());
        assert_eq!(first.connect(&address(), NOBODY, NEVER), Ok(()));
        assert_eq!(second.connect(&address(), NOBODY, NEVER), Ok(()));
        assert_eq!(third.connect(&address(), NOBODY, NEVER), Err(Errno::EAGAIN));
        assert_eq!(first.connect(&address(), NOBODY, NEVER), Err(Errno::EISCONN));
        let taken = listener.accept(NEVER).unwrap();
        assert_eq!(first.write(b"1", NEVER), Ok(1));
        let mut buffer = [0; 8];
        assert_eq!((taken.read(&mut buffer, NEVER), buffer[0]), (Ok(1), b'1'));
        assert_eq!(third.connect(&address(), NOBODY, NEVER), Ok(()));
        drop(listener);
        // Nobody has taken the second.
        assert_eq!(second.read(&mut buffer, NEVER), Err(Errno::ECONNRESET));
        assert_eq!(second.read(&mut buffer, NEVER), Ok(0));
        assert_eq!(client().connect(&address(), NOBODY, NEVER), Err(Errno::ECONNREFUSED));
        assert_eq!(taken.write(b"2", NEVER), Ok(1));
    }

    #[test]
    fn datagrams_go_to_names() {
        let _turn = turn();
        let address = names::Address::Abstract((*b"letters").into());
        let [receiver, sender, other] = [0; 3].map(|_| Socket::new(Kind::Datagram).unwrap());
        assert_eq!(sender.write(b"x", NEVER), Err(Errno::ENOTCONN));
        receiver.bind_abstract(Some(b"letters")).unwrap();
        assert_eq!(other.bind_abstract(Some(b"letters")), Err(Errno::EADDRINUSE));
        assert_eq!(sender.connect(&address, NOBODY, NEVER), Ok(()));
        // One more than may wait.
        let sent = (0..100).take_while(|_| sender.write(b"x", NEVER) == Ok(1)).count();
        assert_eq!((sent, sender.poll()), (11, PollEvents::empty()));
        assert_eq!(receiver.read(&mut [0; 8], NEVER), Ok(1));
        assert_eq!(sender.poll(), PollEvents::WRITABLE);
        drop(receiver);
        assert_eq!(sender.write(b"x", NEVER), Err(Errno::ECONNREFUSED));
        assert_eq!(sender.write(b"x", NEVER), Err(Errno::ENOTCONN));
    }

    #[test]
    fn closed_sockets_do_not_wait() {
        let _turn = turn();
        let address = names::Address::Abstract((*b"full").into());
        let receiver = Socket::new(Kind::Datagram).unwrap();
        receiver.bind_abstract(Some(b"full")).unwrap();
        for _ in 0..100 {
            let sender = Socket::new(Kind::Datagram).unwrap();
            sender.connect(&address, NOBODY, NEVER).unwrap();
            while sender.write(b"x", NEVER) == Ok(1) {}
        }
        // The last one has been closed since.
        assert_eq!(receiver.side.inbox.lock().take_waiting().len(), 1);
    }

    #[test]
    fn sockets_in_sockets_need_no_stack() {
        const DEPTH: usize = 100_000;
        let location =
            Namespace::new(Directory::root(0, Owner::default()), MountFlags::empty(), "", "").root();
        let open = |socket| OpenFile::new(Arc::new(socket), location.clone(), OpenFlags::READ_WRITE).unwrap();
        let (innermost, mut outer) = Socket::pair(Kind::Stream, NOBODY).unwrap();
        for index in 0..DEPTH {
            let kind = if index % 2 == 0 { Kind::Stream } else { Kind::Datagram };
            let (sender, receiver) = Socket::pair(kind, NOBODY).unwrap();
            let rights = Rights::new(alloc::vec![open(outer)], u64::MAX).unwrap();
            let mut with = Outgoing { rights, ..Outgoing::default() };
            assert_eq!(sender.send(b"x", &mut with, NEVER), Ok(1));
            outer = receiver;
        }
        assert_eq!(innermost.write(b"x", NEVER), Ok(1));
        drop(outer);
        assert_eq!(innermost.write(b"x", NEVER), Err(Errno::EPIPE));
    }
}
