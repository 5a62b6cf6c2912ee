// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Memory that is filled when it is mapped, for programs of an image: their steady state has no page fault.
//!
//! It is done for the program's segments, the heap and `mmap`. Thread stacks, `MAP_NORESERVE`, inaccessible memory and large
//! mappings are reservations of which little may ever be used, so they wait for the first touch. So does memory that would
//! take more than its share of what is free: on Linux, too, reserving more than there is succeeds.

use hadal_mem::frames;
use hadal_mem::space::PAGE_SIZE;

use crate::process::Process;

/// Part of the free memory that one mapping may take at once: all but one in so many.
const KEPT_SHARE: u64 = 4;

/// Mappings that are larger wait for the first touch: to fill them takes long, and few programs use all of such memory.
const MAPPING_MOST: usize = 32 << 20;

/// Fills a new mapping, unless it is a large one.
pub(crate) fn fill_mapping(process: &Process, start: usize, len: usize) {
    if len <= MAPPING_MOST {
        fill(process, start, len);
    }
}

/// Fills what was just mapped, if the process wants that and memory is not short. What cannot be filled now is filled when
/// it is touched, with the error that belongs to it.
pub(crate) fn fill(process: &Process, start: usize, len: usize) {
    if !process.fills_at_once || len == 0 {
        return;
    }
    let free = frames::global().stats().free_bytes;
    if len as u64 <= free - free / KEPT_SHARE {
        let _ = process.space.populate(start, len.next_multiple_of(PAGE_SIZE));
    }
}
