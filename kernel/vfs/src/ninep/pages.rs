// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pages of the host's files in the page cache.
//!
//! In a read-only tree pages stay after the last mapping, and reads go through them. In a tree that can be written a file
//! has pages while it is mapped: reads ask the host and then look at the pages, writes go to the host and into the pages.
//! So mappings, reads and writes of the machine always agree; what others change on the host is seen by reads at once, and
//! by mappings as far as their pages have not been touched yet.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::sync::{Arc, Weak};
use core::ops::Range;

use hadal_hal::memory::frames::{Block, Lent};
use hadal_hal::sync::{Rank, SpinLock};
use hadal_mem::space::{IoError, PAGE_SIZE, PageSource, SourceId};

use super::cache::Bounded;
use super::codec::Qid;
use super::file::NinepFile;
use crate::errno::Errno;
use crate::file::File;
use crate::inode::Inode;
use crate::page_cache::{FilePages, Page, PageCache};

/// Most files of a read-only tree whose pages are kept.
const FILES_KEPT: usize = 4096;
/// Files that were mapped once are forgotten when there are this many more than are mapped.
const DEAD_MAX: usize = 64;

/// The files of a tree that have pages.
pub(super) struct Pages {
    cache: Arc<PageCache>,
    /// Whether pages stay when nothing maps the file.
    keep: bool,
    state: SpinLock<State>,
}

struct State {
    /// By number, with the version that the server told.
    kept: Bounded<u64, (u32, Arc<FilePages>)>,
    mapped: BTreeMap<u64, Weak<FilePages>>,
    /// Length of `mapped` at which it is looked through.
    look_at: usize,
}

impl Pages {
    pub(super) fn new(cache: Arc<PageCache>, keep: bool) -> Self {
        let state = State { kept: Bounded::new(), mapped: BTreeMap::new(), look_at: DEAD_MAX };
        Self { cache, keep, state: SpinLock::ranked(Rank::Files, state) }
    }

    /// The pages of a mapped file of a tree that can be written.
    pub(super) fn mapped(&self, qid: &Qid) -> Option<Arc<FilePages>> {
        self.state.lock().mapped.get(&qid.path).and_then(Weak::upgrade)
    }

    /// The pages of a file, from now on if it had none. `most_bytes` is what one request can read.
    pub(super) fn of(&self, qid: &Qid, most_bytes: usize) -> Arc<FilePages> {
        let fresh = FilePages::new(&self.cache, most_bytes);
        let mut gone = None;
        let mut state = self.state.lock();
        if self.keep {
            if let Some((version, pages)) = state.kept.get(&qid.path)
                && *version == qid.version
            {
                return pages.clone();
            }
            gone = state.kept.insert(qid.path, (qid.version, fresh.clone()), FILES_KEPT);
        } else {
            if let Some(pages) = state.mapped.get(&qid.path).and_then(Weak::upgrade) {
                return pages;
            }
            if state.mapped.len() >= state.look_at {
                state.mapped.retain(|_, pages| pages.strong_count() > 0);
                state.look_at = state.mapped.len() * 2 + DEAD_MAX;
            }
            state.mapped.insert(qid.path, Arc::downgrade(&fresh));
        }
        drop(state);
        drop(gone);
        fresh
    }

    pub(super) fn clear(&self) {
        let kept = self.state.lock().kept.take();
        drop(kept);
    }
}

/// Pages side by side that are kept together: those that one fault maps.
const GROUP: usize = 16;

/// The pages given to mappings: they stay as long as a mapping may use them.
#[derive(Default)]
struct Given {
    /// By number in the file, as they come from there: group by group.
    latest: BTreeMap<u64, Box<[Option<Arc<Page>>; GROUP]>>,
    /// Those that others have taken the place of, by address: the file has changed meanwhile.
    earlier: BTreeMap<u64, Arc<Page>>,
}

impl Given {
    /// Keeps pages, each once. Neighbours are found together.
    fn keep(&mut self, pages: impl IntoIterator<Item = (u64, Arc<Page>)>) {
        let mut pages = pages.into_iter().peekable();
        while let Some(&(first, _)) = pages.peek() {
            let number = first / GROUP as u64;
            let group = self.latest.entry(number).or_default();
            while let Some((index, page)) = pages.next_if(|(index, _)| index / GROUP as u64 == number) {
                let phys = page.phys();
                let before = group[(index % GROUP as u64) as usize].replace(page);
                // Two pages that are kept are not in one frame.
                if let Some(before) = before.filter(|before| before.phys() != phys) {
                    self.earlier.insert(before.phys(), before);
                }
            }
        }
    }
}

/// A file, as a mapping sees it.
pub(super) struct NinepSource {
    file: Arc<NinepFile>,
    pages: Arc<FilePages>,
    given: SpinLock<Given>,
}

impl NinepSource {
    pub(super) fn new(file: Arc<NinepFile>, pages: Arc<FilePages>) -> Self {
        Self { file, pages, given: SpinLock::ranked(Rank::Files, Given::default()) }
    }

    fn page(&self, index: u64) -> Result<Option<Arc<Page>>, IoError> {
        let read = |offset, len, take: &mut dyn FnMut(&[u8])| self.file.read_for_pages(offset, len, take);
        self.pages.page(index, &|| self.file.known_size(), &read).map_err(failed)
    }

    /// Lends pages to mappings, and keeps them for these.
    fn lend(&self, pages: impl IntoIterator<Item = (u64, Arc<Page>)>, give: &mut dyn FnMut(u64, Lent)) {
        let lent = pages.into_iter().inspect(|(index, page)| give(*index, page.lend()));
        self.given.lock().keep(lent);
    }
}

fn failed(error: Errno) -> IoError {
    match error {
        Errno::ENOMEM => IoError::NoMemory,
        _ => IoError::Failed,
    }
}

impl PageSource for NinepSource {
    fn id(&self) -> SourceId {
        let id = self.file.node().identity();
        SourceId { dev: id.dev, ino: id.ino }
    }

    fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, IoError> {
        self.file.read_at(offset, buffer).map_err(failed)
    }

    fn read_frames(&self, offset: u64, frames: &[&Block]) -> Result<usize, IoError> {
        let first = offset / PAGE_SIZE as u64;
        let mut done = 0;
        for (index, frame) in (first..).zip(frames) {
            match self.page(index) {
                Ok(Some(page)) => frame.copy_from(&page),
                Ok(None) => break,
                Err(error) if done == 0 => return Err(error),
                Err(_) => break,
            }
            done += PAGE_SIZE;
        }
        Ok(done)
    }

    fn can_share(&self) -> bool {
        true
    }

    fn shared_frame(&self, index: u64, _writable: bool) -> Result<Option<Lent>, IoError> {
        let Some(page) = self.page(index)? else { return Ok(None) };
        let mut lent = None;
        self.lend([(index, page)], &mut |_, frame| lent = Some(frame));
        Ok(lent)
    }

    fn shared_frames(
        &self,
        index: u64,
        around: Range<u64>,
        _writable: bool,
        give: &mut dyn FnMut(u64, Lent),
    ) -> Result<bool, IoError> {
        let Some(page) = self.page(index)? else { return Ok(false) };
        let mut near = self.pages.at_hand::<GROUP>(around);
        // It may have been let go meanwhile.
        near.retain(|(found, _)| *found != index);
        self.lend(core::iter::once((index, page)).chain(near), give);
        Ok(true)
    }

    fn is_written_back(&self) -> bool {
        true
    }

    fn mark_written(&self, index: u64) {
        self.pages.mark_written(index);
    }

    fn sync(&self, offset: u64, len: u64) -> Result<(), IoError> {
        let size = PAGE_SIZE as u64;
        let range = offset / size..offset.saturating_add(len).div_ceil(size);
        self.file.write_back(&self.pages, range).map_err(failed)
    }
}

impl Drop for NinepSource {
    fn drop(&mut self) {
        // The file stays open until here, so what is left can still be brought home. Nobody is there to hear of a failure.
        let _ = self.sync(0, u64::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::page_cache;

    /// The first pages of a file of its own.
    fn pages<const N: usize>() -> [Arc<Page>; N] {
        let pages = FilePages::new(&page_cache(1 << 20), 32 * PAGE_SIZE);
        let read = |_: u64, len: usize, take: &mut dyn FnMut(&[u8])| {
            take(&vec![1; len]);
            Ok(())
        };
        core::array::from_fn(|index| pages.page(index as u64, &|| u64::MAX, &read).unwrap().unwrap())
    }

    #[test]
    fn given_pages_stay_when_others_take_their_place() {
        let group = GROUP as u64;
        let places = [0, 1, group - 1, group, 7 * group + 3];
        let (first, second) = (pages::<5>(), pages::<5>());
        let mut given = Given::default();
        let mut give = |pages: &[Arc<Page>; 5]| {
            given.keep(places.into_iter().zip(pages.iter().cloned()));
        };
        give(&first);
        give(&first);
        assert!(first.iter().all(|page| Arc::strong_count(page) == 2), "kept once");
        give(&second);
        assert_eq!((given.latest.len(), given.earlier.len()), (3, 5));
        let phys = |page: &Arc<Page>| page.phys();
        let latest = given.latest.values().flat_map(|group| group.iter().flatten()).map(phys);
        assert_eq!(latest.collect::<Vec<_>>(), second.each_ref().map(phys));
        assert!(first.iter().all(|page| given.earlier.contains_key(&page.phys())));
    }
}
