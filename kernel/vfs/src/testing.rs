// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the tests of this crate share: frames on the host, a file system, an open file.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

use hadal_hal::memory::frames::{self, Block, FrameSource};

use crate::devfs;
use crate::errno::Errno;
use crate::flags::OpenFlags;
use crate::inode::{Inode, Owner};
use crate::namespace::{Caller, Location};
use crate::open_file::OpenFile;
use crate::page_cache::PageCache;
use crate::tmpfs::TmpFs;

/// Frames of 4 KiB from an arena of the host.
pub(crate) struct TestFrames {
    free: Mutex<Vec<u64>>,
    in_use: AtomicUsize,
}

impl TestFrames {
    /// A source of its own with room for `count` frames.
    pub(crate) fn leak(count: usize) -> &'static Self {
        let base = frames::host_arena(count * 4096);
        let free = (0..count as u64).map(|index| base + index * 4096).collect();
        Box::leak(Box::new(Self { free: Mutex::new(free), in_use: AtomicUsize::new(0) }))
    }

    pub(crate) fn in_use(&self) -> usize {
        self.in_use.load(Ordering::SeqCst)
    }
}

impl FrameSource for TestFrames {
    fn alloc(&self, order: u8) -> Option<Block> {
        assert_eq!(order, 0);
        let block = Block::claim(self.free.lock().unwrap().pop()?, 0).unwrap();
        // What a frame holds is arbitrary.
        block.write(0, &[0xa5; 4096]);
        self.in_use.fetch_add(1, Ordering::SeqCst);
        Some(block)
    }

    fn alloc_spare(&self, order: u8) -> Option<Block> {
        self.alloc(order)
    }

    fn has_spare(&self, bytes: usize) -> bool {
        self.free.lock().unwrap().len() * 4096 >= bytes
    }

    fn free(&self, block: Block) {
        self.in_use.fetch_sub(1, Ordering::SeqCst);
        self.free.lock().unwrap().push(block.release());
    }

    fn split(&self, _: u64, order: u8) {
        assert_eq!(order, 0);
    }
}

/// An empty file system in memory that anybody may write to.
pub(crate) fn tmpfs(limit_bytes: u64) -> Arc<dyn Inode> {
    static FRAMES: OnceLock<&'static TestFrames> = OnceLock::new();
    TmpFs::create(*FRAMES.get_or_init(|| TestFrames::leak(8192)), limit_bytes, 0o777, Owner::default())
        .unwrap()
}

/// A page cache with frames of its own, twice as many as its limit.
pub(crate) fn page_cache(limit_bytes: u64) -> Arc<PageCache> {
    PageCache::new(TestFrames::leak(limit_bytes as usize / 4096 * 2), limit_bytes)
}

/// An open `/dev/null`.
pub(crate) fn null_open_file() -> Arc<OpenFile> {
    let dev = devfs::create(Arc::new(|buffer: &mut [u8]| buffer.fill(7)), None);
    let inode = dev.lookup(b"null").unwrap();
    let file = inode.clone().open(OpenFlags::READ_WRITE).unwrap();
    OpenFile::new(file, Location::anonymous(inode, b"/dev/null").unwrap(), OpenFlags::READ_WRITE).unwrap()
}

/// An ordinary user.
pub(crate) const USER: Caller<'static> =
    Caller { uid: 1000, gid: 1000, groups: &[], umask: 0o022, is_guest: false };

/// The error of a result, as a value to compare.
pub(crate) fn error<T>(result: Result<T, Errno>) -> Option<Errno> {
    result.err()
}
