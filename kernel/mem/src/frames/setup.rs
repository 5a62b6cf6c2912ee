// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Start-up of the frame allocator, and what is fixed by it: arenas, zone distances, the zone of each CPU.

use core::sync::atomic::Ordering;

use alloc::boxed::Box;
use hadal_hal::cpu::percpu::CpuLocal;
use hadal_hal::memory::layout::BOOT_MAPPED;
use hadal_hal::sync::{Rank, SpinLock};
use spin::Once;

use super::cache::CpuCache;
use super::{FrameAllocator, MAX_ZONES, ZoneId};
use crate::buddy::{Arenas, FRAME_BYTES};

/// A run of memory that nothing uses yet, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsableRange {
    /// Its first byte; rounded up to a whole frame.
    pub start: u64,
    /// The first byte after it; rounded down to a whole frame.
    pub end: u64,
    /// The zone that it belongs to.
    pub zone: ZoneId,
}

/// Memory above this is not mapped while the kernel starts. (On the host, all memory is.)
const EARLY_LIMIT: u64 = if cfg!(target_os = "none") { BOOT_MAPPED } else { 1 << 62 };

/// What does not change after start-up.
pub(super) struct Layout {
    pub(super) arenas: Arenas,
    pub(super) zone_count: usize,
    distances: [[u8; MAX_ZONES]; MAX_ZONES],
    /// For each zone the others, nearest first.
    nearest: [[u8; MAX_ZONES]; MAX_ZONES],
    cpu_zones: Once<Box<[ZoneId]>>,
}

impl Layout {
    fn new(arenas: Arenas, zone_count: usize, distance: impl Fn(usize, usize) -> u8) -> Self {
        let mut distances = [[0; MAX_ZONES]; MAX_ZONES];
        let mut nearest = [[0; MAX_ZONES]; MAX_ZONES];
        for (from, row) in nearest.iter_mut().enumerate().take(zone_count) {
            for (to, slot) in row.iter_mut().enumerate().take(zone_count) {
                distances[from][to] = distance(from, to);
                *slot = to as u8;
            }
            row[..zone_count]
                .sort_unstable_by_key(|&to| (usize::from(to) != from, distances[from][usize::from(to)], to));
        }
        Self { arenas, zone_count, distances, nearest, cpu_zones: Once::new() }
    }

    /// The zones other than `zone`, nearest first.
    pub(super) fn by_distance(&self, zone: ZoneId) -> impl Iterator<Item = ZoneId> {
        self.nearest[zone.index()][1..self.zone_count.max(1)].iter().map(|&other| ZoneId(other))
    }

    pub(super) fn distance(&self, from: ZoneId, to: ZoneId) -> u8 {
        let known = from.index() < self.zone_count && to.index() < self.zone_count;
        if known { self.distances[from.index()][to.index()] } else { u8::MAX }
    }

    pub(super) fn cpu_zone(&self, cpu: usize) -> ZoneId {
        self.cpu_zones.get().and_then(|zones| zones.get(cpu)).copied().unwrap_or_default()
    }
}

impl FrameAllocator {
    /// Takes over the machine's memory. Needs no heap, and touches only a few words of each range.
    ///
    /// Memory above [`BOOT_MAPPED`] is noted, but left alone until [`FrameAllocator::init_high`]. Ranges must not overlap.
    /// Zones at or above `zone_count` (at most [`MAX_ZONES`]) count as zone 0. `distance` is that of the ACPI SLIT.
    /// Only the first call has an effect.
    pub fn init(
        &self,
        ranges: impl Iterator<Item = UsableRange> + Clone,
        zone_count: usize,
        distance: impl Fn(usize, usize) -> u8,
    ) {
        let zone_count = zone_count.clamp(1, MAX_ZONES);
        let layout = self.layout.call_once(|| {
            let mut arenas = Arenas::new(ranges.clone().map(|range| range.start).min().unwrap_or(0));
            for range in ranges {
                let zone = if range.zone.index() < zone_count { range.zone.0 } else { 0 };
                let cut = EARLY_LIMIT.clamp(range.start, range.end.max(range.start));
                for (start, end) in [(range.start, cut), (cut, range.end)] {
                    if start < end && !arenas.add(start, end, zone) {
                        log::warn!(
                            "memory {start:#x}..{end:#x} is not used: too small, too high or too many ranges"
                        );
                    }
                }
            }
            Layout::new(arenas, zone_count, distance)
        });
        self.low.call_once(|| self.seed(layout, |pa| pa < EARLY_LIMIT));
    }

    /// Makes the memory above [`BOOT_MAPPED`] usable: call it when the direct map covers all memory.
    pub fn init_high(&self) {
        let Some(layout) = self.layout.get() else { return };
        self.high.call_once(|| self.seed(layout, |pa| pa >= EARLY_LIMIT));
    }

    /// Names the zone of each CPU and starts the per-CPU caches. Needs the heap; only the first call has an effect.
    pub fn init_cpus(&self, cpus: usize, cpu_zone: impl Fn(usize) -> ZoneId) {
        let Some(layout) = self.layout.get() else { return };
        let zone =
            |cpu| Some(cpu_zone(cpu)).filter(|zone| zone.index() < layout.zone_count).unwrap_or_default();
        layout.cpu_zones.call_once(|| (0..cpus).map(zone).collect());
        self.caches.call_once(|| {
            CpuLocal::new(cpus, |cpu| SpinLock::ranked(Rank::FrameCache, CpuCache::new(layout.cpu_zone(cpu))))
        });
    }

    fn seed(&self, layout: &Layout, wanted: impl Fn(u64) -> bool) {
        for arena in layout.arenas.iter().filter(|arena| wanted(layout.arenas.pa(arena.first()))) {
            self.zones[arena.zone()].seed(&layout.arenas, arena);
        }
        let total: usize = self.zones.iter().map(|zone| zone.total_frames()).sum();
        self.reserve_frames.store(reserve_frames(total), Ordering::Relaxed);
    }
}

/// 1/128 of memory, but 1 to 8 MiB, and never more than 1/16.
fn reserve_frames(total: usize) -> usize {
    const MIB: usize = (1 << 20) / FRAME_BYTES as usize;
    (total / 128).clamp(MIB, 8 * MIB).min(total / 16)
}
