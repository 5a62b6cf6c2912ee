// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tests of the frame allocator, and allocators for tests elsewhere.

use std::panic::{AssertUnwindSafe, catch_unwind};

use hadal_hal::memory::frames::{self, Block, Chain};
use proptest::prelude::*;

use super::*;

const FRAME: u64 = FRAME_BYTES;
const MIB: usize = 1 << 20;

/// An allocator with zones of the given sizes in MiB; zones are farther apart the more their numbers differ.
pub(crate) fn allocator(zones_mib: &[usize]) -> &'static FrameAllocator {
    let distance = |from: usize, to: usize| 10 + 10 * from.abs_diff(to) as u8;
    let frames = Box::leak(Box::new(FrameAllocator::new()));
    let bases: Vec<u64> = zones_mib.iter().map(|mib| frames::host_arena(mib * MIB)).collect();
    let ranges = bases.iter().zip(zones_mib).enumerate().map(|(zone, (&start, mib))| UsableRange {
        start,
        end: start + (mib * MIB) as u64,
        zone: ZoneId(zone as u8),
    });
    frames.init(ranges, zones_mib.len(), distance);
    frames
}

impl FrameAllocator {
    /// Whether the 4 KiB at `pa` belong to somebody, or wait in a chain.
    pub(crate) fn is_out(&self, pa: u64) -> bool {
        let layout = self.layout.get().expect("initialised");
        let is_cached = |cache: &SpinLock<CpuCache>| {
            cache.lock().large.iter().any(|block| block.phys() == pa & !((FRAME << LARGE_ORDER) - 1))
        };
        if self.caches.get().is_some_and(|caches| caches.iter().any(is_cached)) {
            return false;
        }
        (0..=MAX_ORDER).any(|order| {
            let head = pa & !((FRAME << order) - 1);
            let arena = layout.arenas.frame(head).and_then(|frame| Some((layout.arenas.find(frame)?, frame)));
            arena.is_some_and(
                |(arena, frame)| matches!(arena.use_of(frame), Use::Allocated(found) if found == order),
            )
        })
    }
}

fn raw(frames: &FrameAllocator, order: u8, policy: ZonePolicy) -> Option<u64> {
    frames.alloc_raw(order, policy, Class::Kernel)
}

/// Takes single frames of a policy until there are none.
fn exhaust(frames: &FrameAllocator, policy: ZonePolicy, class: Class) -> Vec<u64> {
    std::iter::from_fn(|| frames.alloc_raw(0, policy, class)).collect()
}

fn panics(action: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(action)).is_err()
}

#[test]
fn local_memory_comes_first_then_the_nearest() {
    let frames = allocator(&[4, 4, 4, 4]);
    frames.init_cpus(1, |_| ZoneId(1));
    let order: Vec<ZoneId> = exhaust(frames, ZonePolicy::Local, Class::Kernel)
        .into_iter()
        .map(|pa| frames.zone_of(pa).expect("zone"))
        .collect();
    let mut seen = order.clone();
    seen.dedup();
    // Zones 0 and 2 are equally far: the lower number first.
    assert_eq!(seen, [ZoneId(1), ZoneId(0), ZoneId(2), ZoneId(3)]);
    assert_eq!(order.len() as u64 * FRAME, frames.stats().total_bytes);
}

#[test]
fn a_zone_of_ones_own_choice() {
    let frames = allocator(&[2, 2, 2]);
    frames.init_cpus(1, |_| ZoneId(0));
    let pa = raw(frames, 3, ZonePolicy::Prefer(ZoneId(2))).expect("block");
    assert_eq!(frames.zone_of(pa), Some(ZoneId(2)));
    let only = exhaust(frames, ZonePolicy::Only(ZoneId(2)), Class::Kernel);
    assert!(only.iter().all(|&pa| frames.zone_of(pa) == Some(ZoneId(2))));
    assert_eq!(raw(frames, 0, ZonePolicy::Only(ZoneId(2))), None);
    let near = raw(frames, 0, ZonePolicy::Prefer(ZoneId(2))).expect("frame");
    assert_eq!(frames.zone_of(near), Some(ZoneId(1)));
    assert_eq!(raw(frames, 0, ZonePolicy::Only(ZoneId(3))), None);
    assert_eq!(frames.distance(ZoneId(0), ZoneId(2)), 30);
}

#[test]
fn interleaving_takes_turns() {
    let frames = allocator(&[2, 2, 2]);
    let zones: Vec<_> = (0..6)
        .map(|_| frames.zone_of(raw(frames, 0, ZonePolicy::Interleave).expect("frame")).expect("zone").0)
        .collect();
    assert_eq!(zones, [0, 1, 2, 0, 1, 2]);
}

#[test]
fn programs_leave_a_reserve() {
    let frames = allocator(&[32]);
    frames.init_cpus(1, |_| ZoneId(0));
    assert_eq!(frames.reserve_bytes(), MIB as u64);
    exhaust(frames, ZonePolicy::Local, Class::Request);
    assert_eq!(frames.stats().free_bytes, 2 * frames.reserve_bytes());
    exhaust(frames, ZonePolicy::Local, Class::Program);
    assert_eq!(frames.stats().free_bytes, frames.reserve_bytes());
    assert!(frames.alloc_program(0, ZonePolicy::Local).is_none());
    assert!(frames.alloc(0, ZonePolicy::Local).is_some());
    exhaust(frames, ZonePolicy::Local, Class::Kernel);
    assert_eq!(frames.stats().free_bytes, 0);
}

#[test]
fn everything_merges_again() {
    let frames = allocator(&[16]);
    frames.init_cpus(1, |_| ZoneId(0));
    let large = |frames: &FrameAllocator| {
        (0..=MAX_ORDER).rev().find(|&order| {
            raw(frames, order, ZonePolicy::Local).inspect(|&pa| frames.free_raw(pa, order)).is_some()
        })
    };
    let before = large(frames);
    let mut all = exhaust(frames, ZonePolicy::Local, Class::Kernel);
    all.rotate_left(1234);
    for pa in all {
        frames.free_raw(pa, 0);
    }
    let stats = frames.stats();
    assert_eq!(stats.free_bytes, stats.total_bytes);
    assert_eq!(stats.high_water_bytes, stats.total_bytes);
    // The per-CPU cache holds some; an allocation that needs them gets them.
    assert_eq!(large(frames), before);
}

#[test]
fn double_and_bad_frees_are_noticed() {
    let frames = allocator(&[8]);
    let pa = raw(frames, 2, ZonePolicy::Local).expect("block");
    assert!(panics(|| frames.free_raw(pa, 1)), "wrong order");
    assert!(panics(|| frames.free_raw(pa + FRAME, 0)), "inside a block");
    assert!(panics(|| frames.free_raw(pa + 1, 2)), "not a frame");
    assert!(panics(|| frames.free_raw(0x1000, 0)), "not memory");
    frames.free_raw(pa, 2);
    assert!(panics(|| frames.free_raw(pa, 2)), "twice");

    frames.init_cpus(1, |_| ZoneId(0));
    for order in [0, LARGE_ORDER] {
        let pa = raw(frames, order, ZonePolicy::Local).expect("frame");
        frames.free_raw(pa, order);
        assert!(panics(|| frames.free_raw(pa, order)), "twice, through the cache");
    }
}

#[test]
fn a_cached_large_block_keeps_its_claim_until_it_goes_back() {
    let frames = allocator(&[8, 8]);
    frames.init_cpus(1, |_| ZoneId(0));
    let free = frames.stats().free_bytes;
    let take = |policy| frames.alloc_program(LARGE_ORDER, policy).expect("block");
    let frame = take(ZonePolicy::Local);
    let pa = frame.phys();
    drop(frame);
    assert_eq!(frames.stats().free_bytes, free);
    assert!(Block::claim(pa, LARGE_ORDER).is_none(), "the cache is the owner");
    for policy in [ZonePolicy::Local, ZonePolicy::Only(ZoneId(0)), ZonePolicy::Prefer(ZoneId(0))] {
        assert_eq!(take(policy).phys(), pa);
    }
    let other = take(ZonePolicy::Only(ZoneId(1)));
    assert_eq!(frames.zone_of(other.phys()), Some(ZoneId(1)));
    // One of another zone is not cached.
    let other = other.into_block();
    let other_pa = other.phys();
    frames.free(other);
    let _ = Block::claim(other_pa, LARGE_ORDER).expect("nobody's").release();
    // What has no owner in the kernel has none when it comes from a cache, either.
    assert_eq!(raw(frames, LARGE_ORDER, ZonePolicy::Local), Some(pa));
    let _ = Block::claim(pa, LARGE_ORDER).expect("nobody's").release();
    frames.free_raw(pa, LARGE_ORDER);
    // Small frames are made of it when there are no others.
    let all = exhaust(frames, ZonePolicy::Local, Class::Kernel);
    assert!(all.contains(&pa) && frames.stats().free_bytes == 0);
    all.into_iter().for_each(|pa| frames.free_raw(pa, 0));
    assert_eq!(frames.stats().free_bytes, free);
}

#[test]
fn a_split_block_is_freed_in_parts() {
    let frames = allocator(&[8]);
    let free = frames.stats().free_bytes;
    let pa = raw(frames, LARGE_ORDER, ZonePolicy::Local).expect("block");
    frames.split(pa, LARGE_ORDER);
    assert!(panics(|| frames.free_raw(pa, LARGE_ORDER)));
    for part in 0..512 {
        frames.free_raw(pa + part * FRAME, 0);
    }
    assert_eq!(frames.stats().free_bytes, free);
}

#[test]
fn chains_hold_blocks_of_all_orders() {
    let frames = allocator(&[8, 8]);
    frames.init_cpus(1, |_| ZoneId(0));
    let free = frames.stats().free_bytes;
    let (mut chain, mut other) = (Chain::new(), Chain::new());
    for order in [0, 3, 0, LARGE_ORDER, 1] {
        chain.push(frames.alloc(order, ZonePolicy::Interleave).expect("block").into_block());
        let block = frames.alloc(order, ZonePolicy::Local).expect("block").into_block();
        let pa = block.phys();
        other.push(block);
        assert!(frames.is_out(pa) && Block::claim(pa, order).is_none());
    }
    chain.join(other);
    assert_eq!(chain.bytes(), 2 * FRAME * (1 + 8 + 1 + 512 + 2));
    frames.free_chain(chain);
    assert_eq!(frames.stats().free_bytes, free);
}

#[test]
fn owned_frames_free_themselves() {
    let frames = allocator(&[4]);
    let free = frames.stats().free_bytes;
    let frame = frames.alloc_zeroed(4, ZonePolicy::Local).expect("block");
    let mut content = [1; 64];
    frame.read(0, &mut content);
    assert_eq!(content, [0; 64]);
    assert_eq!(frame.bytes(), 65536);
    drop(frame);
    assert_eq!(frames.stats().free_bytes, free);
}

#[test]
fn start_up_writes_a_few_words() {
    let base = frames::host_arena(64 * MIB);
    let word = |index: u64| {
        let mut word = [0; 4];
        frames::host_read(base + 4 * index, &mut word);
        u32::from_le_bytes(word)
    };
    let words = 16 * 1024 * 3;
    (0..words).for_each(|index| frames::host_write(base + 4 * index, &0xdead_beef_u32.to_le_bytes()));
    let frames = FrameAllocator::new();
    let range = UsableRange { start: base + 1, end: base + 64 * MIB as u64 - 1, zone: ZoneId(0) };
    frames.init([range].into_iter(), 1, |_, _| 10);
    let written = (0..words).filter(|&index| word(index) != 0xdead_beef).count();
    assert!(written <= 3 * 2 * usize::from(MAX_ORDER), "{written} words");
    let stats = frames.stats();
    assert!(stats.total_bytes > 63 * MIB as u64 && stats.free_bytes == stats.total_bytes);
}

#[test]
fn without_memory_there_is_none() {
    let frames = FrameAllocator::new();
    assert_eq!(raw(&frames, 0, ZonePolicy::Local), None);
    frames.init(std::iter::empty(), 1, |_, _| 10);
    frames.init_high();
    frames.init_cpus(1, |_| ZoneId(7));
    assert_eq!(raw(&frames, 0, ZonePolicy::Local), None);
    assert_eq!(raw(&frames, 0, ZonePolicy::Interleave), None);
    assert_eq!(frames.stats(), ZoneStats::default());
}

#[test]
fn many_threads_share_it() {
    let frames = allocator(&[16, 16]);
    frames.init_cpus(1, |_| ZoneId(0));
    let free = frames.stats().free_bytes;
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            scope.spawn(move || {
                let mut held: Vec<Frame> = Vec::new();
                for step in 0..20_000u64 {
                    let dice = (step ^ thread << 13).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
                    if dice % 2 == 0 || held.is_empty() {
                        let order = if dice % 64 == 6 { LARGE_ORDER } else { (dice % 12 / 8) as u8 };
                        let Some(frame) = frames.alloc(order, ZonePolicy::Local) else { continue };
                        frame.write(0, &[thread as u8; 8]);
                        held.push(frame);
                    } else {
                        let frame = held.swap_remove(dice as usize % held.len());
                        let mut mark = [0; 8];
                        frame.read(0, &mut mark);
                        assert_eq!(mark, [thread as u8; 8]);
                    }
                }
            });
        }
    });
    assert_eq!(frames.stats().free_bytes, free);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    /// Blocks of all policies never overlap, have the right zone and come back.
    #[test]
    fn blocks_never_overlap(
        operations in proptest::collection::vec(
            (0u8..5, 0u8..10, 0u8..4, any::<prop::sample::Index>()), 1..300),
    ) {
        let frames = allocator(&[3, 2, 3]);
        frames.init_cpus(1, |_| ZoneId(2));
        let free = frames.stats().free_bytes;
        let mut held: Vec<(u64, u8)> = Vec::new();
        for (kind, order, zone, which) in operations {
            let zone = ZoneId(zone);
            let policy = match kind {
                0 => ZonePolicy::Local,
                1 => ZonePolicy::Prefer(zone),
                2 => ZonePolicy::Only(zone),
                _ if held.is_empty() => ZonePolicy::Interleave,
                _ => {
                    let (pa, order) = held.swap_remove(which.index(held.len()));
                    frames.free_raw(pa, order);
                    continue;
                }
            };
            let Some(pa) = raw(frames, order, policy) else { continue };
            let end = pa + (FRAME << order);
            prop_assert!(held.iter().all(|&(other, order)| end <= other || other + (FRAME << order) <= pa));
            if let ZonePolicy::Only(zone) = policy {
                prop_assert_eq!(frames.zone_of(pa), Some(zone));
            }
            held.push((pa, order));
        }
        for (pa, order) in held {
            frames.free_raw(pa, order);
        }
        prop_assert_eq!(frames.stats().free_bytes, free);
    }
}
