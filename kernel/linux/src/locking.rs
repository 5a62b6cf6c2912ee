// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Locked memory: what a program may lock (`RLIMIT_MEMLOCK`), beside what it may map, and filling what it has
//! locked.

use core::ops::Range;

use hadal_mem::frames;
use hadal_mem::space::{FaultOutcome, Limits, Lock, VmaInfo};
use linux_raw_sys::general::RLIMIT_MEMLOCK;

use crate::process::{Process, UNLIMITED};
use crate::{Errno, Result, filling};

/// Part of the free memory that is not used to fill a mapping nobody has named: all but one in so many.
const KEPT_SHARE: u64 = 4;

/// Most bytes that the program may lock; the superuser has no limit.
pub(crate) fn limit(process: &Process) -> Option<usize> {
    if process.credentials.is_privileged() {
        return None;
    }
    let soft = process.limits.lock()[RLIMIT_MEMLOCK as usize].soft;
    (soft != UNLIMITED).then(|| usize::try_from(soft).unwrap_or(usize::MAX))
}

/// The same where it matters only if new mappings may be locked.
#[inline]
fn limit_if_used(process: &Process) -> Option<usize> {
    if process.space().uses_locks() { limit(process) } else { None }
}

/// What a new mapping, or a larger one, may take.
#[inline]
pub(crate) fn limits(process: &Process) -> Limits<'_> {
    Limits { mapped: process.mapping_limits(), locked: limit_if_used(process) }
}

/// `EPERM` for a program that may lock nothing.
pub(crate) fn check(process: &Process) -> Result<()> {
    if limit(process) == Some(0) { Err(Errno::EPERM) } else { Ok(()) }
}

/// The mappings in a range, each with its part of the range.
fn mappings(process: &Process, start: usize, end: usize) -> impl Iterator<Item = (Range<usize>, VmaInfo)> {
    parts(start..end, move |at| {
        let vma = process.space().next_mapping(at)?;
        Some((vma.start..vma.end, vma))
    })
}

/// What `next` finds in a range, from one end to the other: the first that ends above an address. Other threads may change it in
/// between.
fn parts<T>(
    range: Range<usize>,
    mut next: impl FnMut(usize) -> Option<(Range<usize>, T)>,
) -> impl Iterator<Item = (Range<usize>, T)> {
    let Range { mut start, end } = range;
    core::iter::from_fn(move || {
        // The last one may have ended behind the range, and the next one may have grown into it since.
        if start >= end {
            return None;
        }
        let (found, what) = next(start).filter(|(found, _)| found.start < end)?;
        let part = found.start.max(start)..found.end.min(end);
        start = found.end;
        Some((part, what))
    })
}

/// Whether something is locked in a range.
pub(crate) fn has_locked(process: &Process, start: usize, len: usize) -> bool {
    mappings(process, start, start.saturating_add(len)).any(|(_, vma)| vma.lock().is_some())
}

/// Fills the locked mappings of a range. What cannot be filled is filled when it is touched; nor is what would take more than
/// its share of the memory: a program that locks everything has large stacks of which it uses little.
#[inline]
pub(crate) fn fill(process: &Process, start: usize, len: usize) {
    if process.space().uses_locks() {
        fill_locked(process, start, len);
    }
}

fn fill_locked(process: &Process, start: usize, len: usize) {
    for (part, vma) in mappings(process, start, start.saturating_add(len)) {
        let free = frames::global().stats().free_bytes;
        let fits = part.len() as u64 <= free - free / KEPT_SHARE;
        if vma.lock() == Some(Lock::Full) && !vma.prot.is_empty() && fits {
            let _ = filling::populate(process, part.start, part.len());
        }
    }
}

/// Fills the locked mappings of a range that the program has named: `ENOMEM` for what cannot be touched, `EAGAIN` when there is
/// no memory.
pub(crate) fn fill_named(process: &Process, start: usize, end: usize) -> Result<()> {
    for (part, _) in mappings(process, start, end).filter(|(_, vma)| vma.lock() == Some(Lock::Full)) {
        match filling::populate(process, part.start, part.len()) {
            Ok(()) => {}
            Err(FaultOutcome::OutOfMemory) => return Err(Errno::EAGAIN),
            Err(_) => return Err(Errno::ENOMEM),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn a_mapping_that_grows_into_the_range_from_behind_it_has_no_part_in_it() {
        let mut states = [0..16, 0..24].into_iter();
        let found: Vec<_> = parts(0..8, |_| states.next().map(|range| (range, ()))).collect();
        assert_eq!(found, [(0..8, ())]);
        let mut states = [2..4, 4..6, 9..12].into_iter();
        let found: Vec<_> = parts(3..8, |_| states.next().map(|range| (range, ()))).collect();
        assert_eq!(found, [(3..4, ()), (4..6, ())]);
    }
}
