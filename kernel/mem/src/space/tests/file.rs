// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Files with known content.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use hadal_hal::memory::frames::Lent;

use super::super::*;
use super::machine::PAGE;
use crate::frames::{Frame, FrameAllocator, ZonePolicy};

/// A file whose byte at any offset is known.
pub(super) struct TestFile {
    ino: u64,
    len: AtomicUsize,
    frames: Option<(&'static FrameAllocator, Mutex<BTreeMap<u64, Frame>>)>,
    pub(super) broken: AtomicBool,
    pub(super) kernels_own: AtomicBool,
    /// Its mappings, if it counts them.
    pub(super) mappings: Option<AtomicUsize>,
    pub(super) reads: AtomicUsize,
    pub(super) synced: Mutex<Vec<(u64, u64)>>,
    /// Pages marked as written, in the order of the marks.
    pub(super) written: Mutex<Vec<u64>>,
}

impl TestFile {
    pub(super) fn new(ino: u64, len: usize, shared_in: Option<&'static FrameAllocator>) -> Arc<Self> {
        Arc::new(Self::plain(ino, len, shared_in))
    }

    /// One that counts its mappings.
    pub(super) fn counting(ino: u64, len: usize, shared_in: &'static FrameAllocator) -> Arc<Self> {
        let plain = Self::plain(ino, len, Some(shared_in));
        Arc::new(Self { mappings: Some(AtomicUsize::new(0)), ..plain })
    }

    fn plain(ino: u64, len: usize, shared_in: Option<&'static FrameAllocator>) -> Self {
        Self {
            ino,
            len: AtomicUsize::new(len),
            frames: shared_in.map(|frames| (frames, Mutex::default())),
            broken: AtomicBool::new(false),
            kernels_own: AtomicBool::new(false),
            reads: AtomicUsize::new(0),
            synced: Mutex::default(),
            written: Mutex::default(),
            mappings: None,
        }
    }

    pub(super) fn mappings(&self) -> usize {
        self.mappings.as_ref().expect("counted").load(Ordering::Relaxed)
    }

    pub(super) fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    pub(super) fn set_len(&self, len: usize) {
        self.len.store(len, Ordering::Relaxed);
    }

    /// The pages marked as written since the last call.
    pub(super) fn take_written(&self) -> Vec<u64> {
        std::mem::take(&mut self.written.lock().expect("written"))
    }

    /// The byte of a file at an offset; never 0 inside of it.
    pub(super) fn byte(ino: u64, offset: usize) -> u8 {
        (offset / PAGE * 7 + offset % 13 + ino as usize * 31) as u8 | 1
    }

    pub(super) fn backing(self: &Arc<Self>, offset: usize, shared: bool) -> MapBacking {
        MapBacking::File { source: self.clone(), offset: offset as u64, shared }
    }
}

impl PageSource for TestFile {
    fn id(&self) -> SourceId {
        SourceId { dev: 9, ino: self.ino }
    }

    fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, IoError> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        if self.broken.load(Ordering::Relaxed) {
            return Err(IoError::Failed);
        }
        let count = self.len().saturating_sub(offset as usize).min(buffer.len());
        for (at, byte) in buffer[..count].iter_mut().enumerate() {
            *byte = Self::byte(self.ino, offset as usize + at);
        }
        Ok(count)
    }

    fn is_kernels_own(&self) -> bool {
        self.kernels_own.load(Ordering::Relaxed)
    }

    fn can_share(&self) -> bool {
        self.frames.is_some()
    }

    fn shared_frame(&self, index: u64, _writable: bool) -> Result<Option<Lent>, IoError> {
        let (frames, pages) = self.frames.as_ref().expect("shareable");
        if index as usize * PAGE >= self.len() {
            return Ok(None);
        }
        let mut pages = pages.lock().expect("pages");
        if let Some(frame) = pages.get(&index) {
            return Ok(Some(frame.lend()));
        }
        let frame = frames.alloc_zeroed(0, ZonePolicy::Local).ok_or(IoError::NoMemory)?;
        let share = frame.lend();
        pages.insert(index, frame);
        Ok(Some(share))
    }

    fn counts_mappings(&self) -> bool {
        self.mappings.is_some()
    }

    fn mapping_added(&self) {
        self.mappings.as_ref().expect("counted").fetch_add(1, Ordering::Relaxed);
    }

    fn mapping_removed(&self) {
        self.mappings.as_ref().expect("counted").fetch_sub(1, Ordering::Relaxed);
    }

    fn is_written_back(&self) -> bool {
        self.can_share()
    }

    fn mark_written(&self, index: u64) {
        self.written.lock().expect("written").push(index);
    }

    fn sync(&self, offset: u64, len: u64) -> Result<(), IoError> {
        self.synced.lock().expect("synced").push((offset, len));
        Ok(())
    }
}
