// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Memory that is filled before it is touched.
//!
//! Programs of an image have theirs filled when it is mapped: their steady state has no page fault. It is done for the program's
//! segments, the heap and `mmap`. Thread stacks, `MAP_NORESERVE`, inaccessible memory and large mappings are reservations of
//! which little may ever be used, so they wait for the first touch. So does memory that would take more than its share of what
//! is free: on Linux, too, reserving more than there is succeeds.

use hadal_mem::frames;
use hadal_mem::space::{FaultOutcome, PAGE_SIZE};

use crate::process::Process;

/// Part of the free memory that one mapping may take at once: all but one in so many.
const KEPT_SHARE: u64 = 4;

/// Mappings that are larger wait for the first touch: to fill them takes long, and few programs use all of such memory.
const MAPPING_MOST: usize = 32 << 20;

/// Bytes that are filled before another thread gets its turn.
const TURN: usize = 16 << 20;

/// Fills the pages of a range that are not there yet, as a touch of each would. Memory may take seconds to fill: other threads
/// of the CPU run meanwhile, and the end of the process ends it.
pub(crate) fn populate(process: &Process, start: usize, len: usize) -> Result<(), FaultOutcome> {
    let end = start.saturating_add(len);
    let mut at = start;
    while at < end {
        let next = (at - at % TURN).saturating_add(TURN).min(end);
        process.space().populate(at, next - at)?;
        if !process.goes_on() {
            break;
        }
        at = next;
    }
    Ok(())
}

/// Fills a new mapping, unless it is a large one.
#[inline]
pub(crate) fn fill_mapping(process: &Process, start: usize, len: usize) {
    if process.fills_at_once && len <= MAPPING_MOST {
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
        let _ = populate(process, start, len.next_multiple_of(PAGE_SIZE));
    }
}
