// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The page cache: one copy of a page of the host's files, for all mappings and reads.
//!
//! [`FilePages`] are the pages of one file: being read, or there. [`PageCache`] is what all of them share: the frames, the
//! bound on their number, and the list of files, for giving pages back in turn. A page is counted: the file's index holds
//! it, and so does every mapping that was given it; what only the index holds can be given back at any time.
//!
//! Lock order: a file's order of writers (sleeping), then one of: a file's index, the list of files, a mapping's pages.
//! Nothing is read or written while a spin lock is held, and [`PageCache::give_back`] only tries to take them.

mod file_pages;
#[cfg(test)]
mod tests;

use alloc::collections::BTreeMap;
use alloc::sync::{Arc, Weak};
use core::ops::Deref;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use hadal_hal::memory::frames::{Block, FrameSource};
use hadal_hal::sync::{Rank, SpinLock};
use hadal_mem::space::PAGE_SIZE;

pub(crate) use file_pages::FilePages;

use crate::errno::{Errno, Result};

/// Steps over files and their pages in search of pages to give back.
const STEPS_TRIED: usize = 64;

/// A page of a file, in a frame of its own.
pub(crate) struct Page {
    cache: Arc<PageCache>,
    /// There until it is dropped.
    block: Option<Block>,
    /// It was written through a mapping, and the host does not know.
    written: AtomicBool,
}

impl Deref for Page {
    type Target = Block;

    fn deref(&self) -> &Block {
        self.block.as_ref().expect("a page has its frame")
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        if let Some(block) = self.block.take() {
            self.cache.frames.free(block);
        }
        self.cache.used.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What all files share.
pub struct PageCache {
    frames: &'static dyn FrameSource,
    limit_pages: usize,
    used: AtomicUsize,
    files: SpinLock<Files>,
    reads: AtomicU64,
    waits: AtomicU64,
    given_back: AtomicU64,
}

/// Every file that may have pages.
struct Files {
    /// By number, the oldest first.
    list: BTreeMap<u64, Weak<FilePages>>,
    next_number: u64,
    /// Whose turn it is to give pages back: this file's, or that of the next.
    hand: u64,
}

/// Figures for `--stats`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheStats {
    /// Memory of the pages, in bytes.
    pub bytes: u64,
    /// Reads from the host that filled pages.
    pub reads: u64,
    /// Times that a thread waited for a page which another one was reading.
    pub waits: u64,
    /// Pages given back to make room.
    pub given_back: u64,
}

impl PageCache {
    /// An empty cache with frames from `frames`. Beyond `limit_bytes` old pages that nothing maps make room for new ones.
    pub fn new(frames: &'static dyn FrameSource, limit_bytes: u64) -> Arc<Self> {
        Arc::new(Self {
            frames,
            limit_pages: usize::try_from(limit_bytes / PAGE_SIZE as u64).unwrap_or(usize::MAX),
            used: AtomicUsize::new(0),
            files: SpinLock::ranked(Rank::Files, Files { list: BTreeMap::new(), next_number: 0, hand: 0 }),
            reads: AtomicU64::new(0),
            waits: AtomicU64::new(0),
            given_back: AtomicU64::new(0),
        })
    }

    /// The figures as of now.
    pub fn stats(&self) -> CacheStats {
        CacheStats {
            bytes: (self.used.load(Ordering::Relaxed) * PAGE_SIZE) as u64,
            reads: self.reads.load(Ordering::Relaxed),
            waits: self.waits.load(Ordering::Relaxed),
            given_back: self.given_back.load(Ordering::Relaxed),
        }
    }

    /// Gives back about `pages` pages that nobody uses, if there are so many; returns how many. Never waits, so it can be
    /// called wherever memory is short.
    pub fn give_back(&self, pages: usize) -> usize {
        let mut freed = 0;
        for _ in 0..STEPS_TRIED {
            if freed >= pages {
                break;
            }
            let Some((number, file)) = self.file_in_turn() else { break };
            let (evicted, more) = file.map_or((0, false), |file| file.evict_some());
            freed += evicted;
            if !more && let Some(mut files) = self.files.try_lock() {
                files.hand = number + 1;
            }
        }
        self.given_back.fetch_add(freed as u64, Ordering::Relaxed);
        freed
    }

    fn file_in_turn(&self) -> Option<(u64, Option<Arc<FilePages>>)> {
        let mut files = self.files.try_lock()?;
        if files.list.range(files.hand..).next().is_none() {
            files.hand = 0;
        }
        let (&number, file) = files.list.range(files.hand..).next()?;
        let file = file.upgrade();
        if file.is_none() {
            files.list.remove(&number);
        }
        Some((number, file))
    }

    /// Takes a file into the list; its number there.
    fn enlist(&self, file: &Weak<FilePages>) -> u64 {
        let mut files = self.files.lock();
        let number = files.next_number;
        files.next_number += 1;
        files.list.insert(number, file.clone());
        number
    }

    /// Takes a file that is gone off the list. It may be gone under any lock: if the list is busy, whoever looks for pages
    /// next takes it off.
    fn strike(&self, number: u64) {
        let gone = self.files.try_lock().map(|mut files| files.list.remove(&number));
        drop(gone);
    }

    /// Takes a frame for a page, in place of an old one if there are too many.
    fn take_page(self: &Arc<Self>) -> Result<Page> {
        if self.used.load(Ordering::Relaxed) >= self.limit_pages {
            self.give_back(STEPS_TRIED);
        }
        let block = self.frames.alloc_spare(0).ok_or(Errno::ENOMEM)?;
        self.used.fetch_add(1, Ordering::Relaxed);
        Ok(Page { cache: self.clone(), block: Some(block), written: AtomicBool::new(false) })
    }
}
