// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Shared mappings and the files behind them: what was written goes back to the file, and what a file has lost goes away.
//!
//! The processor notes in the page table which pages it wrote to. These notes are taken under the lock; then every CPU
//! flushes, so that later writes are noted again; then the files are asked to bring the pages home. A write that a CPU makes
//! between note and flush is in the page before it is copied.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::mmu::Reach;
use super::pages::Removed;
use super::source::{PageSource, SourceId};
use super::vma::{Prot, Vma};
use super::{AddressSpace, Mmu, PAGE_SIZE, SpaceError, WINDOW_END, WINDOW_START, page_range, window_range};

/// A file, and the range of it that is to be brought up to date.
type Part = (Arc<dyn PageSource>, u64, u64);

impl<M: Mmu> AddressSpace<M> {
    /// Brings what was written to shared files in a range to where they are kept (`msync`), by whichever mapping.
    pub fn sync(&self, addr: usize, len: usize) -> Result<(), SpaceError> {
        let (start, end) = page_range(addr, len).ok_or(SpaceError::Invalid)?;
        if start == end {
            return Ok(());
        }
        window_range(addr, len).ok_or(SpaceError::NoMapping)?;
        let whole = self.inner.read().map.covered_until(start, end, |_| true) == end;
        if self.counters.has_noted() {
            self.write_back(start, end, |_| true)?;
        }
        if whole { Ok(()) } else { Err(SpaceError::NoMapping) }
    }

    /// Brings what was written to a file through any mapping to where the file is kept.
    pub fn sync_file(&self, id: SourceId) -> Result<(), SpaceError> {
        self.write_back_kept(|file| file.id() == id)
    }

    /// Brings everything that was written to shared files to where they are kept.
    pub fn sync_all(&self) -> Result<(), SpaceError> {
        self.write_back_kept(|_| true)
    }

    /// The same for files that are kept elsewhere, and which are `wanted`. The others need only [`Self::sync`].
    fn write_back_kept(&self, wanted: impl Fn(&Arc<dyn PageSource>) -> bool) -> Result<(), SpaceError> {
        if !self.counters.has_written_back() {
            return Ok(());
        }
        self.write_back(WINDOW_START, WINDOW_END, |file| file.is_written_back() && wanted(file))
    }

    /// The first mapping in a range through which a file that is kept elsewhere can be written: where it ends, and the file.
    pub fn next_written(&self, start: usize, end: usize) -> Option<(usize, SourceId)> {
        let inner = self.inner.read();
        let is_kept = |vma: &&Vma| vma.shown_file().is_some_and(|file| file.is_written_back());
        let vma = inner.map.overlapping(start, end).filter(is_kept).find(|vma| can_be_written(vma))?;
        Some((vma.end, vma.id()))
    }

    fn write_back(
        &self,
        start: usize,
        end: usize,
        wanted: impl Fn(&Arc<dyn PageSource>) -> bool,
    ) -> Result<(), SpaceError> {
        let mut parts: Vec<Part> = Vec::new();
        let mut hull: Option<(usize, usize)> = None;
        {
            // Writers of the page table are kept out, the processor is not.
            let inner = self.change();
            for vma in inner.map.overlapping(start, end).filter(|vma| can_be_written(vma)) {
                let Some(file) = vma.shown_file().filter(|file| wanted(file)) else { continue };
                let (start, end) = (vma.start.max(start), vma.end.min(end));
                self.mmu.take_dirty(start, end - start, &mut |va| {
                    file.mark_written(vma.offset_of(va) / PAGE_SIZE as u64);
                    hull = Some(hull.map_or((va, va), |(first, _)| (first, va)));
                });
                parts.push((file.clone(), vma.offset_of(start), (end - start) as u64));
            }
        }
        if let Some((first, last)) = hull {
            self.mmu.shootdown(first, last + PAGE_SIZE - first, Reach::Table);
        }
        let mut result = Ok(());
        for (file, offset, len) in parts {
            if file.sync(offset, len).is_err() {
                result = Err(SpaceError::Io);
            }
        }
        result
    }

    /// A file now ends at `len`: pages behind its end are gone, wherever they were mapped, private copies too.
    pub fn file_ends_at(&self, id: SourceId, len: u64) {
        let shows = |vma: &&Vma| !vma.is_anonymous() && vma.id() == id;
        if self.inner.read().map.iter().find(shows).is_none() {
            return;
        }
        let mut removed = Removed::default();
        let mut hull: Option<(usize, usize)> = None;
        {
            let inner = self.change();
            for vma in inner.map.iter().filter(shows) {
                let kept = len.next_multiple_of(PAGE_SIZE as u64).saturating_sub(vma.offset_of(vma.start));
                let start = vma.start.saturating_add(usize::try_from(kept).unwrap_or(usize::MAX));
                if start < vma.end {
                    self.remove_pages(vma, start, vma.end, &mut removed);
                    hull = Some(hull.map_or((start, vma.end), |(first, _)| (first, vma.end)));
                }
            }
        }
        if let Some((start, end)) = hull {
            self.finish_now(start, end, removed);
        }
    }
}

/// Whether a file wants to know which pages of a mapping are dirty: one that was writable once may not be any more.
fn can_be_written(vma: &Vma) -> bool {
    vma.is_shared()
        && vma.max_prot.contains(Prot::WRITE)
        && vma.shown_file().is_some_and(|file| file.notes_writes())
}
