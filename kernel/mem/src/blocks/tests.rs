// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tests of blocks for programs, on one CPU of zone 0 of three.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::frames::tests::allocator;

const ANYWHERE: Place = Place::Prefer(None);

fn blocks(zones_mib: &[usize]) -> Blocks {
    let frames = allocator(zones_mib);
    frames.init_cpus(1, |_| ZoneId(0));
    Blocks::new(frames, 1)
}

fn alloc(blocks: &Blocks, bytes: u64) -> u64 {
    blocks.alloc(bytes, 16, ANYWHERE, Content::Any).expect("memory")
}

#[test]
fn only_starts_of_live_blocks_are_freed_and_only_once() {
    let blocks = blocks(&[16]);
    for bytes in [1, 16, 100, 672, 2048, 2049, 4096, 100_000] {
        let block = alloc(&blocks, bytes);
        assert!(blocks.usable_bytes(block).is_some_and(|usable| usable >= bytes));
        for wrong in
            [block + 1, block + 8, block - 16, block + blocks.usable_bytes(block).unwrap(), 0, u64::MAX]
        {
            assert_eq!(blocks.free(wrong), Err(NotABlock), "{bytes} bytes, {wrong:#x}");
        }
        assert_eq!(blocks.zone_of(block), Some(ZoneId(0)));
        assert_eq!(blocks.free(block), Ok(()));
        assert_eq!(blocks.free(block), Err(NotABlock), "{bytes} bytes");
        assert_eq!((blocks.usable_bytes(block), blocks.zone_of(block)), (None, None));
    }
    assert_eq!(blocks.figures(ZoneId(0)), Figures { bytes: 0, allocations: 8 });
}

#[test]
fn frames_of_the_kernel_are_not_the_programs() {
    let blocks = blocks(&[16]);
    let kernels = blocks.frames.alloc_raw(3, ZonePolicy::Local, For::Kernel).expect("memory");
    assert_eq!(blocks.free(kernels), Err(NotABlock));
    assert!(!blocks.contains(kernels, 1));
    blocks.frames.free_raw(kernels, 3);
}

#[test]
fn ranges_are_known_from_end_to_end() {
    let blocks = blocks(&[16]);
    let block = alloc(&blocks, 5 << 12);
    let usable = blocks.usable_bytes(block).unwrap() as usize;
    assert!(blocks.contains(block, usable) && blocks.contains(block + 77, usable - 77));
    assert!(blocks.contains(block, 0) && blocks.contains(block + usable as u64 - 1, 1));
    assert!(!blocks.contains(block, 2 * usable) && !blocks.contains(block, usize::MAX));
    blocks.free(block).unwrap();
    assert!(!blocks.contains(block, 1));
}

#[test]
fn places_are_kept() {
    let blocks = blocks(&[8, 8, 8]);
    for bytes in [64, 8192] {
        let there = blocks.alloc(bytes, 16, Place::Only(Some(ZoneId(2))), Content::Any).unwrap();
        assert_eq!(blocks.zone_of(there), Some(ZoneId(2)));
        let turns: Vec<_> = (0..3)
            .map(|_| blocks.alloc(bytes, 16, Place::Interleave, Content::Any).unwrap())
            .map(|block| blocks.zone_of(block).unwrap().0)
            .collect();
        let mut sorted = turns.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [0, 1, 2]);
        assert_eq!(blocks.alloc(bytes, 16, Place::Only(Some(ZoneId(3))), Content::Any), None);
        assert_eq!(blocks.free(there), Ok(()));
    }
    // A zone that is full: strict requests fail, others go to the nearest.
    let strict = |bytes| blocks.alloc(bytes, 16, Place::Only(None), Content::Any);
    while strict(1 << 20).is_some() {}
    while strict(4096).is_some() {}
    while strict(16).is_some() {}
    let elsewhere = alloc(&blocks, 4096);
    assert_eq!(blocks.zone_of(elsewhere), Some(ZoneId(1)));
    let small = alloc(&blocks, 16);
    assert_eq!(blocks.zone_of(small), Some(ZoneId(1)));
}

#[test]
fn what_cannot_be_is_refused() {
    let blocks = blocks(&[8]);
    for (bytes, align) in [(0, 16), (1 << 31, 16), (16, 3), (16, 0), (16, 1 << 31), (u64::MAX, 16)] {
        assert_eq!(blocks.alloc(bytes, align, ANYWHERE, Content::Any), None, "{bytes} at {align}");
    }
}

#[test]
fn memory_comes_back() {
    let blocks = blocks(&[8]);
    for bytes in [16, 2048, 4096, 65536] {
        let mut all = Vec::new();
        while let Some(block) = blocks.alloc(bytes, 16, ANYWHERE, Content::Any) {
            all.push(block);
        }
        assert!(all.len() as u64 * bytes > 6 << 20, "{bytes}");
        all.into_iter().for_each(|block| blocks.free(block).unwrap());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn blocks_never_overlap(
        operations in proptest::collection::vec(
            (any::<bool>(), 1u64..20_000, 4u32..14, any::<prop::sample::Index>()), 1..400),
    ) {
        let blocks = blocks(&[32]);
        let mut live: BTreeMap<u64, u64> = BTreeMap::new();
        for (add, bytes, align, which) in operations {
            if add {
                let block = blocks.alloc(bytes, 1 << align, ANYWHERE, Content::Zeros).unwrap();
                let end = block + blocks.usable_bytes(block).unwrap();
                prop_assert!(block.is_multiple_of(1 << align) && end - block >= bytes);
                let below = live.range(..end).next_back();
                prop_assert!(below.is_none_or(|(_, &other)| other <= block));
                live.insert(block, end);
            } else if !live.is_empty() {
                let (&block, _) = live.iter().nth(which.index(live.len())).unwrap();
                live.remove(&block);
                prop_assert_eq!(blocks.free(block), Ok(()));
                prop_assert_eq!(blocks.free(block), Err(NotABlock));
            }
        }
        let bytes: u64 = live.iter().map(|(block, end)| end - block).sum();
        prop_assert_eq!(blocks.figures(ZoneId(0)).bytes, bytes);
    }
}
