// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the program in the guest does to a standard stream that is a regular file here.
//!
//! Everything is done to this process's own descriptor, whose open file the shell and other programs may share: they find
//! the position where the program left it.

use std::os::fd::BorrowedFd;

use hadal_abi::stream_file::{Answer, Attributes, MAX_BYTES, Operation, Request, Time, Whence};
use rustix::fs::{OFlags, SeekFrom};
use rustix::io::{Errno, Result};

/// Does what was asked for.
pub(crate) fn answer(request: Request) -> Answer {
    let fd = match request.descriptor {
        0 => rustix::stdio::stdin(),
        1 => rustix::stdio::stdout(),
        2 => rustix::stdio::stderr(),
        _ => return failed(Errno::BADF),
    };
    perform(fd, &request.operation).unwrap_or_else(failed)
}

fn failed(error: Errno) -> Answer {
    Answer::Failed(u16::try_from(error.raw_os_error()).unwrap_or(5))
}

fn perform(fd: BorrowedFd<'_>, operation: &Operation) -> Result<Answer> {
    let number = |count: usize| Answer::Number(count as u64);
    let buffer = |len: u32| vec![0; len.min(MAX_BYTES) as usize];
    match operation {
        Operation::Read(len) => {
            let mut bytes = buffer(*len);
            let count = retry(|| rustix::io::read(fd, &mut bytes))?;
            bytes.truncate(count);
            Ok(Answer::Bytes(bytes))
        }
        Operation::ReadAt { offset, len } => {
            let mut bytes = buffer(*len);
            let count = retry(|| rustix::io::pread(fd, &mut bytes, *offset))?;
            bytes.truncate(count);
            Ok(Answer::Bytes(bytes))
        }
        Operation::Write(data) => retry(|| rustix::io::write(fd, data)).map(number),
        Operation::WriteAt { offset, data } => retry(|| rustix::io::pwrite(fd, data, *offset)).map(number),
        Operation::Seek { whence, offset } => {
            let unsigned = || u64::try_from(*offset).map_err(|_| Errno::INVAL);
            let from = match whence {
                Whence::Start => SeekFrom::Start(unsigned()?),
                Whence::Current => SeekFrom::Current(*offset),
                Whence::End => SeekFrom::End(*offset),
                Whence::Data => SeekFrom::Data(unsigned().map_err(|_| Errno::NXIO)?),
                Whence::Hole => SeekFrom::Hole(unsigned().map_err(|_| Errno::NXIO)?),
            };
            rustix::fs::seek(fd, from).map(Answer::Number)
        }
        Operation::Attributes => attributes(fd).map(Answer::Attributes),
        Operation::Truncate(size) => retry(|| rustix::fs::ftruncate(fd, *size)).map(|()| number(0)),
        Operation::Sync { data_only: true } => retry(|| rustix::fs::fdatasync(fd)).map(|()| number(0)),
        Operation::Sync { data_only: false } => retry(|| rustix::fs::fsync(fd)).map(|()| number(0)),
        Operation::SetAppend(on) => {
            let mut flags = rustix::fs::fcntl_getfl(fd)?;
            flags.set(OFlags::APPEND, *on);
            rustix::fs::fcntl_setfl(fd, flags).map(|()| number(0))
        }
    }
}

fn retry<T>(mut call: impl FnMut() -> Result<T>) -> Result<T> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            result => return result,
        }
    }
}

fn attributes(fd: BorrowedFd<'_>) -> Result<Attributes> {
    let stat = rustix::fs::fstat(fd)?;
    let time = |sec: i64, nsec: u64| Time { sec, nsec: nsec as u32 };
    Ok(Attributes {
        ino: stat.st_ino,
        mode: stat.st_mode,
        nlink: stat.st_nlink,
        uid: stat.st_uid,
        gid: stat.st_gid,
        size: stat.st_size as u64,
        blksize: stat.st_blksize as u64,
        blocks: stat.st_blocks as u64,
        atime: time(stat.st_atime, stat.st_atime_nsec),
        mtime: time(stat.st_mtime, stat.st_mtime_nsec),
        ctime: time(stat.st_ctime, stat.st_ctime_nsec),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn a_file_is_read_written_sought_and_cut() {
        let file = tempfile::tempfile().unwrap();
        let run = |operation| perform(file.as_fd(), &operation);
        assert_eq!(run(Operation::Write(b"12345".to_vec())), Ok(Answer::Number(5)));
        let seek = |whence, offset| run(Operation::Seek { whence, offset });
        assert_eq!(seek(Whence::Current, -4), Ok(Answer::Number(1)));
        assert_eq!(run(Operation::Read(2)), Ok(Answer::Bytes(b"23".to_vec())));
        assert_eq!(seek(Whence::Start, -1), Err(Errno::INVAL));
        assert_eq!(run(Operation::SetAppend(true)), Ok(Answer::Number(0)));
        assert_eq!(run(Operation::Write(b"6".to_vec())), Ok(Answer::Number(1)));
        assert_eq!(run(Operation::SetAppend(false)), Ok(Answer::Number(0)));
        assert_eq!(run(Operation::WriteAt { offset: 0, data: b"x".to_vec() }), Ok(Answer::Number(1)));
        assert_eq!(run(Operation::Truncate(5)), Ok(Answer::Number(0)));
        assert_eq!(run(Operation::ReadAt { offset: 0, len: 9 }), Ok(Answer::Bytes(b"x2345".to_vec())));
        assert_eq!(seek(Whence::Current, 0), Ok(Answer::Number(6)));
        let Ok(Answer::Attributes(attributes)) = run(Operation::Attributes) else { panic!("no attributes") };
        assert_eq!((attributes.size, attributes.nlink, attributes.mode & 0o170000), (5, 0, 0o100000));
        assert_eq!(run(Operation::Sync { data_only: true }), Ok(Answer::Number(0)));
    }

    #[test]
    fn errors_are_passed_on() {
        let Answer::Failed(number) = answer(Request { descriptor: 9, operation: Operation::Attributes })
        else {
            panic!("descriptor 9 is no standard stream")
        };
        assert_eq!(number, 9);
    }
}
