// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Moving bytes between files and program memory.
//!
//! [`read`] moves bytes straight from where the file has them in memory, if it does. All else goes through a kernel buffer of
//! at most [`CHUNK`] bytes, so a small program buffer is one transfer and a vector arrives at a pipe in one piece; then all of
//! the memory must be accessible before anything is consumed from a stream or written to a file: else the call is `EFAULT`
//! and has done nothing.

use hadal_mem::space::FaultAccess;
use hadal_vfs::{OpenFile, Reading, Writing};

use super::segments::Memory;
use super::size_limit;
use crate::buffers::Buffer;
use crate::call::Call;
use crate::signal::number::SIGPIPE;
use crate::signal::send;
use crate::socket::Socket;
use crate::{Errno, Result};

/// Most bytes that one call moves, whatever it was asked for, as on Linux.
pub(crate) const MAX_TRANSFER: usize = 0x7fff_f000;
/// Bytes of kernel memory that a transfer uses at most.
pub(crate) const CHUNK: usize = 256 * 1024;
/// Of so many bytes a transfer takes no memory: those of events, and what programs write one by one.
const SMALL: usize = 64;

/// An offset argument of `pread64` and its relatives: `EINVAL` when negative.
pub(crate) fn position(offset: usize) -> Result<u64> {
    i64::try_from(offset).map(|offset| offset as u64).map_err(|_| Errno::EINVAL)
}

/// As [`position`], where -1 stands for the shared offset.
pub(crate) fn position_or_shared(offset: usize) -> Result<Option<u64>> {
    if offset == usize::MAX { Ok(None) } else { position(offset).map(Some) }
}

/// Reads from a file: at `position`, or at the shared offset (from a stream: what there is) when that is `None`.
#[inline(always)]
pub(crate) fn read<M: Memory>(
    call: &Call<'_>,
    file: &OpenFile,
    mut into: M,
    position: Option<u64>,
) -> Result<usize> {
    let mut reading = file.reading(position)?;
    let total = into.len();
    let mut done = 0;
    loop {
        let wanted = (total - done).min(CHUNK);
        match reading.read_direct(wanted, &mut into) {
            Some(Ok(count)) => {
                done += count;
                if count < wanted || done == total || !call.process.goes_on() {
                    return Ok(done);
                }
            }
            Some(Err(_)) if done > 0 => return Ok(done),
            Some(Err(error)) => return Err(error),
            None => {
                return match read_by_buffer(call, file, reading, into) {
                    Ok(count) => Ok(done + count),
                    Err(_) if done > 0 => Ok(done),
                    Err(error) => Err(error),
                };
            }
        }
    }
}

#[inline(never)]
fn read_by_buffer<M: Memory>(
    call: &Call<'_>,
    file: &OpenFile,
    mut reading: Reading<'_>,
    mut into: M,
) -> Result<usize> {
    into.check(call.process, FaultAccess::Write)?;
    let result = if into.len() <= SMALL {
        let mut small = [0; SMALL];
        read_step(&mut reading, &mut into, &mut small)
    } else {
        read_steps(call, file, &mut reading, &mut into)
    };
    result.map_err(|error| Socket::of(file).map_or(error, |socket| socket.receive_error(call, error)))
}

/// Reads into as much of the memory as the buffer has room for.
#[inline(always)]
fn read_step<M: Memory>(reading: &mut Reading<'_>, into: &mut M, buffer: &mut [u8]) -> Result<usize> {
    let wanted = into.len().min(buffer.len());
    let buffer = &mut buffer[..wanted];
    let count = reading.read(buffer)?;
    into.scatter(&buffer[..count])?;
    Ok(count)
}

fn read_steps<M: Memory>(
    call: &Call<'_>,
    file: &OpenFile,
    reading: &mut Reading<'_>,
    into: &mut M,
) -> Result<usize> {
    let total = into.len();
    let mut buffer = Buffer::up_to(total.min(CHUNK))?;
    let mut done = 0;
    loop {
        let wanted = (total - done).min(buffer.len());
        match read_step(reading, into, &mut buffer) {
            Ok(count) => {
                done += count;
                // Asking a stream again might wait though there is something to return.
                if count < wanted || done == total || !file.is_seekable() || !call.process.goes_on() {
                    return Ok(done);
                }
            }
            Err(_) if done > 0 => return Ok(done),
            Err(error) => return Err(error),
        }
    }
}

/// Writes to a file: at `position`, or at the shared offset (or to the stream) when that is `None`. Raises SIGPIPE when
/// nobody reads the other end any more.
#[inline(always)]
pub(crate) fn write<M: Memory>(
    call: &Call<'_>,
    file: &OpenFile,
    mut from: M,
    position: Option<u64>,
) -> Result<usize> {
    let total = from.len();
    if !size_limit::is_unlimited(call) {
        return write_within(call, file, from, position);
    }
    if total > SMALL {
        return write_steps(call, file, from, position);
    }
    let mut writing = file.writing(position)?;
    let mut small = [0; SMALL];
    let chunk = &mut small[..total];
    // All of it is read, and so found out not to be accessible, before any of it is written.
    let written = from.gather(chunk).and_then(|()| writing.write(chunk));
    written.map_err(|error| write_error(call, file, error, 0))
}

#[inline(never)]
fn write_steps<M: Memory>(call: &Call<'_>, file: &OpenFile, from: M, position: Option<u64>) -> Result<usize> {
    steps(call, file, from, position, |writing, data| writing.write(data))
}

/// The same for a process that may make files so long only.
#[cold]
#[inline(never)]
fn write_within<M: Memory>(
    call: &Call<'_>,
    file: &OpenFile,
    from: M,
    position: Option<u64>,
) -> Result<usize> {
    steps(call, file, from, position, |writing, data| size_limit::write(call, file, writing, data))
}

#[inline(always)]
fn steps<M: Memory>(
    call: &Call<'_>,
    file: &OpenFile,
    mut from: M,
    position: Option<u64>,
    mut write: impl FnMut(&mut Writing<'_>, &[u8]) -> Result<usize>,
) -> Result<usize> {
    if !file.status().writable() {
        return Err(Errno::EBADF);
    }
    from.check(call.process, FaultAccess::Read)?;
    let mut writing = file.writing(position)?;
    let total = from.len();
    let mut buffer = Buffer::up_to(total.min(CHUNK))?;
    let mut done = 0;
    loop {
        let wanted = (total - done).min(buffer.len());
        let chunk = &mut buffer[..wanted];
        let written = from.gather(chunk).and_then(|()| write(&mut writing, chunk));
        match written {
            Ok(count) => {
                done += count;
                if count < wanted || done == total || !call.process.goes_on() {
                    return Ok(done);
                }
            }
            Err(error) => {
                let error = write_error(call, file, error, done);
                return if done > 0 { Ok(done) } else { Err(error) };
            }
        }
    }
}

/// What a program sees of a write that failed after `done` bytes.
#[cold]
fn write_error(call: &Call<'_>, file: &OpenFile, error: Errno, done: usize) -> Errno {
    if error == Errno::EPIPE {
        broken_pipe(call, file);
    }
    // Of a write that has begun what is there counts.
    if done == 0 {
        size_limit::note(call, error);
    }
    if done > 0 { error } else { Socket::of(file).map_or(error, |socket| socket.send_error(call, error)) }
}

/// Raises SIGPIPE for a write to a file that nobody reads any more; sockets for messages do not.
pub(crate) fn broken_pipe(call: &Call<'_>, file: &OpenFile) {
    if Socket::of(file).map_or(true, Socket::raises_sigpipe) {
        send::to_self(call.task, call.process, SIGPIPE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_not_negative() {
        assert_eq!(position(7), Ok(7));
        assert_eq!(position(usize::MAX), Err(Errno::EINVAL));
    }
}
