// SPDX-License-Identifier: Apache-2.0 OR MIT
//! All segments of shared memory, and how much they may be.

use hadal_hal::sync::SpinLock;
use hadal_mem::frames;
use hadal_mem::space::PAGE_SIZE;

use super::ids::Table;
use super::segment::Segment;
use crate::process::Process;
use crate::{Errno, Result};

/// Bytes of the largest segment (`SHMMAX`).
pub const BYTES_MAX: u64 = u64::MAX - (1 << 24);
/// Pages of all segments together (`SHMALL`).
pub const PAGES_MAX: u64 = u64::MAX - (1 << 24);
/// Number of segments (`SHMMNI`).
pub const COUNT_MAX: usize = 4096;
/// Bytes of the smallest one (`SHMMIN`).
pub(crate) const BYTES_MIN: u64 = 1;

static SEGMENTS: Table<Segment> = Table::new(COUNT_MAX);
/// Pages of all of them.
static PAGES: SpinLock<u64> = SpinLock::new(0);

pub(crate) fn table() -> &'static Table<Segment> {
    &SEGMENTS
}

/// Pages of all segments.
pub(crate) fn pages() -> u64 {
    *PAGES.lock()
}

fn pages_of(bytes: usize) -> u64 {
    bytes.div_ceil(PAGE_SIZE) as u64
}

/// Finds the segment with a key, or makes one; returns its id. `EINVAL` for a size that no segment may have, or that is more than
/// this one has; `ENOMEM` for one of more memory than the machine has, as on Linux with its usual rules.
pub(crate) fn get(process: &Process, key: i32, bytes: usize, flags: i32) -> Result<i32> {
    let caller = process.caller();
    let check = |segment: &Segment| {
        if segment.bytes() < bytes {
            return Err(Errno::EINVAL);
        }
        segment.state().permissions.check(&caller, flags as u32)
    };
    let make = || {
        if !(BYTES_MIN..=BYTES_MAX).contains(&(bytes as u64)) {
            return Err(Errno::EINVAL);
        }
        if bytes as u64 > frames::global().stats().total_bytes {
            return Err(Errno::ENOMEM);
        }
        let room = Room::take(bytes)?;
        let make = Segment::prepare(key, bytes, &caller, flags)?;
        Ok(|place| {
            // The segment has it from now on.
            room.keep();
            make(place)
        })
    };
    SEGMENTS.find_or_make(key, flags, check, make)
}

/// Part of what all segments may have; given back if no segment comes of it.
struct Room(u64);

impl Room {
    fn take(bytes: usize) -> Result<Self> {
        let pages = pages_of(bytes);
        let mut all = PAGES.lock();
        *all = all.checked_add(pages).filter(|&all| all <= PAGES_MAX).ok_or(Errno::ENOSPC)?;
        Ok(Self(pages))
    }

    /// There is a segment that has it.
    fn keep(self) {
        core::mem::forget(self);
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        *PAGES.lock() -= self.0;
    }
}

/// A segment is not found by its key any more.
pub(super) fn forget_key(id: i32) {
    SEGMENTS.forget_key(id);
}

/// A segment leaves the table.
pub(super) fn remove(id: i32, bytes: usize) {
    *PAGES.lock() -= pages_of(bytes);
    SEGMENTS.remove(id);
}
