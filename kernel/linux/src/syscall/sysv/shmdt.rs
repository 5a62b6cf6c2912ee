// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `shmdt(2)`: unmaps a segment of shared memory.
//!
//! Honoured: all of it: what is left of a mapping in several parts, and of one whose first pages are gone.
//!
//! Refused: nothing.

use hadal_mem::space::{PAGE_SIZE, VmaInfo};

use crate::call::Call;
use crate::strace::signature;
use crate::syscall::memory::errno;
use crate::sysv::segment::DEVICE;
use crate::sysv::segments;
use crate::{Errno, Result};

signature!(Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let address = call.arg(0);
    if !address.is_multiple_of(PAGE_SIZE) {
        return Err(Errno::EINVAL);
    }
    let space = call.process.space();
    // A part of a segment that was mapped there is where its offset says.
    let is_part = |vma: &VmaInfo| {
        vma.id.dev == DEVICE
            && vma.start.checked_sub(address).is_some_and(|offset| offset as u64 == vma.offset)
    };
    let mut found = None;
    let (mut at, mut end) = (address, usize::MAX);
    while let Some(vma) = space.next_mapping(at).filter(|vma| vma.start < end) {
        at = vma.end;
        if is_part(&vma) && found.is_none_or(|id| id == vma.id) {
            if found.is_none() {
                let segment = segments::table().get(vma.id.ino as i32);
                end = segment.map_or(at, |segment| address.saturating_add(segment.mapped_bytes()));
                found = Some(vma.id);
            }
            space.unmap(vma.start, vma.end - vma.start).map_err(errno)?;
        }
        if !call.process.goes_on() {
            break;
        }
    }
    found.map(|_| 0).ok_or(Errno::EINVAL)
}
