// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Files and directories of a [`super::TmpFs`] as what is open, and mappings. Being open adds nothing to an inode, so each is
//! its own open file.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use hadal_hal::memory::fallible;
use hadal_hal::memory::frames::Lent;
use hadal_mem::space::{IoError, PageSource, SourceId};
use hadal_sync::Mutex;

use super::pages::{Frame, PAGE_SIZE};
use super::{AccessTimes, Body, Node};
use crate::errno::{Errno, Result};
use crate::file::{AllocateMode, Destination, DirEntry, File, Positions};
use crate::inode::Inode;
use crate::seals::Seals;

impl File for Node {
    fn positions(&self) -> Positions {
        Positions::Shared
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        Ok(self.pages()?.lock().read(offset, buffer))
    }

    fn read_direct(&self, offset: u64, len: usize, to: &mut dyn Destination) -> Option<Result<usize>> {
        let Body::Regular(pages) = &self.body else { return None };
        let mut done = 0;
        while done < len {
            // The file may end elsewhere by now.
            let Some((frame, within, part)) = pages.lock().piece(offset + done as u64, len - done) else {
                break;
            };
            let put = match frame {
                Some(frame) => to.put(&frame, within, part),
                None => to.put_zeros(part),
            };
            match put {
                Ok(()) => done += part,
                Err(error) if done == 0 => return Some(Err(error)),
                Err(_) => break,
            }
        }
        Some(Ok(done))
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> Result<usize> {
        let written = self.pages()?.lock().write(offset, data)?;
        if !data.is_empty() {
            self.touch_content();
        }
        Ok(written)
    }

    fn append(&self, data: &[u8]) -> Result<(u64, usize)> {
        let mut pages = self.pages()?.lock();
        let end = pages.size();
        let written = pages.write(end, data)?;
        drop(pages);
        self.touch_content();
        Ok((end + written as u64, written))
    }

    fn append_turn(&self) -> Option<&Mutex<()>> {
        Some(self.fs.appends.of(self.ino))
    }

    fn size(&self) -> Result<u64> {
        Ok(self.pages()?.lock().size())
    }

    fn readdir(&self, cookie: u64, sink: &mut dyn FnMut(DirEntry<'_>) -> bool) -> Result<()> {
        self.list(cookie, sink)
    }

    fn changes(&self) -> Option<&'static AtomicU32> {
        Some(self.changes)
    }

    fn accessed(&self) -> bool {
        self.touch_access();
        self.fs.access_times == AccessTimes::Relative
    }

    fn fsync(&self, _data_only: bool) -> Result<()> {
        Ok(())
    }

    fn truncate(&self, size: u64) -> Result<()> {
        self.truncate(size)
    }

    fn allocate(&self, mode: AllocateMode, offset: u64, len: u64) -> Result<()> {
        let mut pages = self.pages().map_err(|_| Errno::ENODEV)?.lock();
        match mode {
            AllocateMode::Extend => pages.reserve(offset, len, false)?,
            AllocateMode::KeepSize => pages.reserve(offset, len, true)?,
            AllocateMode::PunchHole => pages.punch(offset, len)?,
            AllocateMode::ZeroRange => {
                // Neither, if one of them must not be.
                pages.may_extend(offset, len)?;
                pages.punch(offset, len)?;
                pages.reserve(offset, len, false)?;
            }
        }
        drop(pages);
        self.touch_content();
        Ok(())
    }

    fn page_source(self: Arc<Self>) -> Option<Arc<dyn PageSource>> {
        let regular = matches!(self.body, Body::Regular(_));
        regular.then(|| TmpSource::of(self, false))
    }

    fn writable_page_source(self: Arc<Self>) -> Result<Option<Arc<dyn PageSource>>> {
        let Body::Regular(pages) = &self.body else { return Ok(None) };
        {
            // Who seals the content looks at the number with the same lock.
            let pages = pages.lock();
            pages.seals().check_content()?;
            self.writers.fetch_add(1, Ordering::Relaxed);
        }
        Ok(Some(TmpSource::of(self, true)))
    }

    fn seals(&self) -> Result<Seals> {
        let pages = self.pages().map_err(|_| Errno::EINVAL)?;
        Ok(pages.lock().seals())
    }

    fn add_seals(&self, seals: Seals) -> Result<()> {
        let mut pages = self.pages().map_err(|_| Errno::EINVAL)?.lock();
        let is_mapped = self.writers.load(Ordering::Acquire) > 0;
        pages.add_seals(seals, is_mapped)
    }

    fn maps_shared_writable(&self) -> bool {
        true
    }
}

/// The pages of a file for one mapping.
struct TmpSource {
    node: Arc<Node>,
    /// The frames given away, by address: they stay as long as the mapping may use them.
    shared: Mutex<BTreeMap<u64, Arc<Frame>>>,
    /// Programs have written to frames, and the file's times do not tell yet.
    written: AtomicBool,
    /// It is one of the file's writers. A mapping that is gone has it until no CPU reaches its pages any more.
    writes: bool,
}

impl TmpSource {
    /// One for each mapping, which has been asked for.
    fn of(node: Arc<Node>, writes: bool) -> Arc<dyn PageSource> {
        let (shared, written) = (Mutex::new(BTreeMap::new()), AtomicBool::new(false));
        Arc::new(Self { node, shared, written, writes })
    }
}

impl Drop for TmpSource {
    fn drop(&mut self) {
        if self.writes {
            self.node.writers.fetch_sub(1, Ordering::Release);
        }
    }
}

impl PageSource for TmpSource {
    fn id(&self) -> SourceId {
        let id = self.node.identity();
        SourceId { dev: id.dev, ino: id.ino }
    }

    fn read(&self, offset: u64, buffer: &mut [u8]) -> core::result::Result<usize, IoError> {
        let pages = self.node.pages().map_err(|_| IoError::Failed)?;
        Ok(pages.lock().read(offset, buffer))
    }

    fn can_share(&self) -> bool {
        true
    }

    fn notes_writes(&self) -> bool {
        true
    }

    fn mark_written(&self, _index: u64) {
        self.written.store(true, Ordering::Relaxed);
    }

    fn sync(&self, _offset: u64, _len: u64) -> core::result::Result<(), IoError> {
        if self.written.swap(false, Ordering::Relaxed) {
            self.node.touch_content();
        }
        Ok(())
    }

    fn shared_frame(&self, index: u64, _writable: bool) -> core::result::Result<Option<Lent>, IoError> {
        let mut pages = self.node.pages().map_err(|_| IoError::Failed)?.lock();
        if index >= pages.size().div_ceil(PAGE_SIZE) {
            return Ok(None);
        }
        let frame = pages.frame(index).map_err(|_| IoError::NoMemory)?.clone();
        drop(pages);
        let share = frame.lend();
        fallible::admit(fallible::SMALL_BYTES).map_err(|_| IoError::NoMemory)?;
        self.shared.lock().insert(share.phys(), frame);
        Ok(Some(share))
    }
}
