// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `/dev`: `null`, `zero`, `full`, `random`, `urandom`, `tty`, and the links to `/proc/self/fd`.
//!
//! `/dev/shm` and `/dev/mqueue` are empty directories here, where the kernel mounts a [`crate::TmpFs`] and the message queues.

use alloc::boxed::Box;
use alloc::sync::Arc;

use hadal_mem::space::{IoError, PageSource, SourceId};

use crate::errno::{Errno, Result};
use crate::file::{File, Positions};
use crate::flags::PollEvents;
use crate::inode::Owner;
use crate::metadata::make_dev;
use crate::synthetic::{Directory, Opener, device};
use crate::tmpfs::TMPFS_MAGIC;

/// Fills a buffer with random bytes.
pub type RandomSource = Arc<dyn Fn(&mut [u8]) + Send + Sync>;

/// Builds `/dev`. `tty` opens `/dev/tty`; without it opening fails with `ENXIO`, as for a process without a
/// terminal. The kernel may add more devices to the result.
pub fn create(random: RandomSource, tty: Option<Opener>) -> Arc<Directory> {
    let dev = Directory::root(TMPFS_MAGIC, Owner::default());
    let simple =
        |file: Memory| -> Opener { Box::new(move |_| -> Result<Arc<dyn File>> { Ok(Arc::new(file)) }) };
    dev.add("null", device(0o666, make_dev(1, 3), simple(Memory::Null)));
    dev.add("zero", device(0o666, make_dev(1, 5), simple(Memory::Zero)));
    dev.add("full", device(0o666, make_dev(1, 7), simple(Memory::Full)));
    for (name, minor) in [("random", 8), ("urandom", 9)] {
        let source = random.clone();
        // Linux lets programs wait for this one only.
        let is_pollable = name == "random";
        let open: Opener = Box::new(move |_| Ok(Arc::new(Random { source: source.clone(), is_pollable })));
        dev.add(name, device(0o666, make_dev(1, minor), open));
    }
    let no_terminal = || -> Opener { Box::new(|_| Err(Errno::ENXIO)) };
    dev.add("tty", device(0o666, make_dev(5, 0), tty.unwrap_or_else(no_terminal)));
    dev.symlink("fd", "/proc/self/fd");
    dev.symlink("stdin", "/proc/self/fd/0");
    dev.symlink("stdout", "/proc/self/fd/1");
    dev.symlink("stderr", "/proc/self/fd/2");
    dev.directory("mqueue");
    dev.directory("shm");
    dev
}

/// The devices without state.
#[derive(Clone, Copy)]
enum Memory {
    /// Reads as empty, takes everything.
    Null,
    /// Reads as zeros, takes everything.
    Zero,
    /// Reads as zeros, is always full.
    Full,
}

impl File for Memory {
    fn positions(&self) -> Positions {
        Positions::Ignored
    }

    fn read_at(&self, _offset: u64, buffer: &mut [u8]) -> Result<usize> {
        match self {
            Self::Null => Ok(0),
            Self::Zero | Self::Full => {
                buffer.fill(0);
                Ok(buffer.len())
            }
        }
    }

    fn write_at(&self, _offset: u64, data: &[u8]) -> Result<usize> {
        match self {
            Self::Full => Err(Errno::ENOSPC),
            Self::Null | Self::Zero => Ok(data.len()),
        }
    }

    fn size(&self) -> Result<u64> {
        Ok(0)
    }

    fn page_source(self: Arc<Self>) -> Option<Arc<dyn PageSource>> {
        matches!(*self, Self::Zero).then(|| -> Arc<dyn PageSource> { Arc::new(ZeroPages) })
    }
}

/// Mapping `/dev/zero` privately gives zeroed memory.
struct ZeroPages;

impl PageSource for ZeroPages {
    fn id(&self) -> SourceId {
        SourceId { dev: make_dev(0, 0), ino: 0 }
    }

    fn read(&self, _offset: u64, buffer: &mut [u8]) -> core::result::Result<usize, IoError> {
        buffer.fill(0);
        Ok(buffer.len())
    }
}

struct Random {
    source: RandomSource,
    is_pollable: bool,
}

impl File for Random {
    fn positions(&self) -> Positions {
        Positions::Ignored
    }

    fn read_at(&self, _offset: u64, buffer: &mut [u8]) -> Result<usize> {
        (self.source)(buffer);
        Ok(buffer.len())
    }

    fn write_at(&self, _offset: u64, data: &[u8]) -> Result<usize> {
        Ok(data.len())
    }

    fn poll(&self) -> PollEvents {
        if self.is_pollable { PollEvents::READABLE } else { PollEvents::ALWAYS_READY }
    }

    fn is_pollable(&self) -> bool {
        self.is_pollable
    }

    fn size(&self) -> Result<u64> {
        Ok(0)
    }
}
