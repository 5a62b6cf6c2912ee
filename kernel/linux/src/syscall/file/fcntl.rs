// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `fcntl(2)`: questions and changes about a descriptor or its open file.
//!
//! Honoured: `F_DUPFD`, `F_DUPFD_CLOEXEC`, `F_GETFD`, `F_SETFD`, `F_GETFL`, `F_SETFL` (`O_APPEND`, `O_NONBLOCK`, `O_DIRECT`,
//! `O_NOATIME`), `F_GETPIPE_SZ`, `F_SETPIPE_SZ`, `F_GET_SEALS`; the record locks `F_SETLK`, `F_SETLKW`, `F_GETLK` of one
//! process, which never conflict among its threads and so are always granted. They are not known to the host.
//!
//! Refused: `O_ASYNC` and every other command (`EINVAL`): record locks of open files (`F_OFD_*`), owners and signals,
//! leases, notifications, new seals, write hints.

use hadal_vfs::{OpenFile, OpenFlags};
use linux_raw_sys::general::{
    F_DUPFD, F_DUPFD_CLOEXEC, F_GET_SEALS, F_GETFD, F_GETFL, F_GETLK, F_GETOWN, F_GETPIPE_SZ, F_RDLCK, F_SEAL_SEAL,
    F_SETFD, F_SETFL, F_SETLK, F_SETLKW, F_SETPIPE_SZ, F_UNLCK, F_WRLCK, FD_CLOEXEC, SEEK_CUR, SEEK_END,
    SEEK_SET,
};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::memfd_create;
use crate::call::Call;
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
    let (files, fd, command, argument) = (&call.process.files, call.int(0), call.uint(1), call.arg(2));
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
        F_SETLK | F_SETLKW => set_record_lock(&file, argument),
        F_GETLK => get_record_lock(argument),
        F_GETPIPE_SZ => file.file()?.pipe_capacity(),
        F_SETPIPE_SZ => {
            let bytes = u32::try_from(argument).map_err(|_| Errno::EINVAL)?;
            file.file()?.set_pipe_capacity(bytes as usize)
        }
        // No seal can be added to any file, which is a seal of its own.
        F_GET_SEALS if memfd_create::is_memory_file(&file) => Ok(F_SEAL_SEAL as usize),
        _ => Err(Errno::EINVAL),
    }
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

fn read_lock(address: usize) -> Result<(RecordLock, u32)> {
    let lock: RecordLock = memory::read(address)?;
    let kind = u32::try_from(lock.kind).map_err(|_| Errno::EINVAL)?;
    let whence = u32::try_from(lock.whence).map_err(|_| Errno::EINVAL)?;
    if !matches!(kind, F_RDLCK | F_WRLCK | F_UNLCK) || !matches!(whence, SEEK_SET | SEEK_CUR | SEEK_END) {
        return Err(Errno::EINVAL);
    }
    Ok((lock, kind))
}

/// The locks of a process never exclude each other, and there is no other process to be excluded.
fn set_record_lock(file: &OpenFile, address: usize) -> Result<usize> {
    let (_, kind) = read_lock(address)?;
    let status = file.status();
    match kind {
        F_RDLCK if !status.readable() => Err(Errno::EBADF),
        F_WRLCK if !status.writable() => Err(Errno::EBADF),
        _ => Ok(0),
    }
}

fn get_record_lock(address: usize) -> Result<usize> {
    let (lock, kind) = read_lock(address)?;
    if kind == F_UNLCK {
        return Err(Errno::EINVAL);
    }
    memory::write(address, &RecordLock { kind: F_UNLCK as i16, ..lock })?;
    Ok(0)
}
