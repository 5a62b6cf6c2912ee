// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Two connected ends that carry bytes both ways: what `socketpair` makes.
//!
//! Each end has a buffer that the other end fills and a queue where its threads wait, for data and for room alike.

use alloc::collections::VecDeque;
use alloc::sync::Arc;

use hadal_sync::{Mutex, WaitMode, WaitQueue};
use hadal_vfs::{Blocking, File, IoctlArgument, PollEvents};
use linux_raw_sys::ioctl::FIONREAD;

use crate::{Errno, Result};

/// Bytes that may wait to be read at one end.
const CAPACITY: usize = 208 * 1024;

/// What one end has received.
struct Inbox {
    bytes: VecDeque<u8>,
    /// The end is still there to read them.
    open: bool,
}

/// One side of a connection.
struct Side {
    inbox: Mutex<Inbox>,
    queue: WaitQueue,
}

impl Side {
    fn new() -> Self {
        Self { inbox: Mutex::new(Inbox { bytes: VecDeque::new(), open: true }), queue: WaitQueue::new() }
    }
}

/// One end of a connection; the connection ends when it is dropped.
pub(super) struct StreamEnd {
    sides: Arc<[Side; 2]>,
    own: usize,
}

/// Makes a connection.
pub(super) fn pair() -> (StreamEnd, StreamEnd) {
    let sides = Arc::new([Side::new(), Side::new()]);
    (StreamEnd { sides: sides.clone(), own: 0 }, StreamEnd { sides, own: 1 })
}

impl StreamEnd {
    fn own(&self) -> &Side {
        &self.sides[self.own]
    }

    fn peer(&self) -> &Side {
        &self.sides[1 - self.own]
    }

    fn peer_is_open(&self) -> bool {
        self.peer().inbox.lock().open
    }

    /// Takes what is there: `None` when the caller has to wait.
    fn try_read(&self, buffer: &mut [u8]) -> Option<usize> {
        // Asked before looking for bytes: what the peer wrote before it left is found.
        let ended = !self.peer_is_open();
        let mut inbox = self.own().inbox.lock();
        if inbox.bytes.is_empty() {
            return ended.then_some(0);
        }
        let count = buffer.len().min(inbox.bytes.len());
        let (front, back) = inbox.bytes.as_slices();
        let first = count.min(front.len());
        buffer[..first].copy_from_slice(&front[..first]);
        buffer[first..count].copy_from_slice(&back[..count - first]);
        inbox.bytes.drain(..count);
        Some(count)
    }

    /// Sends what fits: `None` when the caller has to wait.
    fn try_write(&self, data: &[u8]) -> Option<Result<usize>> {
        let mut inbox = self.peer().inbox.lock();
        if !inbox.open {
            return Some(Err(Errno::EPIPE));
        }
        let count = data.len().min(CAPACITY.saturating_sub(inbox.bytes.len()));
        if count == 0 {
            return None;
        }
        if inbox.bytes.try_reserve(count).is_err() {
            return Some(Err(Errno::ENOMEM));
        }
        inbox.bytes.extend(&data[..count]);
        Some(Ok(count))
    }
}

impl File for StreamEnd {
    fn read(&self, buffer: &mut [u8], blocking: Blocking) -> Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let count = match blocking {
            Blocking::Never => self.try_read(buffer).ok_or(Errno::EAGAIN)?,
            Blocking::Wait => {
                self.own().queue.wait_until(None, WaitMode::Interruptible, || self.try_read(buffer))?
            }
        };
        if count > 0 {
            self.peer().queue.wake_all();
        }
        Ok(count)
    }

    fn write(&self, data: &[u8], blocking: Blocking) -> Result<usize> {
        let mut written = 0;
        while written < data.len() {
            let rest = &data[written..];
            let step = match blocking {
                Blocking::Never => self.try_write(rest).ok_or(Errno::EAGAIN),
                Blocking::Wait => {
                    let attempt = || self.try_write(rest);
                    self.own().queue.wait_until(None, WaitMode::Interruptible, attempt).map_err(Errno::from)
                }
            };
            match step.and_then(|result| result) {
                Ok(count) => written += count,
                Err(error) if written == 0 => return Err(error),
                Err(_) => break,
            }
            self.peer().queue.wake_all();
        }
        Ok(written)
    }

    fn poll(&self) -> PollEvents {
        let (open, room) = {
            let inbox = self.peer().inbox.lock();
            (inbox.open, inbox.bytes.len() < CAPACITY)
        };
        let readable = !self.own().inbox.lock().bytes.is_empty();
        let mut events = PollEvents::empty();
        events.set(PollEvents::READABLE, readable || !open);
        events.set(PollEvents::WRITABLE, room || !open);
        events.set(PollEvents::HANG_UP, !open);
        events
    }

    fn ioctl(&self, request: u32, argument: &mut dyn IoctlArgument) -> Result<usize> {
        if request != FIONREAD {
            return Err(Errno::ENOTTY);
        }
        let count = self.own().inbox.lock().bytes.len() as u32;
        argument.write(&count.to_ne_bytes())?;
        Ok(0)
    }

    fn wait_queues(&self) -> [Option<&WaitQueue>; 2] {
        [Some(&self.own().queue), None]
    }

    fn is_pollable(&self) -> bool {
        true
    }
}

impl Drop for StreamEnd {
    fn drop(&mut self) {
        let mut inbox = self.own().inbox.lock();
        inbox.open = false;
        inbox.bytes = VecDeque::new();
        drop(inbox);
        self.peer().queue.wake_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEVER: Blocking = Blocking::Never;

    #[test]
    fn bytes_go_both_ways() {
        let (a, b) = pair();
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
        let (a, b) = pair();
        let data = alloc::vec![7; CAPACITY + 1];
        assert_eq!(a.write(&data, NEVER), Ok(CAPACITY));
        assert_eq!(a.write(b"x", NEVER), Err(Errno::EAGAIN));
        assert!(!a.poll().contains(PollEvents::WRITE));
        assert_eq!(b.read(&mut [0; 10], NEVER), Ok(10));
        assert_eq!(a.write(&data, NEVER), Ok(10));
    }

    #[test]
    fn the_end_is_seen_after_the_data() {
        let (a, b) = pair();
        a.write(b"last", NEVER).unwrap();
        drop(a);
        let mut buffer = [0; 8];
        assert!(b.poll().contains(PollEvents::HANG_UP));
        assert_eq!(b.read(&mut buffer, NEVER), Ok(4));
        assert_eq!(b.read(&mut buffer, NEVER), Ok(0));
        assert_eq!(b.write(b"x", NEVER), Err(Errno::EPIPE));
    }
}
