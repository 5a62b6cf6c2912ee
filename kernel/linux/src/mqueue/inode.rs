// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A queue as a file: what `fstat`, `poll`, `fchmod` and reading it make of it.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use core::any::Any;

use hadal_hal::memory::fallible;
use hadal_hal::sync::SpinLock;
use hadal_sync::WaitQueue;
use hadal_vfs::{
    File, FileKind, Inode, InodeId, MODE_PERMISSIONS, Metadata, OpenFile, OpenFlags, Owner, PollEvents,
    Positions, SetAttr, SetTime, StatFs, Timespec,
};

use super::directory::{DEVICE, statfs};
use super::queue::{self, Queue};
use crate::process::Process;
use crate::task::Task;
use crate::{Errno, Result};

/// What `stat` gives as the size (`FILENT_SIZE` of Linux).
const SIZE: u64 = 80;

/// A queue with the attributes of a file.
pub(crate) struct QueueInode {
    ino: u64,
    queue: Arc<Queue>,
    metadata: SpinLock<Metadata>,
}

impl QueueInode {
    pub(super) fn new(ino: u64, queue: Queue, mode: u32, owner: Owner) -> Result<Arc<Self>> {
        let mode = FileKind::Regular.mode_bits() | mode & MODE_PERMISSIONS;
        let id = InodeId { dev: DEVICE, ino };
        let metadata = Metadata { size: SIZE, ..Metadata::without_storage(id, mode, owner, Timespec::now()) };
        let queue = fallible::arc(queue)?;
        Ok(fallible::arc(Self { ino, queue, metadata: SpinLock::new(metadata) })?)
    }

    /// Who may remove its name.
    pub(super) fn owner(&self) -> u32 {
        self.metadata.lock().uid
    }

    /// Its name is gone.
    pub(super) fn unlinked(&self) {
        self.metadata.lock().nlink = 0;
    }
}

impl Inode for QueueInode {
    fn identity(&self) -> InodeId {
        InodeId { dev: DEVICE, ino: self.ino }
    }

    fn kind(&self) -> FileKind {
        FileKind::Regular
    }

    fn metadata(&self) -> Result<Metadata> {
        Ok(*self.metadata.lock())
    }

    fn set_attr(&self, change: &SetAttr) -> Result<()> {
        let now = Timespec::now();
        let mut metadata = self.metadata.lock();
        if let Some(mode) = change.mode {
            metadata.mode = metadata.mode & !MODE_PERMISSIONS | mode & MODE_PERMISSIONS;
        }
        metadata.uid = change.uid.unwrap_or(metadata.uid);
        metadata.gid = change.gid.unwrap_or(metadata.gid);
        let time = |time: SetTime| match time {
            SetTime::Now => now,
            SetTime::At(time) => time,
        };
        metadata.atime = change.atime.map_or(metadata.atime, time);
        metadata.mtime = change.mtime.map_or(metadata.mtime, time);
        metadata.ctime = now;
        Ok(())
    }

    fn open(self: Arc<Self>, _flags: OpenFlags) -> Result<Arc<dyn File>> {
        Ok(fallible::arc(QueueFile { queue: self.queue.clone() })?)
    }

    fn statfs(&self) -> Result<StatFs> {
        Ok(statfs())
    }
}

/// An open queue.
struct QueueFile {
    queue: Arc<Queue>,
}

/// The queue that a file is; `EBADF` if it is none.
pub(crate) fn of(file: &OpenFile) -> Result<&Arc<Queue>> {
    let file = file.file()?.as_any().and_then(|any| any.downcast_ref());
    file.map(|file: &QueueFile| &file.queue).ok_or(Errno::EBADF)
}

/// The last thread of a process ends, which is about to close its descriptors and is not to be told of messages any more. On that
/// thread the process cannot be found from [`File::descriptor_closed`].
pub(crate) fn end(process: &Process) {
    if !queue::has_been_registered_with() {
        return;
    }
    let files = process.files();
    for file in files.taken(0, u32::MAX).filter_map(|fd| files.get(fd).ok()) {
        if let Ok(queue) = of(&file) {
            queue.unregister(process);
        }
    }
}

impl QueueFile {
    fn text(&self) -> String {
        let (bytes, (way, signo, pid)) = self.queue.shown();
        format!("QSIZE:{bytes:<10} NOTIFY:{way:<5} SIGNO:{signo:<5} NOTIFY_PID:{pid:<6}\n")
    }
}

impl File for QueueFile {
    fn positions(&self) -> Positions {
        Positions::Shared
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        let text = self.text();
        let rest =
            usize::try_from(offset).ok().and_then(|offset| text.as_bytes().get(offset..)).unwrap_or(&[]);
        let len = rest.len().min(buffer.len());
        buffer[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    }

    fn write_at(&self, _offset: u64, _data: &[u8]) -> Result<usize> {
        Err(Errno::EINVAL)
    }

    fn size(&self) -> Result<u64> {
        Ok(SIZE)
    }

    fn poll(&self) -> PollEvents {
        self.queue.poll()
    }

    fn wait_queues(&self) -> [Option<&WaitQueue>; 2] {
        [Some(self.queue.changed()), None]
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }

    fn descriptor_closed(&self) {
        if let Some(process) = Task::current().try_process() {
            self.queue.unregister(process);
        }
    }
}
