// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The content of a file in memory: 4 KiB frames by page number, holes where nothing was written.
//!
//! A [`Frame`] is counted, so a mapping that shares it keeps it alive when the file is shortened or removed.
//! Bytes behind the end of the file within its last frame are always zero.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use core::ops::Deref;
use core::sync::atomic::Ordering;

use hadal_hal::memory::fallible::{self, MakeRoom};
use hadal_hal::memory::frames::Block;

use super::TmpFs;
use crate::errno::{Errno, Result};
use crate::seals::Seals;

/// Size of a page in bytes.
pub(super) const PAGE_SIZE: u64 = 4096;

/// Pages that are taken before another thread gets its turn.
const TURN: usize = 256;

/// One frame of memory, returned when the last user lets go.
pub(super) struct Frame {
    fs: Arc<TmpFs>,
    /// There until it is dropped.
    block: Option<Block>,
}

impl Frame {
    /// Takes a zeroed frame; `ENOSPC` at the file system's limit or when memory is out.
    fn take(fs: &Arc<TmpFs>) -> Result<Arc<Self>> {
        let count = |used: u64| (used < fs.limit_pages).then_some(used + 1);
        fs.used_pages.fetch_update(Ordering::Relaxed, Ordering::Relaxed, count).map_err(|_| Errno::ENOSPC)?;
        let Some(block) = fs.frames.alloc_spare(0) else {
            fs.used_pages.fetch_sub(1, Ordering::Relaxed);
            return Err(Errno::ENOSPC);
        };
        block.clear();
        // From here on dropping it gives the frame back.
        fallible::arc(Self { fs: fs.clone(), block: Some(block) }).map_err(|_| Errno::ENOSPC)
    }
}

impl Deref for Frame {
    type Target = Block;

    fn deref(&self) -> &Block {
        self.block.as_ref().expect("a frame has its block")
    }
}

impl Drop for Frame {
    fn drop(&mut self) {
        if let Some(block) = self.block.take() {
            self.fs.frames.free(block);
        }
        self.fs.used_pages.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The content of a file.
pub(super) struct Pages {
    fs: Arc<TmpFs>,
    size: u64,
    frames: BTreeMap<u64, Arc<Frame>>,
    seals: Seals,
}

/// A piece of a byte range that lies within one page.
struct Piece {
    page: u64,
    within: usize,
    len: usize,
}

impl Pages {
    pub(super) fn new(fs: &Arc<TmpFs>) -> Self {
        Self { fs: fs.clone(), size: 0, frames: BTreeMap::new(), seals: fs.first_seals }
    }

    /// What nobody can do to the file any more.
    pub(super) fn seals(&self) -> Seals {
        self.seals
    }

    /// Adds seals.
    pub(super) fn add_seals(&mut self, seals: Seals, is_mapped: bool) -> Result<()> {
        self.seals = self.seals.with(seals, is_mapped)?;
        Ok(())
    }

    /// Length of the file in bytes.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Number of frames in use.
    pub(super) fn allocated(&self) -> u64 {
        self.frames.len() as u64
    }

    /// The frame of a page, taken now when the page is a hole.
    pub(super) fn frame(&mut self, page: u64) -> Result<&Arc<Frame>> {
        use alloc::collections::btree_map::Entry;
        match self.frames.entry(page) {
            Entry::Occupied(entry) => Ok(entry.into_mut()),
            Entry::Vacant(entry) => {
                fallible::admit(fallible::SMALL_BYTES).map_err(|_| Errno::ENOSPC)?;
                Ok(entry.insert(Frame::take(&self.fs)?))
            }
        }
    }

    /// Reads up to the end of the file.
    pub(super) fn read(&self, offset: u64, buffer: &mut [u8]) -> usize {
        let room = usize::try_from(self.size.saturating_sub(offset)).unwrap_or(usize::MAX);
        let count = buffer.len().min(room);
        let mut rest = &mut buffer[..count];
        for piece in pieces(offset, count as u64) {
            let (now, later) = rest.split_at_mut(piece.len);
            match self.frames.get(&piece.page) {
                Some(frame) => frame.read(piece.within, now),
                None => now.fill(0),
            }
            rest = later;
        }
        count
    }

    /// The frame at an offset, unless that is in a hole, and the place and number of the bytes there: at most `len`, and none
    /// behind the end of the file.
    pub(super) fn piece(&self, offset: u64, len: usize) -> Option<(Option<Arc<Frame>>, usize, usize)> {
        let room = self.size.checked_sub(offset).filter(|&room| room > 0)?;
        let within = offset % PAGE_SIZE;
        let part = (len as u64).min(room).min(PAGE_SIZE - within);
        Some((self.frames.get(&(offset / PAGE_SIZE)).cloned(), within as usize, part as usize))
    }

    /// Writes as much as there is space for; an error only when nothing was written.
    pub(super) fn write(&mut self, offset: u64, data: &[u8]) -> Result<usize> {
        let data = if self.seals.intersects(Seals::OF_WRITES) { self.permitted(offset, data)? } else { data };
        let mut written = 0;
        for piece in pieces(offset, data.len() as u64) {
            let frame = match self.frame(piece.page) {
                Ok(frame) => frame,
                Err(error) if written == 0 => return Err(error),
                Err(_) => break,
            };
            frame.write(piece.within, &data[written..written + piece.len]);
            written += piece.len;
            self.size = self.size.max(offset + written as u64);
        }
        Ok(written)
    }

    /// What seals let a write do: as on Linux, page by page.
    #[cold]
    fn permitted<'a>(&self, offset: u64, data: &'a [u8]) -> Result<&'a [u8]> {
        if data.is_empty() {
            return Ok(data);
        }
        self.seals.check_content()?;
        if self.seals.check_length(self.size, self.size.max(offset + data.len() as u64)).is_ok() {
            return Ok(data);
        }
        let whole_pages = self.size - self.size % PAGE_SIZE;
        match whole_pages.saturating_sub(offset) {
            0 => Err(Errno::EPERM),
            len => Ok(&data[..len as usize]),
        }
    }

    /// Sets the length.
    pub(super) fn truncate(&mut self, size: u64) -> Result<()> {
        if size > i64::MAX as u64 {
            return Err(Errno::EFBIG);
        }
        self.seals.check_length(self.size, size)?;
        if size < self.size {
            self.frames.split_off(&size.div_ceil(PAGE_SIZE));
            self.clear_within(size, size.next_multiple_of(PAGE_SIZE) - size);
        }
        self.size = size;
        Ok(())
    }

    /// Whether the file may end behind a range.
    pub(super) fn may_extend(&self, offset: u64, len: u64) -> Result<()> {
        let end = offset.checked_add(len).filter(|&end| end <= i64::MAX as u64).ok_or(Errno::EFBIG)?;
        self.seals.check_length(self.size, self.size.max(end))
    }

    /// Takes frames for a range; on failure the ones it took are given back. That may take seconds: other threads of the CPU
    /// run meanwhile, and a signal ends it with `EINTR`, as on Linux.
    pub(super) fn reserve(&mut self, offset: u64, len: u64, keep_size: bool) -> Result<()> {
        // On Linux, too, a file that is not to become longer gets no memory behind its end.
        self.may_extend(offset, len)?;
        let end = offset + len;
        let (first, last) = (offset / PAGE_SIZE, end.div_ceil(PAGE_SIZE));
        let free = self.fs.limit_pages.saturating_sub(self.fs.used_pages.load(Ordering::Relaxed));
        if last - first > free.saturating_add(self.frames.range(first..last).count() as u64) {
            return Err(Errno::ENOSPC);
        }
        let mut taken = alloc::vec::Vec::new();
        if let Err(error) = (first..last).try_for_each(|page| self.take(page, &mut taken)) {
            taken.iter().for_each(|page| drop(self.frames.remove(page)));
            return Err(error);
        }
        if !keep_size {
            self.size = self.size.max(end);
        }
        Ok(())
    }

    /// Takes a page's frame and notes it, unless there is one.
    fn take(&mut self, page: u64, taken: &mut alloc::vec::Vec<u64>) -> Result<()> {
        if self.frames.contains_key(&page) {
            return Ok(());
        }
        taken.make_room(1)?;
        self.frame(page)?;
        taken.push(page);
        if taken.len().is_multiple_of(TURN) { give_turn() } else { Ok(()) }
    }

    /// Makes a range read as zeros and gives whole frames in it back. The length stays.
    pub(super) fn punch(&mut self, offset: u64, len: u64) -> Result<()> {
        self.seals.check_content()?;
        let end = offset.checked_add(len).ok_or(Errno::EFBIG)?;
        let (first, last) = (offset.div_ceil(PAGE_SIZE), end / PAGE_SIZE);
        if first > last {
            self.clear_within(offset, len);
            return Ok(());
        }
        let mut tail = self.frames.split_off(&first);
        let mut behind = tail.split_off(&last);
        self.frames.append(&mut behind);
        self.clear_within(offset, first * PAGE_SIZE - offset);
        self.clear_within(last * PAGE_SIZE, end - last * PAGE_SIZE);
        Ok(())
    }

    /// Zeros a range that lies within one page, if the page has a frame.
    fn clear_within(&mut self, offset: u64, len: u64) {
        if let Some(frame) = self.frames.get(&(offset / PAGE_SIZE)) {
            frame.zero((offset % PAGE_SIZE) as usize, len as usize);
        }
    }
}

/// Lets other threads run that are due; `EINTR` if the calling one has a signal.
fn give_turn() -> Result<()> {
    hadal_sched::attend();
    if hadal_sched::current().interrupted() { Err(Errno::EINTR) } else { Ok(()) }
}

/// Splits a range at page boundaries.
fn pieces(offset: u64, len: u64) -> impl Iterator<Item = Piece> {
    let mut at = offset;
    let end = offset + len;
    core::iter::from_fn(move || {
        if at >= end {
            return None;
        }
        let within = at % PAGE_SIZE;
        let len = (PAGE_SIZE - within).min(end - at);
        let piece = Piece { page: at / PAGE_SIZE, within: within as usize, len: len as usize };
        at += len;
        Some(piece)
    })
}
