// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The machine's page cache, and its part in giving memory back.

use alloc::sync::Arc;

use hadal_mem::frames::{self, Reclaim};
use hadal_vfs::page_cache::{CacheStats, PageCache};
use spin::Once;

/// Share of the machine's memory that pages of files may take, beyond what mappings hold.
const SHARE: u64 = 4;

static CACHE: Once<Arc<PageCache>> = Once::new();

/// What the frame allocator asks when programs run out of memory.
struct GiveBack;

impl Reclaim for GiveBack {
    fn reclaim(&self, frames: usize) -> usize {
        CACHE.get().map_or(0, |cache| cache.give_back(frames))
    }
}

/// The page cache.
pub(crate) fn cache() -> Arc<PageCache> {
    let make = || {
        let memory = frames::global();
        memory.set_reclaimer(&GiveBack);
        PageCache::new(memory, memory.stats().total_bytes / SHARE)
    };
    CACHE.call_once(make).clone()
}

/// Its figures.
pub(crate) fn stats() -> CacheStats {
    CACHE.get().map_or_else(CacheStats::default, |cache| cache.stats())
}
