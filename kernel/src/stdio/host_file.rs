// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A standard stream that is a regular file on the host: it seeks, is cut off and appended to, as on Linux.
//!
//! The file stays open in the `hadal` command, and so does its position, which the shell and a second descriptor may share.
//! Every operation is a request on the control channel, but for output, which goes as to any stream: the channel keeps the
//! order.

use alloc::sync::Arc;

use hadal_abi::control::{GuestMessage, OutputStream};
use hadal_abi::stream_file::{Answer, Attributes, MAX_BYTES, Operation, Request, Time, Whence};
use hadal_hal::sync::SpinLock;
use hadal_mem::space::{IoError, PageSource, SourceId};
use hadal_sync::{Mutex, WaitMode, WaitQueue};
use hadal_vfs::{
    Blocking, Errno, File, FileKind, Inode, InodeId, Metadata, OpenFlags, Positions, Result, SeekFrom,
    SetAttr, StatFs, Timespec,
};

use super::DEVICE;
use crate::{control, run};

/// Bytes of a file in an answer that fits a receive buffer of the channel.
const ANSWER_IN_ONE_PIECE: u32 = 3584;

/// One request at a time.
static TURN: Mutex<()> = Mutex::new(());
static ANSWER: SpinLock<Option<Answer>> = SpinLock::new(None);
static ANSWERED: WaitQueue = WaitQueue::new();

/// Takes an answer of the host.
pub(crate) fn answered(answer: Answer) {
    *ANSWER.lock() = Some(answer);
    ANSWERED.wake_all();
}

/// The file behind a descriptor.
pub(super) struct HostFile {
    descriptor: u8,
}

impl HostFile {
    pub(super) fn new(descriptor: u8) -> Self {
        Self { descriptor }
    }

    fn ask(&self, operation: Operation) -> Result<Answer> {
        let _turn = TURN.lock();
        control::ask(&GuestMessage::FileRequest(Request { descriptor: self.descriptor, operation }));
        // The host always answers.
        let answer = ANSWERED.wait_until(None, WaitMode::Uninterruptible, || ANSWER.lock().take());
        match answer.map_err(|_| Errno::EIO)? {
            Answer::Failed(number) => Err(Errno::from_raw(u32::from(number))),
            answer => Ok(answer),
        }
    }

    fn number(&self, operation: Operation) -> Result<u64> {
        match self.ask(operation)? {
            Answer::Number(number) => Ok(number),
            _ => Err(Errno::EIO),
        }
    }

    fn bytes(&self, operation: Operation, buffer: &mut [u8]) -> Result<usize> {
        match self.ask(operation)? {
            Answer::Bytes(bytes) if bytes.len() <= buffer.len() => {
                buffer[..bytes.len()].copy_from_slice(&bytes);
                Ok(bytes.len())
            }
            _ => Err(Errno::EIO),
        }
    }

    fn attributes(&self) -> Result<Metadata> {
        match self.ask(Operation::Attributes)? {
            Answer::Attributes(attributes) => Ok(metadata(&attributes)),
            _ => Err(Errno::EIO),
        }
    }
}

fn metadata(attributes: &Attributes) -> Metadata {
    let time = |time: Time| Timespec { sec: time.sec, nsec: time.nsec };
    Metadata {
        dev: DEVICE,
        ino: attributes.ino,
        mode: attributes.mode,
        nlink: attributes.nlink,
        uid: attributes.uid,
        gid: attributes.gid,
        rdev: 0,
        size: attributes.size,
        blksize: attributes.blksize,
        blocks: attributes.blocks,
        atime: time(attributes.atime),
        mtime: time(attributes.mtime),
        ctime: time(attributes.ctime),
    }
}

fn piece(len: usize) -> u32 {
    (len as u64).min(u64::from(max_bytes())) as u32
}

/// Most bytes of a request. A machine that stands still for the answer needs it in one piece.
fn max_bytes() -> u32 {
    if run::config().is_some_and(|config| config.counts_instructions) {
        ANSWER_IN_ONE_PIECE
    } else {
        MAX_BYTES
    }
}

/// Copies what an output request takes; `ENOMEM` when memory is short.
fn copy(data: &[u8]) -> Result<alloc::vec::Vec<u8>> {
    let data = &data[..piece(data.len()) as usize];
    let mut copy = alloc::vec::Vec::new();
    copy.try_reserve_exact(data.len()).map_err(|_| Errno::ENOMEM)?;
    copy.extend_from_slice(data);
    Ok(copy)
}

impl Inode for HostFile {
    fn identity(&self) -> InodeId {
        // The file systems of the host are not told apart; the numbers of other streams are small.
        InodeId { dev: DEVICE, ino: 1 << 32 | u64::from(self.descriptor) }
    }

    fn kind(&self) -> FileKind {
        FileKind::Regular
    }

    fn metadata(&self) -> Result<Metadata> {
        self.attributes()
    }

    fn set_attr(&self, change: &SetAttr) -> Result<()> {
        match change {
            SetAttr { size: Some(size), mode: None, uid: None, gid: None, atime: None, mtime: None } => {
                self.number(Operation::Truncate(*size)).map(drop)
            }
            _ => Err(Errno::EPERM),
        }
    }

    fn open(self: Arc<Self>, flags: OpenFlags) -> Result<Arc<dyn File>> {
        if flags.contains(OpenFlags::TRUNCATE) {
            self.number(Operation::Truncate(0))?;
        }
        Ok(self)
    }

    fn statfs(&self) -> Result<StatFs> {
        Err(Errno::ENOSYS)
    }
}

impl File for HostFile {
    fn positions(&self) -> Positions {
        Positions::Kept
    }

    fn seek(&self, from: SeekFrom) -> Result<u64> {
        let (whence, offset) = match from {
            SeekFrom::Start(by) => (Whence::Start, by),
            SeekFrom::Current(by) => (Whence::Current, by),
            SeekFrom::End(by) => (Whence::End, by),
            SeekFrom::Data(by) => (Whence::Data, by),
            SeekFrom::Hole(by) => (Whence::Hole, by),
        };
        self.number(Operation::Seek { whence, offset })
    }

    fn set_append(&self, on: bool) -> Result<()> {
        self.number(Operation::SetAppend(on)).map(drop)
    }

    fn read(&self, buffer: &mut [u8], _: Blocking) -> Result<usize> {
        let len = piece(buffer.len());
        self.bytes(Operation::Read(len), &mut buffer[..len as usize])
    }

    fn write(&self, data: &[u8], _: Blocking) -> Result<usize> {
        match self.descriptor {
            1 => Ok(control::output(OutputStream::Stdout, data)),
            2 => Ok(control::output(OutputStream::Stderr, data)),
            _ => self.number(Operation::Write(copy(data)?)).map(|count| count as usize),
        }
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        let mut done = 0;
        while done < buffer.len() {
            let len = piece(buffer.len() - done);
            let operation = Operation::ReadAt { offset: offset + done as u64, len };
            match self.bytes(operation, &mut buffer[done..done + len as usize]) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(error) if done == 0 => return Err(error),
                Err(_) => break,
            }
        }
        Ok(done)
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> Result<usize> {
        self.number(Operation::WriteAt { offset, data: copy(data)? }).map(|count| count as usize)
    }

    fn fsync(&self, data_only: bool) -> Result<()> {
        self.number(Operation::Sync { data_only }).map(drop)
    }

    fn truncate(&self, size: u64) -> Result<()> {
        self.number(Operation::Truncate(size)).map(drop)
    }

    fn page_source(self: Arc<Self>) -> Option<Arc<dyn PageSource>> {
        Some(self)
    }
}

/// Mappings have copies of the pages.
impl PageSource for HostFile {
    fn id(&self) -> SourceId {
        let InodeId { dev, ino } = self.identity();
        SourceId { dev, ino }
    }

    fn read(&self, offset: u64, buffer: &mut [u8]) -> core::result::Result<usize, IoError> {
        self.read_at(offset, buffer).map_err(|error| match error {
            Errno::ENOMEM => IoError::NoMemory,
            _ => IoError::Failed,
        })
    }
}
