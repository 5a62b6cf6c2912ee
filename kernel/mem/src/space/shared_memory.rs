// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Memory that a process shares with those that it forks (`MAP_SHARED | MAP_ANONYMOUS`): a file without a name whose pages are
//! made by the first touch, whoever touches.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use core::sync::atomic::{AtomicU64, Ordering};

use hadal_hal::memory::fallible;
use hadal_hal::memory::frames::Lent;
use hadal_hal::sync::SpinLock;

use super::create::{MapBacking, MapRequest};
use super::source::{IoError, PageSource, SourceId};
use super::{AddressSpace, Mmu, PAGE_SIZE, SpaceError};
use crate::frames::{Frame, FrameAllocator, ZonePolicy};

/// Each object has a number of its own in all windows.
static NEXT: AtomicU64 = AtomicU64::new(2);

/// What a page takes of kernel memory beside its frame.
const NODE_BYTES: usize = 64;

/// Such memory, which can be mapped as a file is. It has no end.
pub struct SharedMemory {
    number: u64,
    frames: &'static FrameAllocator,
    pages: SpinLock<BTreeMap<u64, Frame>>,
}

impl SharedMemory {
    /// Memory without pages.
    pub fn new(frames: &'static FrameAllocator) -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self { number, frames, pages: SpinLock::new(BTreeMap::new()) }
    }

    /// Number of pages that have been touched.
    pub fn resident_pages(&self) -> usize {
        self.pages.lock().len()
    }
}

impl PageSource for SharedMemory {
    fn id(&self) -> SourceId {
        SourceId { dev: 0, ino: self.number }
    }

    fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, IoError> {
        let mut done = 0;
        while done < buffer.len() {
            let at = offset + done as u64;
            let (index, within) = (at / PAGE_SIZE as u64, at as usize % PAGE_SIZE);
            let len = (buffer.len() - done).min(PAGE_SIZE - within);
            let part = &mut buffer[done..done + len];
            match self.pages.lock().get(&index) {
                Some(frame) => frame.read(within, part),
                None => part.fill(0),
            }
            done += len;
        }
        Ok(done)
    }

    fn can_share(&self) -> bool {
        true
    }

    fn shared_frame(&self, index: u64, _: bool) -> Result<Option<Lent>, IoError> {
        if let Some(frame) = self.pages.lock().get(&index) {
            return Ok(Some(frame.lend()));
        }
        fallible::admit(NODE_BYTES).map_err(|_| IoError::NoMemory)?;
        let frame = self.frames.alloc_program(0, ZonePolicy::Local).ok_or(IoError::NoMemory)?;
        frame.clear();
        let mut pages = self.pages.lock();
        // Another thread may have been faster.
        let mut spare = Some(frame);
        let lent = pages.entry(index).or_insert_with(|| spare.take().expect("taken once")).lend();
        drop(pages);
        drop(spare);
        Ok(Some(lent))
    }
}

impl<M: Mmu> AddressSpace<M> {
    /// Makes the object of a mapping that is to be shared.
    pub(super) fn give_object(&self, request: &mut MapRequest) -> Result<(), SpaceError> {
        let object = fallible::arc(SharedMemory::new(self.frames));
        let source: Arc<dyn PageSource> = object.map_err(|_| SpaceError::NoMemory)?;
        request.backing = MapBacking::File { source, offset: 0, shared: true };
        Ok(())
    }
}
