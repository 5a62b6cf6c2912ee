// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The buddy algorithm against a naive model, and its rules one by one.

use super::*;
use proptest::prelude::*;

/// One arena of about `frames` frames, not aligned, whose metadata is filled with `garbage`; and its free lists.
fn lists(frames: u32, skip: u32, garbage: u32) -> (Arenas, FreeLists) {
    let all = frames + frames / 256 + 2;
    let base =
        frames::host_arena((all + skip) as usize * FRAME_BYTES as usize) + u64::from(skip) * FRAME_BYTES;
    for word in 0..u64::from(all) / 340 * 1024 {
        hadal_hal::memory::frames::host_write(base + 4 * word, &garbage.to_le_bytes());
    }
    let mut arenas = Arenas::new(base);
    assert!(arenas.add(base, base + u64::from(all) * FRAME_BYTES, 0));
    let mut lists = FreeLists::new();
    lists.seed(&arenas, &arenas.list[0]);
    (arenas, lists)
}

/// The free blocks as the lists tell them, checked for consistency, sorted.
fn blocks(arenas: &Arenas, lists: &FreeLists) -> Vec<(u32, u8)> {
    let mut found = Vec::new();
    for order in 0..ORDERS as u8 {
        let (mut frame, mut prev) = (lists.heads[usize::from(order)], NIL);
        assert_eq!(lists.nonempty >> order & 1 == 1, frame != NIL);
        while frame != NIL {
            let arena = arenas.of(frame);
            assert_eq!(arena.use_of(frame), Use::Free(order));
            assert_eq!(arena.load(frame, PREV), prev);
            assert_eq!(frame % (1 << order), 0);
            found.push((frame, order));
            prev = frame;
            frame = arena.load(frame, NEXT);
        }
    }
    found.sort_unstable();
    assert_eq!(found.iter().map(|&(_, order)| 1usize << order).sum::<usize>(), lists.free);
    found
}

#[test]
fn seeding_cuts_maximal_blocks() {
    let (arenas, lists) = lists(1000, 3, 0);
    let arena = &arenas.list[0];
    let blocks = blocks(&arenas, &lists);
    assert_eq!(lists.free, arena.count());
    let mut at = arena.first;
    for &(frame, order) in &blocks {
        assert_eq!(frame, at);
        at += 1 << order;
    }
    for pair in blocks.windows(2) {
        let same_order = pair[0].1 == pair[1].1;
        assert!(!same_order || pair[0].0 ^ pair[1].0 != 1 << pair[0].1, "buddies {pair:?} left apart");
    }
}

#[test]
fn frames_are_found_in_few_and_in_many_arenas() {
    const ARENA: u64 = 8 * FRAME_BYTES;
    let base = frames::host_arena(20 * ARENA as usize);
    let mut arenas = Arenas::new(base);
    // Every other piece, each with a frame of metadata.
    for number in 0..10 {
        assert!(arenas.add(base + 2 * number * ARENA, base + (2 * number + 1) * ARENA, number as u8));
        for frame in 0..20 * 8 {
            let (piece, at) = (frame / 8, frame % 8);
            let zone = (piece % 2 == 0 && piece / 2 <= number && at > 0).then_some(piece as usize / 2);
            let first = arenas.frame(base).expect("the origin is not above it");
            assert_eq!(arenas.find(first + frame as u32).map(Arena::zone), zone);
        }
    }
}

#[test]
fn an_order_beyond_the_largest_is_refused() {
    let (arenas, mut lists) = lists(1000, 0, 0);
    assert_eq!(lists.take(&arenas, MAX_ORDER + 1, Use::Allocated), None);
    assert_eq!(lists.take(&arenas, 40, Use::Allocated), None);
    assert_eq!(lists.take(&arenas, MAX_ORDER, Use::Allocated), None);
}

#[test]
fn a_claim_succeeds_once() {
    let (arenas, mut lists) = lists(64, 0, 0);
    let frame = lists.take(&arenas, 2, Use::Allocated).expect("block");
    let arena = arenas.of(frame);
    assert_eq!(arena.claim(frame, Use::Allocated(1), Use::Cached(1)), Err(Use::Allocated(2)));
    assert_eq!(arena.claim(frame, Use::Allocated(2), Use::Cached(2)), Ok(()));
    assert_eq!(arena.claim(frame, Use::Allocated(2), Use::Cached(2)), Err(Use::Cached(2)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Random allocations and frees against a byte-per-frame model, whatever the metadata held before; in the end
    /// everything merges back into the initial blocks.
    #[test]
    fn agrees_with_a_naive_model(
        frames in 1u32..3000,
        skip in 0u32..70,
        garbage in prop_oneof![Just(0u32), Just(u32::MAX), any::<u32>()],
        operations in proptest::collection::vec((any::<bool>(), 0u8..11, any::<prop::sample::Index>()), 1..400),
    ) {
        let (arenas, mut lists) = lists(frames, skip, garbage);
        let arena = &arenas.list[0];
        let initial = blocks(&arenas, &lists);
        let mut owner = vec![0u32; arena.count()];
        let mut held: Vec<(u32, u8)> = Vec::new();
        for (number, (allocate, order, which)) in operations.into_iter().enumerate() {
            if allocate {
                let Some(frame) = lists.take(&arenas, order, Use::Allocated) else {
                    let largest = blocks(&arenas, &lists).iter().map(|&(_, order)| order).max();
                    prop_assert!(largest.is_none_or(|largest| largest < order));
                    continue;
                };
                prop_assert_eq!(frame % (1 << order), 0);
                prop_assert!(arena.contains(frame) && arena.contains(frame + (1 << order) - 1));
                for part in 0..1 << order {
                    let cell = &mut owner[(frame - arena.first) as usize + part];
                    prop_assert_eq!(*cell, 0, "frame handed out twice");
                    *cell = number as u32 + 1;
                }
                held.push((frame, order));
            } else if !held.is_empty() {
                let (frame, order) = held.swap_remove(which.index(held.len()));
                prop_assert_eq!(arena.claim(frame, Use::Allocated(order), Use::Cached(order)), Ok(()));
                lists.give(&arenas, arena, frame, order);
                owner[(frame - arena.first) as usize..][..1 << order].fill(0);
            }
            prop_assert_eq!(lists.free, owner.iter().filter(|&&cell| cell == 0).count());
        }
        for (frame, order) in held {
            lists.give(&arenas, arena, frame, order);
        }
        prop_assert_eq!(blocks(&arenas, &lists), initial);
    }
}
