// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where the content of a file mapping comes from; the file system implements it.

use alloc::vec::Vec;
use core::ops::Range;

use hadal_hal::memory::frames::{Block, Lent};

use super::PAGE_SIZE;

/// What `/proc/self/maps` shows of a file, and what makes two mappings those of the same file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceId {
    /// Device number; 0 for shared anonymous memory.
    pub dev: u64,
    /// Inode number.
    pub ino: u64,
}

/// Why a page's content could not be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoError {
    /// The device or the host refused.
    Failed,
    /// No memory for the transfer.
    NoMemory,
}

/// A file that can be mapped. Its methods may sleep: they are called without any lock held.
pub trait PageSource: Send + Sync {
    /// Which file this is.
    fn id(&self) -> SourceId;

    /// Reads at a byte offset; the result is shorter than the buffer only at the end of the file.
    fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, IoError>;

    /// Reads into consecutive 4 KiB frames; returns the number of bytes, fewer than asked only at the end of the file. What
    /// follows them in the frames is arbitrary. A source that has the content in memory does better than this.
    fn read_frames(&self, offset: u64, frames: &[&Block]) -> Result<usize, IoError> {
        let mut buffer = bounce_buffer(frames.len())?;
        let mut done = 0;
        for group in frames.chunks(buffer.len() / PAGE_SIZE) {
            let wanted = group.len() * PAGE_SIZE;
            let got = self.read(offset + done as u64, &mut buffer[..wanted])?;
            for (frame, data) in group.iter().zip(buffer[..got].chunks(PAGE_SIZE)) {
                frame.write(0, data);
            }
            done += got;
            if got < wanted {
                break;
            }
        }
        Ok(done)
    }

    /// Whether [`PageSource::shared_frame`] works. If not, only read-only shared mappings are possible, as snapshots.
    fn can_share(&self) -> bool {
        false
    }

    /// The frame that holds page `index` for everybody, or `None` past the end of the file. The frame stays what it is as
    /// long as the source lives, even if the file is truncated. With `writable` the content may change from now on.
    fn shared_frame(&self, index: u64, writable: bool) -> Result<Option<Lent>, IoError> {
        let _ = (index, writable);
        Ok(None)
    }

    /// As [`PageSource::shared_frame`] for page `index`, and for those of `around` whose frames are at hand, too: hands page
    /// and frame to `give`, which does not wait. `false` past the end of the file.
    fn shared_frames(
        &self,
        index: u64,
        around: Range<u64>,
        writable: bool,
        give: &mut dyn FnMut(u64, Lent),
    ) -> Result<bool, IoError> {
        let _ = around;
        let Some(frame) = self.shared_frame(index, writable)? else { return Ok(false) };
        give(index, frame);
        Ok(true)
    }

    /// Whether its pages are the kernel's own, and no program ever writes there: then nobody waits for a word to change that
    /// another address space has, too.
    fn is_kernels_own(&self) -> bool {
        false
    }

    /// Whether the file is kept elsewhere, so that what programs write to its frames has to be brought there.
    fn is_written_back(&self) -> bool {
        false
    }

    /// Whether it is told of each mapping that shows it.
    fn counts_mappings(&self) -> bool {
        false
    }

    /// There is a mapping more. The address space's lock may be held: this must not sleep.
    fn mapping_added(&self) {}

    /// There is a mapping less, in the same way.
    fn mapping_removed(&self) {}

    /// Whether it wants to know of what programs write to its frames, at `msync` and when they are unmapped.
    fn notes_writes(&self) -> bool {
        self.is_written_back()
    }

    /// A program has written to the frame of page `index` through a shared mapping. The address space's lock is held: this
    /// must not sleep.
    fn mark_written(&self, index: u64) {
        let _ = index;
    }

    /// Brings what was marked as written in a range to where the file is kept, and notes it (`msync`).
    fn sync(&self, offset: u64, len: u64) -> Result<(), IoError> {
        let _ = (offset, len);
        Ok(())
    }
}

/// A buffer of `pages` pages, or of fewer when memory is short.
fn bounce_buffer(pages: usize) -> Result<Vec<u8>, IoError> {
    let mut pages = pages.max(1);
    loop {
        let mut buffer = Vec::new();
        if buffer.try_reserve_exact(pages * PAGE_SIZE).is_ok() {
            buffer.resize(pages * PAGE_SIZE, 0);
            return Ok(buffer);
        }
        if pages == 1 {
            return Err(IoError::NoMemory);
        }
        pages /= 2;
    }
}
