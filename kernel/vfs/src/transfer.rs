// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The reads or the writes of one call.
//!
//! A system call moves more bytes than a kernel buffer holds in several steps. What makes them one call to others is
//! held in between: the shared offset, and for an append the file's turn. Program memory may be touched between steps: a
//! page fault takes neither.

use alloc::sync::Arc;

use hadal_sync::MutexGuard;

use crate::errno::{Errno, Result};
use crate::file::{Blocking, Destination, File};

/// Where the next step happens.
pub(crate) enum At<'a> {
    /// A stream has no positions.
    Stream,
    /// A position of the call's own.
    Position(u64),
    /// The offset that descriptors share.
    Shared(MutexGuard<'a, u64>),
}

impl At<'_> {
    #[inline]
    fn offset(&mut self) -> Option<&mut u64> {
        match self {
            Self::Stream => None,
            Self::Position(offset) => Some(offset),
            Self::Shared(guard) => Some(guard),
        }
    }
}

/// The reads of one call.
pub struct Reading<'a> {
    file: &'a dyn File,
    at: At<'a>,
    blocking: Blocking,
}

impl<'a> Reading<'a> {
    #[inline]
    pub(crate) fn new(file: &'a Arc<dyn File>, at: At<'a>, blocking: Blocking) -> Self {
        Self { file: &**file, at, blocking }
    }

    /// The next step.
    #[inline]
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let Some(offset) = self.at.offset() else { return self.file.read(buffer, self.blocking) };
        let count = self.file.read_at(*offset, buffer)?;
        *offset += count as u64;
        Ok(count)
    }

    /// The next step, of at most `len` bytes, straight to where they go, if the file can do that ([`File::read_direct`]).
    #[inline]
    pub fn read_direct(&mut self, len: usize, to: &mut dyn Destination) -> Option<Result<usize>> {
        let offset = self.at.offset()?;
        let read = self.file.read_direct(*offset, len, to)?;
        *offset += *read.as_ref().unwrap_or(&0) as u64;
        Some(read)
    }
}

/// The writes of one call.
pub struct Writing<'a> {
    file: &'a dyn File,
    at: At<'a>,
    blocking: Blocking,
    appends: bool,
    /// Keeps other appends out.
    _turn: Option<MutexGuard<'a, ()>>,
}

impl<'a> Writing<'a> {
    #[inline]
    pub(crate) fn new(file: &'a Arc<dyn File>, at: At<'a>, blocking: Blocking, appends: bool) -> Self {
        let turn = if appends { file.append_turn().map(|turn| turn.lock()) } else { None };
        Self { file: &**file, at, blocking, appends, _turn: turn }
    }

    /// The next step.
    #[inline]
    pub fn write(&mut self, data: &[u8]) -> Result<usize> {
        let Some(offset) = self.at.offset() else { return self.file.write(data, self.blocking) };
        if self.appends && !data.is_empty() {
            let (end, count) = self.file.append(data)?;
            *offset = end;
            return Ok(count);
        }
        let count = self.file.write_at(*offset, bounded(*offset, data, MOST)?)?;
        *offset += count as u64;
        Ok(count)
    }

    /// The next step of a file that may not get longer than `most` bytes: `EFBIG` when it is.
    pub fn write_within(&mut self, most: u64, data: &[u8]) -> Result<usize> {
        let Some(offset) = self.at.offset() else { return self.file.write(data, self.blocking) };
        // An append's end stays where it is, since others wait for their turn.
        let at = if self.appends { self.file.size()? } else { *offset };
        let data = bounded(at, data, most.min(MOST))?;
        self.write(data)
    }
}

/// The highest file position.
const MOST: u64 = i64::MAX as u64;

/// Cuts a write off at a position; `EFBIG` when nothing is left.
#[inline(always)]
fn bounded(offset: u64, data: &[u8], most: u64) -> Result<&[u8]> {
    let room = most.saturating_sub(offset);
    if data.is_empty() {
        Ok(data)
    } else if room == 0 {
        Err(Errno::EFBIG)
    } else {
        Ok(&data[..data.len().min(usize::try_from(room).unwrap_or(usize::MAX))])
    }
}
