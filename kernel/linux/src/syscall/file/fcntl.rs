// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `fcntl(2)`: questions and changes about a descriptor or its open file.
//!
//! Honoured: `F_DUPFD`, `F_DUPFD_CLOEXEC`, `F_GETFD`, `F_SETFD`, `F_GETFL`, `F_SETFL` (`O_APPEND`, `O_NONBLOCK`, `O_DIRECT`,
//! `O_NOATIME`), `F_GETPIPE_SZ`, `F_SETPIPE_SZ`, `F_GET_SEALS`, `F_ADD_SEALS` (of files in memory: `F_SEAL_SEAL`, `F_SEAL_SHRINK`,
//! `F_SEAL_GROW`, `F_SEAL_WRITE`, `F_SEAL_FUTURE_WRITE`); the record locks `F_SETLK`, `F_SETLKW`, `F_GETLK`,
//! `F_OFD_SETLK`, `F_OFD_SETLKW`, `F_OFD_GETLK` among the machine's processes (`record_locks.rs`). They are not known to the host.
//!
//! Refused: `O_ASYNC` and every other command (`EINVAL`): owners and signals, leases, notifications, write
//! hints.

use hadal_vfs::{OpenFile, OpenFlags, Seals, SeekFrom};
use linux_raw_sys::general::{
    F_ADD_SEALS, F_DUPFD, F_DUPFD_CLOEXEC, F_GET_SEALS, F_GETFD, F_GETFL, F_GETLK, F_GETOWN, F_GETPIPE_SZ,
    F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW, F_RDLCK, F_SETFD, F_SETFL, F_SETLK, F_SETLKW, F_SETPIPE_SZ,
    F_UNLCK, F_WRLCK, FD_CLOEXEC, SEEK_CUR, SEEK_END, SEEK_SET,
};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::call::Call;
use crate::files::mapped;
use crate::process::Process;
use crate::record_locks::{self, Holder, RecordKind, Span};
use crate::strace::signature;
use crate::{Errno, Result, memory};

/// `O_ASYNC`: a signal when the file becomes ready.
const ASYNC: u32 = 0o20000;

/// `struct flock`.
#[repr(C)]
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
struct RecordLock {
    kind: i16,
    whence: i16,
    padding: u32,
    start: i64,
    len: i64,
    pid: i32,
    padding_end: u32,
}

const _: () = assert!(size_of::<RecordLock>() == 32);

signature!(|words| match words[1] as u32 {
    F_GETFD | F_GETFL | F_GETOWN | F_GETPIPE_SZ | F_GET_SEALS => &[Int, Choice(flags::FCNTL)],
    F_SETFL => &[Int, Choice(flags::FCNTL), Flags(&flags::OPEN)],
    F_DUPFD | F_DUPFD_CLOEXEC | F_SETFD => &[Int, Choice(flags::FCNTL), Int],
    _ => &[Int, Choice(flags::FCNTL), Hex],
});

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (files, fd, command, argument) = (call.process.files(), call.int(0), call.uint(1), call.arg(2));
    let file = files.get(fd)?;
    // An `O_PATH` descriptor has no open file to ask.
    if file.file().is_err() && !matches!(command, F_DUPFD | F_DUPFD_CLOEXEC | F_GETFD | F_SETFD | F_GETFL) {
        return Err(Errno::EBADF);
    }
    match command {
        F_DUPFD | F_DUPFD_CLOEXEC => {
            files.dup(fd, argument as i32, command == F_DUPFD_CLOEXEC).map(|new| new as usize)
        }
        F_GETFD => Ok(if files.close_on_exec(fd)? { FD_CLOEXEC as usize } else { 0 }),
        F_SETFD => files.set_close_on_exec(fd, argument as u32 & FD_CLOEXEC != 0).map(|()| 0),
        F_GETFL => Ok(file.status().bits() as usize),
        F_SETFL => set_status(&file, argument as u32),
        F_SETLK | F_SETLKW | F_OFD_SETLK | F_OFD_SETLKW => {
            set_record_lock(call.process, &file, argument, command)
        }
        F_GETLK | F_OFD_GETLK => get_record_lock(call.process, &file, argument, command),
        F_GETPIPE_SZ => file.file()?.pipe_capacity(),
        F_SETPIPE_SZ => {
            let bytes = u32::try_from(argument).map_err(|_| Errno::EINVAL)?;
            file.file()?.set_pipe_capacity(bytes as usize)
        }
        F_GET_SEALS => file.file()?.seals().map(|seals| seals.bits().into()),
        F_ADD_SEALS => add_seals(call.process, &file, argument),
        _ => Err(Errno::EINVAL),
    }
}

fn add_seals(process: &Process, file: &OpenFile, argument: usize) -> Result<usize> {
    if !file.status().writable() {
        return Err(Errno::EPERM);
    }
    let bits = u8::try_from(argument).map_err(|_| Errno::EINVAL)?;
    let seals = Seals::from_bits(bits).ok_or(Errno::EINVAL)?;
    let mut result = file.file()?.add_seals(seals);
    if result == Err(Errno::EBUSY) {
        // Mappings that are gone may wait until no CPU reaches their pages any more.
        mapped::reclaim(process);
        result = file.file()?.add_seals(seals);
    }
    result.map(|()| 0)
}

fn set_status(file: &OpenFile, flags: u32) -> Result<usize> {
    if flags & ASYNC != 0 {
        return Err(Errno::EINVAL);
    }
    let flags = OpenFlags::from_bits_truncate(flags);
    let changed = file.status().symmetric_difference(flags);
    if changed.contains(OpenFlags::APPEND) && file.keeps_position() {
        file.file()?.set_append(flags.contains(OpenFlags::APPEND))?;
    }
    file.set_status(flags);
    Ok(0)
}

/// What a program says about bytes and kind of a lock; no kind: none.
fn read_lock(file: &OpenFile, address: usize) -> Result<(RecordLock, Span, Option<RecordKind>)> {
    let lock: RecordLock = memory::read(address)?;
    let kind = match u32::try_from(lock.kind).map_err(|_| Errno::EINVAL)? {
        F_RDLCK => Some(RecordKind::Shared),
        F_WRLCK => Some(RecordKind::Exclusive),
        F_UNLCK => None,
        _ => return Err(Errno::EINVAL),
    };
    let base = match u32::try_from(lock.whence).map_err(|_| Errno::EINVAL)? {
        SEEK_SET => 0,
        // What has no position is at 0.
        SEEK_CUR => file.seek(SeekFrom::Current(0)).unwrap_or(0),
        SEEK_END => file.metadata()?.size,
        _ => return Err(Errno::EINVAL),
    };
    let base = i64::try_from(base).map_err(|_| Errno::EOVERFLOW)?;
    let start = base.checked_add(lock.start).ok_or(Errno::EOVERFLOW)?;
    // Of a negative length the bytes before.
    let (first, last) = match lock.len {
        0 => (start, i64::MAX),
        len if len > 0 => (start, start.checked_add(len - 1).ok_or(Errno::EOVERFLOW)?),
        len => (start.checked_add(len).ok_or(Errno::EINVAL)?, start.wrapping_sub(1)),
    };
    if first < 0 {
        return Err(Errno::EINVAL);
    }
    Ok((lock, Span { first, last }, kind))
}

/// Who is to have a lock. A lock that is an open file's names no process.
fn holder(process: &Process, file: &OpenFile, lock: &RecordLock, command: u32) -> Result<Holder> {
    match command {
        F_OFD_SETLK | F_OFD_SETLKW | F_OFD_GETLK if lock.pid != 0 => Err(Errno::EINVAL),
        F_OFD_SETLK | F_OFD_SETLKW | F_OFD_GETLK => Holder::open_file(file),
        _ => Ok(Holder::process(process)),
    }
}

fn set_record_lock(process: &Process, file: &OpenFile, address: usize, command: u32) -> Result<usize> {
    let (lock, span, kind) = read_lock(file, address)?;
    let (status, inode) = (file.status(), file.inode().identity());
    match kind {
        Some(RecordKind::Shared) if !status.readable() => return Err(Errno::EBADF),
        Some(RecordKind::Exclusive) if !status.writable() => return Err(Errno::EBADF),
        _ => {}
    }
    let holder = holder(process, file, &lock, command)?;
    let waits = matches!(command, F_SETLKW | F_OFD_SETLKW);
    match kind {
        Some(kind) => record_locks::lock(holder, inode, span, kind, waits).map(|()| 0),
        None => record_locks::unlock(holder, inode, span).map(|()| 0),
    }
}

fn get_record_lock(process: &Process, file: &OpenFile, address: usize, command: u32) -> Result<usize> {
    let (lock, span, kind) = read_lock(file, address)?;
    let kind = kind.ok_or(Errno::EINVAL)?;
    let holder = holder(process, file, &lock, command)?;
    let answer = match record_locks::in_the_way(holder, file.inode().identity(), span, kind) {
        None => RecordLock { kind: F_UNLCK as i16, ..lock },
        Some(record) => RecordLock {
            kind: if record.kind == RecordKind::Shared { F_RDLCK } else { F_WRLCK } as i16,
            whence: SEEK_SET as i16,
            start: record.span.first,
            // Both are not negative.
            len: if record.span.last == i64::MAX { 0 } else { record.span.last - record.span.first + 1 },
            pid: record.pid.map_or(-1, |pid| pid as i32),
            ..lock
        },
    };
    memory::write(address, &answer)?;
    Ok(0)
}
