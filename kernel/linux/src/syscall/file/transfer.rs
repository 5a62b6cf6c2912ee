// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Moving bytes between files and program memory.
//!
//! [`Segments`] is the memory that a call names: one buffer, or the vector of `readv` and its relatives. [`read`] and
//! [`write`] move bytes through a kernel buffer of at most [`CHUNK`] bytes, so a small program buffer is one transfer
//! and a vector arrives at a pipe in one piece. All of the memory must be accessible before anything is consumed from a
//! stream or written to a file: else the call is `EFAULT` and has done nothing.

use core::ops::Range;

use hadal_hal::memory::frames::Block;
use hadal_hal::memory::user;
use hadal_mem::space::FaultAccess;
use hadal_vfs::{Destination, OpenFile, Reading};
use smallvec::SmallVec;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::buffers::Buffer;
use crate::call::Call;
use crate::memory;
use crate::process::Process;
use crate::signal::number::SIGPIPE;
use crate::signal::send;
use crate::socket::Socket;
use crate::{Errno, Result};

/// Most bytes that one call moves, whatever it was asked for, as on Linux.
pub(in crate::syscall) const MAX_TRANSFER: usize = 0x7fff_f000;
/// Bytes of kernel memory that a transfer uses at most.
pub(in crate::syscall) const CHUNK: usize = 256 * 1024;
/// Of so many bytes a transfer takes no memory: those of events, and what programs write one by one.
const SMALL: usize = 64;
/// Segments that a vector takes no memory for.
const FEW: usize = 8;
/// Most segments of a vector (`UIO_MAXIOV`).
const MAX_SEGMENTS: usize = linux_raw_sys::general::UIO_MAXIOV as usize;

/// `struct iovec`.
#[repr(C)]
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
struct Iovec {
    base: usize,
    len: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Segment {
    address: usize,
    len: usize,
}

/// Program memory in pieces, taken from the front.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::syscall) struct Segments {
    /// The piece being used.
    front: Segment,
    /// The pieces behind it, in reverse order.
    rest: SmallVec<[Segment; 3]>,
}

impl Segments {
    /// One buffer, cut off at [`MAX_TRANSFER`]; `EFAULT` for a length that is negative as a signed number, since no memory
    /// is that large.
    pub(in crate::syscall) fn one(address: usize, len: usize) -> Result<Self> {
        if len > isize::MAX as usize {
            return Err(Errno::EFAULT);
        }
        Ok(Self { front: Segment { address, len: len.min(MAX_TRANSFER) }, rest: SmallVec::new() })
    }

    /// The buffers of an array of `count` `struct iovec` in program memory.
    pub(in crate::syscall) fn vector(address: usize, count: usize) -> Result<Self> {
        if count > MAX_SEGMENTS {
            return Err(Errno::EINVAL);
        }
        Self::from_iovecs(&memory::read_array::<[Iovec; FEW]>(address, count)?)
    }

    fn from_iovecs(iovecs: &[Iovec]) -> Result<Self> {
        let mut room = MAX_TRANSFER;
        let mut front = Segment { address: 0, len: 0 };
        let mut rest = SmallVec::new();
        memory::make_room(&mut rest, iovecs.len().saturating_sub(1))?;
        for iovec in iovecs {
            if iovec.len > isize::MAX as usize {
                return Err(Errno::EINVAL);
            }
            let segment = Segment { address: iovec.base, len: iovec.len.min(room) };
            room -= segment.len;
            if front.len == 0 {
                front = segment;
            } else if segment.len > 0 {
                rest.push(segment);
            }
        }
        rest.reverse();
        Ok(Self { front, rest })
    }

    /// Bytes left.
    #[inline]
    pub(in crate::syscall) fn len(&self) -> usize {
        if self.rest.is_empty() {
            return self.front.len;
        }
        self.front.len + self.rest.iter().map(|segment| segment.len).sum::<usize>()
    }

    /// `EFAULT` unless all of the memory may be accessed.
    pub(in crate::syscall) fn check(&self, process: &Process, access: FaultAccess) -> Result<()> {
        check_accessible(process, self.front.address, self.front.len, access)?;
        self.rest.iter().try_for_each(|part| check_accessible(process, part.address, part.len, access))
    }

    /// Takes `len` bytes off the front; `each` gets the address of every piece and where it lies within the `len` bytes.
    #[inline(always)]
    fn take(&mut self, len: usize, mut each: impl FnMut(usize, Range<usize>) -> Result<()>) -> Result<()> {
        // Mostly one piece has them all.
        if len <= self.front.len {
            each(self.front.address, 0..len)?;
            self.front.address += len;
            self.front.len -= len;
            return Ok(());
        }
        self.take_several(len, each)
    }

    fn take_several(
        &mut self,
        len: usize,
        mut each: impl FnMut(usize, Range<usize>) -> Result<()>,
    ) -> Result<()> {
        let mut at = 0;
        while at < len {
            if self.front.len == 0 {
                self.front = self.rest.pop().ok_or(Errno::EFAULT)?;
                continue;
            }
            let part = self.front.len.min(len - at);
            each(self.front.address, at..at + part)?;
            self.front.address += part;
            self.front.len -= part;
            at += part;
        }
        Ok(())
    }

    /// Copies data to the front of the memory.
    pub(in crate::syscall) fn scatter(&mut self, data: &[u8]) -> Result<()> {
        self.take(data.len(), |address, range| memory::write_bytes(address, &data[range]))
    }

    /// Fills a buffer from the front of the memory.
    pub(in crate::syscall) fn gather(&mut self, buffer: &mut [u8]) -> Result<()> {
        self.take(buffer.len(), |address, range| memory::read_bytes(address, &mut buffer[range]))
    }
}

impl Destination for Segments {
    fn put(&mut self, page: &Block, within: usize, len: usize) -> Result<()> {
        self.take(len, |address, range| {
            page.copy_to_program(within + range.start, range.len(), address).map_err(memory::efault)
        })
    }

    fn put_zeros(&mut self, len: usize) -> Result<()> {
        self.take(len, |address, range| user::zero(address, range.len()).map_err(memory::efault))
    }
}

/// `EFAULT` unless the program may access all of a range in that way.
pub(in crate::syscall) fn check_accessible(
    process: &Process,
    address: usize,
    len: usize,
    access: FaultAccess,
) -> Result<()> {
    if memory::permits(process, address, len, access) { Ok(()) } else { Err(Errno::EFAULT) }
}

/// An offset argument of `pread64` and its relatives: `EINVAL` when negative.
pub(in crate::syscall) fn position(offset: usize) -> Result<u64> {
    i64::try_from(offset).map(|offset| offset as u64).map_err(|_| Errno::EINVAL)
}

/// As [`position`], where -1 stands for the shared offset.
pub(in crate::syscall) fn position_or_shared(offset: usize) -> Result<Option<u64>> {
    if offset == usize::MAX { Ok(None) } else { position(offset).map(Some) }
}

/// The kernel's buffer for a transfer of so many bytes: the small one, or the large one, which gets its memory.
fn buffer_for<'a>(
    total: usize,
    small: &'a mut [u8; SMALL],
    large: &'a mut Option<Buffer>,
) -> Result<&'a mut [u8]> {
    if total <= SMALL {
        return Ok(&mut small[..total]);
    }
    Ok(match large {
        Some(buffer) => buffer,
        None => large.insert(Buffer::up_to(total.min(CHUNK))?),
    })
}

/// Reads from a file: at `position`, or at the shared offset (from a stream: what there is) when that is `None`.
pub(in crate::syscall) fn read(
    call: &Call<'_>,
    file: &OpenFile,
    mut into: Segments,
    position: Option<u64>,
) -> Result<usize> {
    if !file.status().readable() {
        return Err(Errno::EBADF);
    }
    into.check(call.process, FaultAccess::Write)?;
    let mut reading = file.reading(position)?;
    let total = into.len();
    let (mut small, mut large) = ([0; SMALL], None);
    let mut done = 0;
    loop {
        let step = read_step(&mut reading, total - done, &mut into, &mut small, &mut large);
        match step {
            Ok((count, wanted)) => {
                done += count;
                // Asking a stream again might wait though there is something to return.
                if count < wanted || done == total || !file.is_seekable() || !call.process.goes_on() {
                    return Ok(done);
                }
            }
            Err(_) if done > 0 => return Ok(done),
            Err(error) => {
                return Err(Socket::of(file).map_or(error, |socket| socket.receive_error(call, error)));
            }
        }
    }
}

/// Reads some of `left` bytes: how many, and how many it wanted to. Straight from the file's pages if it has them, and they
/// are worth it, or else by a buffer.
fn read_step(
    reading: &mut Reading<'_>,
    left: usize,
    into: &mut Segments,
    small: &mut [u8; SMALL],
    large: &mut Option<Buffer>,
) -> Result<(usize, usize)> {
    if left > SMALL {
        let wanted = left.min(CHUNK);
        if let Some(read) = reading.read_pages(wanted, into) {
            return read.map(|count| (count, wanted));
        }
    }
    let buffer = buffer_for(left, small, large)?;
    let wanted = left.min(buffer.len());
    let chunk = &mut buffer[..wanted];
    let count = reading.read(chunk)?;
    into.scatter(&chunk[..count])?;
    Ok((count, wanted))
}

/// Writes to a file: at `position`, or at the shared offset (or to the stream) when that is `None`. Raises SIGPIPE when
/// nobody reads the other end any more.
pub(in crate::syscall) fn write(
    call: &Call<'_>,
    file: &OpenFile,
    mut from: Segments,
    position: Option<u64>,
) -> Result<usize> {
    let total = from.len();
    // What one buffer holds is read whole before any of it is written, and so found out not to be accessible.
    if total > SMALL {
        if !file.status().writable() {
            return Err(Errno::EBADF);
        }
        from.check(call.process, FaultAccess::Read)?;
    }
    let mut writing = file.writing(position)?;
    let (mut small, mut large) = ([0; SMALL], None);
    let buffer = buffer_for(total, &mut small, &mut large)?;
    let mut done = 0;
    loop {
        let wanted = (total - done).min(buffer.len());
        let chunk = &mut buffer[..wanted];
        let written = from.gather(chunk).and_then(|()| writing.write(chunk));
        match written {
            Ok(count) => {
                done += count;
                if count < wanted || done == total || !call.process.goes_on() {
                    return Ok(done);
                }
            }
            Err(error) => {
                if error == Errno::EPIPE {
                    broken_pipe(call, file);
                }
                if done > 0 {
                    return Ok(done);
                }
                return Err(Socket::of(file).map_or(error, |socket| socket.send_error(call, error)));
            }
        }
    }
}

/// Raises SIGPIPE for a write to a file that nobody reads any more; sockets for messages do not.
pub(in crate::syscall) fn broken_pipe(call: &Call<'_>, file: &OpenFile) {
    if Socket::of(file).map_or(true, Socket::raises_sigpipe) {
        send::to_self(call.task, call.process, SIGPIPE);
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    fn iovecs(parts: &[(usize, usize)]) -> Vec<Iovec> {
        parts.iter().map(|&(base, len)| Iovec { base, len }).collect()
    }

    #[test]
    fn an_iovec_is_two_words() {
        assert_eq!(size_of::<Iovec>(), 16);
    }

    #[test]
    fn pieces_are_taken_in_order() {
        let mut segments = Segments::from_iovecs(&iovecs(&[(100, 4), (0, 0), (200, 10), (300, 1)])).unwrap();
        assert_eq!(segments.len(), 15);
        let mut seen = vec![];
        let mut note = |address, range: Range<usize>| {
            seen.push((address, range));
            Ok(())
        };
        segments.take(6, &mut note).unwrap();
        segments.take(9, &mut note).unwrap();
        assert_eq!(seen, [(100, 0..4), (200, 4..6), (202, 0..8), (300, 8..9)]);
        assert_eq!(segments.len(), 0);
        assert_eq!(segments.take(1, |_, _| Ok(())), Err(Errno::EFAULT));
    }

    #[test]
    fn totals_are_cut_off_where_linux_does() {
        let huge = isize::MAX as usize;
        assert_eq!(Segments::one(0, huge).unwrap().len(), MAX_TRANSFER);
        assert_eq!(Segments::one(0, huge + 1), Err(Errno::EFAULT));
        let cut = Segments::from_iovecs(&iovecs(&[(0x1000, 5), (0x2000, huge), (0x3000, 5)])).unwrap();
        assert_eq!(cut.len(), MAX_TRANSFER);
        assert!(cut.rest.iter().all(|segment| segment.address != 0x3000));
        assert_eq!(Segments::from_iovecs(&iovecs(&[(0, 1), (0, usize::MAX)])), Err(Errno::EINVAL));
        assert_eq!(Segments::vector(0, MAX_SEGMENTS + 1), Err(Errno::EINVAL));
        assert_eq!(Segments::from_iovecs(&[]).unwrap().len(), 0);
    }

    #[test]
    fn positions_are_not_negative() {
        assert_eq!(position(7), Ok(7));
        assert_eq!(position(usize::MAX), Err(Errno::EINVAL));
    }
}
