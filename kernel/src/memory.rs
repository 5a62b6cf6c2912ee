// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Memory, in the order that it becomes usable: frames that the boot page tables reach, the heap on them, the final page
//! tables, all frames, per-CPU caches.

use arrayvec::ArrayVec;
use core::ops::Range;

use hadal_hal::boot::BootInfo;
use hadal_hal::memory::{frames as source, paging};
use hadal_mem::frames::{self, UsableRange, ZoneId};

use crate::platform::Platform;

/// Ranges after cutting at zone borders.
const MAX_RANGES: usize = 256;

/// Cuts free memory at zone borders.
fn by_zone(free: &[Range<u64>], platform: &Platform) -> ArrayVec<UsableRange, MAX_RANGES> {
    let mut ranges = ArrayVec::new();
    for range in free {
        let mut start = range.start;
        while start < range.end {
            let (zone, until) = platform.zone_at(start);
            let end = range.end.min(until);
            // A machine with more pieces than this loses the smallest use of them: what does not fit is not used.
            if ranges.try_push(UsableRange { start, end, zone: ZoneId(zone) }).is_err() {
                log::warn!("memory at {start:#x} is not used: more than {MAX_RANGES} ranges");
            }
            start = end;
        }
    }
    ranges
}

/// From the loader's memory map to the final page tables.
#[inline(never)] // Its frame is large, and is to be gone when the caller goes on.
pub(crate) fn init(info: &BootInfo, platform: &Platform) {
    source::init(info);
    let free = info.free_memory();
    let ranges = by_zone(&free, platform);
    frames::global()
        .init(ranges.iter().copied(), platform.zone_count(), |from, to| platform.distance(from, to));
    source::set_source(frames::global());
    if paging::build(info.memory().chain(core::iter::once(0..1 << 20))).is_err() {
        panic!("not enough memory for the kernel's page tables: start with more (--memory)");
    }
    paging::activate();
    frames::global().init_high();
}

/// Per-CPU frame caches, once the processors are counted.
pub(crate) fn init_cpus(cpus: usize, platform: &Platform) {
    frames::global().init_cpus(cpus, |cpu| ZoneId(platform.cpu_zone(cpu)));
}
