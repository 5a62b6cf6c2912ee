// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Locked memory: what a program may lock (`RLIMIT_MEMLOCK`), and filling what it has locked.

use hadal_mem::frames;
use hadal_mem::space::{FaultOutcome, Lock};
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
pub(crate) fn limit_if_used(process: &Process) -> Option<usize> {
    if process.space().uses_locks() { limit(process) } else { None }
}

/// `EPERM` for a program that may lock nothing.
pub(crate) fn check(process: &Process) -> Result<()> {
    if limit(process) == Some(0) { Err(Errno::EPERM) } else { Ok(()) }
}

/// Whether something is locked in a range.
pub(crate) fn has_locked(process: &Process, start: usize, len: usize) -> bool {
    let end = start.saturating_add(len);
    let mut at = start;
    while let Some(vma) = process.space().next_mapping(at).filter(|vma| vma.start < end) {
        if vma.lock().is_some() {
            return true;
        }
        at = vma.end;
    }
    false
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
    let end = start.saturating_add(len);
    let mut at = start;
    while let Some(vma) = process.space().next_mapping(at).filter(|vma| vma.start < end) {
        let (from, until) = (vma.start.max(at), vma.end.min(end));
        let free = frames::global().stats().free_bytes;
        let fits = (until - from) as u64 <= free - free / KEPT_SHARE;
        if vma.lock() == Some(Lock::Full) && !vma.prot.is_empty() && fits {
            let _ = filling::populate(process, from, until - from);
        }
        at = vma.end;
    }
}

/// Fills the locked mappings of a range that the program has named: `ENOMEM` for what cannot be touched, `EAGAIN` when there is
/// no memory.
pub(crate) fn fill_named(process: &Process, start: usize, end: usize) -> Result<()> {
    let mut at = start;
    while let Some(vma) = process.space().next_mapping(at).filter(|vma| vma.start < end) {
        let (from, until) = (vma.start.max(at), vma.end.min(end));
        if vma.lock() == Some(Lock::Full) {
            match filling::populate(process, from, until - from) {
                Ok(()) => {}
                Err(FaultOutcome::OutOfMemory) => return Err(Errno::EAGAIN),
                Err(_) => return Err(Errno::ENOMEM),
            }
        }
        at = vma.end;
    }
    Ok(())
}
