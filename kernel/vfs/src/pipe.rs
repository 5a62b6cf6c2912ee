// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pipes.
//!
//! [`create`] makes the two ends of a new [`Pipe`]. The ring holds 64 KiB unless changed; a write of up to
//! [`PIPE_BUF`] bytes arrives in one piece. Each end waits on its own queue, and the last reader or writer to
//! leave wakes the other side, which then sees `EPIPE` or the end of the data. [`named`] gives pipes names.

pub(crate) mod named;

use alloc::format;
use alloc::sync::{Arc, Weak};
use core::sync::atomic::{AtomicU64, Ordering};

use hadal_hal::memory::fallible;
use hadal_hal::sync::{Rank, SpinLock};
use hadal_sync::{Mutex, WaitMode, WaitQueue};
use spin::Once;

use crate::device_numbers;
use crate::errno::{Errno, Result};
use crate::file::{Blocking, File, IoctlArgument};
use crate::flags::{OpenFlags, PollEvents};
use crate::inode::{Inode, InodeId, Owner};
use crate::metadata::{FileKind, Metadata, SetAttr, StatFs, Timespec};
use crate::namespace::{Caller, Location};
use crate::open_file::OpenFile;
use crate::ring::Ring;

/// Writes up to this many bytes are atomic.
pub const PIPE_BUF: usize = 4096;
/// Capacity of a new pipe in bytes.
pub const DEFAULT_CAPACITY: usize = 65536;
/// Highest capacity `F_SETPIPE_SZ` grants.
pub const MAX_CAPACITY: usize = 1 << 20;
/// The magic number `fstatfs` reports for a pipe.
const PIPEFS_MAGIC: u64 = 0x5049_5045;
/// `ioctl` request: how many bytes can be read.
const FIONREAD: u32 = 0x541b;

/// Makes a pipe; returns its read end and its write end. `flags` may contain `O_NONBLOCK`.
pub fn create(caller: &Caller<'_>, flags: OpenFlags) -> Result<(Arc<OpenFile>, Arc<OpenFile>)> {
    static DEVICE: Once<u64> = Once::new();
    static NEXT_INO: AtomicU64 = AtomicU64::new(1);
    let id = InodeId {
        dev: *DEVICE.call_once(device_numbers::next),
        ino: NEXT_INO.fetch_add(1, Ordering::Relaxed),
    };
    let pipe = Pipe::new(id, Owner { uid: caller.uid, gid: caller.gid }, false)?;
    let label = format!("pipe:[{}]", id.ino);
    let place = Location::anonymous(pipe.clone(), label.as_bytes())?;
    let status = flags.intersection(OpenFlags::NONBLOCK);
    let reader = OpenFile::new(fallible::arc(pipe.end(true, false)?)?, place.clone(), status)?;
    let end = fallible::arc(pipe.end(false, true)?)?;
    let writer = OpenFile::new(end, place, status | OpenFlags::WRITE_ONLY)?;
    Ok((reader, writer))
}

struct State {
    ring: Ring,
    capacity: usize,
    readers: usize,
    writers: usize,
    /// Ends that read there have ever been.
    openings_to_read: u64,
    /// Ends that write there have ever been.
    openings_to_write: u64,
}

impl State {
    fn new() -> Self {
        let (ring, capacity) = (Ring::new(), DEFAULT_CAPACITY);
        Self { ring, capacity, readers: 0, writers: 0, openings_to_read: 0, openings_to_write: 0 }
    }

    fn room(&self) -> usize {
        self.capacity.saturating_sub(self.ring.len())
    }
}

/// A pipe, seen as an inode; opening it again (through `/proc/self/fd`) gives one more end.
pub struct Pipe {
    this: Weak<Pipe>,
    id: InodeId,
    metadata: SpinLock<Metadata>,
    state: Mutex<State>,
    /// Readers wait here for data.
    read_queue: WaitQueue,
    /// Writers wait here for room.
    write_queue: WaitQueue,
    /// Whether it is found by its inode ([`named`]).
    is_named: bool,
}

impl Pipe {
    fn new(id: InodeId, owner: Owner, is_named: bool) -> Result<Arc<Self>> {
        let mode = FileKind::Fifo.mode_bits() | 0o600;
        let metadata = Metadata::without_storage(id, mode, owner, Timespec::now());
        let pipe = fallible::arc_cyclic(|this| Self {
            this: this.clone(),
            id,
            metadata: SpinLock::ranked(Rank::Files, metadata),
            state: Mutex::new(State::new()),
            read_queue: WaitQueue::new(),
            write_queue: WaitQueue::new(),
            is_named,
        });
        Ok(pipe?)
    }

    fn end(&self, reads: bool, writes: bool) -> Result<PipeEnd> {
        let pipe = self.this.upgrade().ok_or(Errno::ENXIO)?;
        Ok(PipeEnd::new(pipe, &mut self.state.lock(), (reads, writes), 0))
    }

    /// Takes what is there, and says whether writers saw a full pipe: `None` when the caller has to wait.
    fn try_read(&self, buffer: &mut [u8]) -> Option<(usize, bool)> {
        let mut state = self.state.lock();
        if state.ring.is_empty() {
            return (state.writers == 0).then_some((0, false));
        }
        let was_full = state.room() < PIPE_BUF;
        let count = state.ring.pop(buffer);
        // A pipe that was made large keeps no memory while it is empty.
        if state.ring.is_empty() && state.ring.capacity() > DEFAULT_CAPACITY {
            state.ring = Ring::new();
        }
        Some((count, was_full))
    }

    /// Puts in what fits, but all or nothing up to [`PIPE_BUF`] bytes: `None` when the caller has to wait.
    fn try_write(&self, data: &[u8]) -> Option<Result<usize>> {
        let mut state = self.state.lock();
        if state.readers == 0 {
            return Some(Err(Errno::EPIPE));
        }
        let room = state.room();
        if room == 0 || data.len() <= PIPE_BUF && room < data.len() {
            return None;
        }
        let count = data.len().min(room);
        if let Err(error) = state.ring.make_room(count) {
            return Some(Err(error.into()));
        }
        state.ring.push(&data[..count]);
        Some(Ok(count))
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        if self.is_named {
            named::forget(self.id);
        }
    }
}

impl Inode for Pipe {
    fn identity(&self) -> InodeId {
        self.id
    }

    fn kind(&self) -> FileKind {
        FileKind::Fifo
    }

    fn metadata(&self) -> Result<Metadata> {
        Ok(*self.metadata.lock())
    }

    fn set_attr(&self, change: &SetAttr) -> Result<()> {
        self.metadata.lock().change(change);
        Ok(())
    }

    fn open(self: Arc<Self>, flags: OpenFlags) -> Result<Arc<dyn File>> {
        Ok(fallible::arc(self.end(flags.readable(), flags.writable())?)?)
    }

    fn statfs(&self) -> Result<StatFs> {
        Ok(StatFs { magic: PIPEFS_MAGIC, block_size: 4096, name_max: 255, ..StatFs::default() })
    }
}

/// One end of a pipe (or both, when opened for reading and writing).
struct PipeEnd {
    pipe: Arc<Pipe>,
    reads: bool,
    writes: bool,
    /// Openings to write that are no hang-up when no writer is left.
    writers_before: u64,
}

impl PipeEnd {
    /// An end of a pipe whose state the caller has locked.
    fn new(pipe: Arc<Pipe>, state: &mut State, (reads, writes): (bool, bool), writers_before: u64) -> Self {
        state.readers += usize::from(reads);
        state.writers += usize::from(writes);
        state.openings_to_read += u64::from(reads);
        state.openings_to_write += u64::from(writes);
        Self { pipe, reads, writes, writers_before }
    }

    /// Writes what has not been written yet, waiting for room as often as needed.
    #[cold]
    fn write_rest(&self, data: &[u8], already: usize) -> Result<usize> {
        let pipe = &self.pipe;
        let mut written = already;
        while written < data.len() {
            let rest = &data[written..];
            let step = pipe.write_queue.wait_until(None, WaitMode::Interruptible, || pipe.try_write(rest));
            match step.map_err(Errno::from).and_then(|result| result) {
                Ok(count) => written += count,
                Err(error) if written == 0 => return Err(error),
                Err(_) => break,
            }
            pipe.read_queue.wake_all_for(PollEvents::READABLE.changes());
        }
        Ok(written)
    }
}

impl File for PipeEnd {
    fn read(&self, buffer: &mut [u8], blocking: Blocking) -> Result<usize> {
        if !self.reads {
            return Err(Errno::EBADF);
        }
        if buffer.is_empty() {
            return Ok(0);
        }
        let pipe = &self.pipe;
        let (count, was_full) = match blocking {
            Blocking::Never => pipe.try_read(buffer).ok_or(Errno::EAGAIN)?,
            Blocking::Wait => {
                pipe.read_queue.wait_until(None, WaitMode::Interruptible, || pipe.try_read(buffer))?
            }
        };
        if count > 0 {
            // As on Linux: news for who waits for an edge only if there was no room before.
            let changes = if was_full { PollEvents::WRITABLE } else { PollEvents::empty() };
            pipe.write_queue.wake_all_for(changes.changes());
        }
        Ok(count)
    }

    fn write(&self, data: &[u8], blocking: Blocking) -> Result<usize> {
        if !self.writes {
            return Err(Errno::EBADF);
        }
        if data.is_empty() {
            return Ok(0);
        }
        // Mostly there is room for all of it.
        let written = match self.pipe.try_write(data) {
            Some(result) => {
                let written = result?;
                self.pipe.read_queue.wake_all_for(PollEvents::READABLE.changes());
                written
            }
            None if blocking == Blocking::Never => return Err(Errno::EAGAIN),
            None => 0,
        };
        if written == data.len() || blocking == Blocking::Never {
            return Ok(written);
        }
        self.write_rest(data, written)
    }

    fn poll(&self) -> PollEvents {
        let state = self.pipe.state.lock();
        let mut events = PollEvents::empty();
        if self.reads {
            events.set(PollEvents::READABLE, !state.ring.is_empty());
            let has_met = state.openings_to_write != self.writers_before;
            events.set(PollEvents::HANG_UP, state.writers == 0 && has_met);
        }
        if self.writes {
            events.set(PollEvents::WRITABLE, state.room() >= PIPE_BUF);
            events.set(PollEvents::ERROR, state.readers == 0);
        }
        events
    }

    fn wait_queues(&self) -> [Option<&WaitQueue>; 2] {
        [self.reads.then_some(&self.pipe.read_queue), self.writes.then_some(&self.pipe.write_queue)]
    }

    fn ioctl(&self, request: u32, argument: &mut dyn IoctlArgument) -> Result<usize> {
        match request {
            FIONREAD => {
                let count = self.pipe.state.lock().ring.len() as u32;
                argument.write(&count.to_ne_bytes())?;
                Ok(0)
            }
            _ => Err(Errno::ENOTTY),
        }
    }

    fn pipe_capacity(&self) -> Result<usize> {
        Ok(self.pipe.state.lock().capacity)
    }

    fn set_pipe_capacity(&self, bytes: usize) -> Result<usize> {
        if bytes > MAX_CAPACITY {
            return Err(Errno::EPERM);
        }
        let capacity = bytes.max(PIPE_BUF).next_power_of_two();
        let mut state = self.pipe.state.lock();
        if state.ring.len() > capacity {
            return Err(Errno::EBUSY);
        }
        state.capacity = capacity;
        drop(state);
        self.pipe.write_queue.wake_all();
        Ok(capacity)
    }
}

impl Drop for PipeEnd {
    fn drop(&mut self) {
        let mut state = self.pipe.state.lock();
        state.readers -= usize::from(self.reads);
        state.writers -= usize::from(self.writes);
        drop(state);
        self.pipe.read_queue.wake_all();
        self.pipe.write_queue.wake_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::USER;

    fn pair() -> (Arc<OpenFile>, Arc<OpenFile>) {
        create(&USER, OpenFlags::NONBLOCK).unwrap()
    }

    fn poll(file: &OpenFile) -> PollEvents {
        file.file().unwrap().poll()
    }

    #[test]
    fn bytes_come_out_in_order() {
        let (reader, writer) = pair();
        let mut buffer = [0; 8];
        assert_eq!(reader.read(&mut buffer), Err(Errno::EAGAIN));
        assert_eq!(writer.write(b"hello "), Ok(6));
        assert_eq!(writer.write(b"world"), Ok(5));
        assert_eq!(reader.read(&mut buffer), Ok(8));
        assert_eq!(&buffer, b"hello wo");
        assert_eq!(reader.read(&mut buffer), Ok(3));
        assert_eq!(reader.write(b"x"), Err(Errno::EBADF));
        assert_eq!(writer.read(&mut buffer), Err(Errno::EBADF));
        assert_eq!(reader.seek(crate::SeekFrom::Start(0)), Err(Errno::ESPIPE));
        assert_eq!(reader.read_at(0, &mut buffer), Err(Errno::ESPIPE));
    }

    #[test]
    fn small_writes_are_all_or_nothing() {
        let (reader, writer) = pair();
        assert_eq!(writer.write(&[1; DEFAULT_CAPACITY - 100]), Ok(DEFAULT_CAPACITY - 100));
        assert_eq!(writer.write(&[2; 101]), Err(Errno::EAGAIN));
        assert_eq!(writer.write(&[2; PIPE_BUF + 1]), Ok(100));
        assert_eq!(writer.write(&[2; PIPE_BUF + 1]), Err(Errno::EAGAIN));
        assert!(!poll(&writer).contains(PollEvents::WRITE));
        let mut buffer = [0; 5000];
        assert_eq!(reader.read(&mut buffer), Ok(5000));
        assert!(poll(&writer).contains(PollEvents::WRITE));
        assert_eq!(writer.write(&[2; PIPE_BUF]), Ok(PIPE_BUF));
    }

    #[test]
    fn the_last_end_to_close_is_seen() {
        let (reader, writer) = pair();
        assert_eq!(poll(&reader), PollEvents::empty());
        writer.write(b"rest").unwrap();
        assert_eq!(poll(&reader), PollEvents::READABLE);
        drop(writer);
        assert_eq!(poll(&reader), PollEvents::READABLE | PollEvents::HANG_UP);
        let mut buffer = [0; 8];
        assert_eq!(reader.read(&mut buffer), Ok(4));
        assert_eq!(reader.read(&mut buffer), Ok(0));

        let (reader, writer) = pair();
        drop(reader);
        assert!(poll(&writer).contains(PollEvents::ERROR));
        assert_eq!(writer.write(b"x"), Err(Errno::EPIPE));
        writer.set_status(OpenFlags::empty());
        assert_eq!(writer.write(b"x"), Err(Errno::EPIPE));
        assert_eq!(writer.write(b""), Ok(0));
    }

    #[test]
    fn opening_the_inode_again_gives_one_more_end() {
        let (reader, writer) = pair();
        let end = writer.inode().clone().open(OpenFlags::WRITE_ONLY).unwrap();
        drop(writer);
        assert_eq!(poll(&reader), PollEvents::empty());
        assert_eq!(end.write(b"still", Blocking::Never), Ok(5));
        drop(end);
        assert!(poll(&reader).contains(PollEvents::HANG_UP));
        assert!(reader.location().path().starts_with(b"pipe:["));
        assert_eq!(reader.metadata().unwrap().mode, 0o010600);
    }

    #[test]
    fn the_capacity_can_be_changed() {
        let (reader, writer) = pair();
        let file = writer.file().unwrap();
        assert_eq!(file.pipe_capacity(), Ok(DEFAULT_CAPACITY));
        assert_eq!(file.set_pipe_capacity(5000), Ok(8192));
        assert_eq!(writer.write(&[1; 9000]), Ok(8192));
        assert_eq!(file.set_pipe_capacity(4096), Err(Errno::EBUSY));
        assert_eq!(file.set_pipe_capacity(MAX_CAPACITY + 1), Err(Errno::EPERM));
        let mut buffer = vec![0; 8000];
        assert_eq!(reader.read(&mut buffer), Ok(8000));
        assert_eq!(file.set_pipe_capacity(0), Ok(4096));
    }

    struct Argument(Vec<u8>);

    impl IoctlArgument for Argument {
        fn value(&self) -> usize {
            0
        }
        fn read(&mut self, _buffer: &mut [u8]) -> Result<()> {
            Err(Errno::EFAULT)
        }
        fn write(&mut self, data: &[u8]) -> Result<()> {
            self.0.extend_from_slice(data);
            Ok(())
        }
    }

    #[test]
    fn fionread_counts_bytes() {
        let (reader, writer) = pair();
        writer.write(&[1; 300]).unwrap();
        let mut argument = Argument(Vec::new());
        assert_eq!(reader.file().unwrap().ioctl(FIONREAD, &mut argument), Ok(0));
        assert_eq!(argument.0, 300u32.to_ne_bytes());
        assert_eq!(reader.file().unwrap().ioctl(1, &mut argument), Err(Errno::ENOTTY));
    }
}
