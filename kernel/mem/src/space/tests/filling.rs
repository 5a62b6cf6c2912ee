// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How much memory a touch takes, and from where.

use alloc::sync::Arc;

use super::super::*;
use super::machine::*;
use crate::frames::{ZoneId, ZonePolicy};

fn machine() -> Machine {
    Machine::new(96, 2)
}

#[test]
fn reservations_cost_nothing() {
    let machine = machine();
    for _ in 0..64 {
        machine.map(128 * MIB, NONE);
    }
    let at = machine.map(64 << 30, RW);
    assert_eq!(machine.resident(), 0);
    assert_eq!(machine.write(at + (63 << 30), 1), Ok(()));
    assert_eq!(machine.space.stats().mapped_bytes, (64 << 30) + 64 * 128 * MIB);
    machine.finish();
}

#[test]
fn large_pages_only_where_they_fit() {
    let machine = machine();
    let size = |va| machine.sim.state().page_size(va);
    // Often enough for a large page to be whole.
    let touch = |va: usize| {
        for part in [0, 100, 200] {
            let other = (va & !(LARGE - 1)) + part * PAGE;
            assert!(machine.write(va, 1) == Ok(()) && machine.read(other).is_ok_and(|read| read <= 1));
        }
    };

    let at = machine.map(4 * LARGE + 201 * PAGE, RW);
    assert_eq!(at % LARGE, 0, "large mappings are aligned");
    touch(at + 5);
    touch(at + 4 * LARGE);
    assert_eq!(size(at), Some(PageSize::Size2M));
    assert_eq!(size(at + 4 * LARGE), Some(PageSize::Size4K), "sticks out");

    let stack = MapRequest { flags: VmaFlags::STACK, ..MapRequest::anonymous(8 * MIB, RW) };
    let stack = machine.space.map(stack).expect("map");
    touch(stack + 4 * MIB);
    assert_eq!(size(stack + 4 * MIB), Some(PageSize::Size4K));

    let read_only = machine.map(2 * LARGE, Prot::READ);
    assert_eq!(machine.read(read_only), Ok(0));
    assert_eq!(size(read_only), Some(PageSize::Size4K));

    let advised = machine.map(2 * LARGE, RW);
    assert_eq!(machine.space.advise(advised, LARGE, Advice::NoHuge), Ok(()));
    touch(advised);
    touch(advised + LARGE);
    assert_eq!(size(advised), Some(PageSize::Size4K));
    assert_eq!(size(advised + LARGE), Some(PageSize::Size2M));

    // Opened in small pieces, as malloc does.
    let arena = machine.map(64 * MIB, NONE);
    let first = 132 << 10;
    assert_eq!(machine.space.protect(arena, first, RW), Ok(()));
    assert_eq!(machine.write(arena, 1), Ok(()));
    assert_eq!(machine.space.protect(arena + first, 3 * MIB, RW), Ok(()));
    assert_eq!(machine.write(arena + MIB, 1), Ok(()));
    assert_eq!(size(arena + MIB), Some(PageSize::Size4K), "a small page is there already");
    assert_eq!(machine.space.stats().large_pages, 2);
    machine.finish();
}

#[test]
fn a_large_page_is_filled_when_it_is_used() {
    let machine = machine();
    let at = machine.map(2 * LARGE, RW);
    let filled = || (0..512).filter(|part| machine.sim.state().page_size(at + part * PAGE).is_some()).count();
    let faults = || machine.space.stats().faults;
    for (page, pages, size) in
        [(300, 1, PageSize::Size4K), (20, 17, PageSize::Size4K), (511, 512, PageSize::Size2M)]
    {
        let before = faults();
        assert_eq!(machine.write(at + page * PAGE, page as u8), Ok(()));
        assert_eq!((faults() - before, filled()), (1, pages));
        assert_eq!(machine.sim.state().page_size(at + page * PAGE), Some(size));
        assert_eq!(machine.resident(), LARGE, "the memory is taken at once");
    }
    for page in 0..512 {
        let expected = if [300, 20, 511].contains(&page) { page as u8 } else { 0 };
        assert_eq!(machine.read(at + page * PAGE), Ok(expected));
    }
    assert_eq!(faults(), 3);
    assert_eq!(machine.sim.state().shootdowns, 0);
    machine.finish();
}

#[test]
fn a_large_page_is_filled_at_once_where_that_is_asked_for() {
    let machine = machine();
    let at = machine.map(4 * LARGE, RW);
    let size = |va| machine.sim.state().page_size(va);
    assert_eq!(machine.space.advise(at, LARGE, Advice::Huge), Ok(()));
    assert_eq!(machine.write(at, 1), Ok(()));
    assert_eq!(size(at + LARGE - PAGE), Some(PageSize::Size2M));
    assert_eq!(machine.space.populate(at + LARGE, LARGE), Ok(()));
    assert_eq!(size(at + LARGE), Some(PageSize::Size2M));
    // And what has begun to grow.
    assert_eq!(machine.write(at + 2 * LARGE + PAGE, 7), Ok(()));
    assert_eq!(machine.space.populate(at + 2 * LARGE, LARGE), Ok(()));
    assert_eq!(size(at + 2 * LARGE), Some(PageSize::Size2M));
    assert_eq!(machine.read(at + 2 * LARGE + PAGE), Ok(7));
    let code = machine.map(LARGE, RW | Prot::EXEC);
    assert_eq!(machine.write(code, 1), Ok(()));
    assert_eq!(size(code + PAGE), Some(PageSize::Size2M));
    machine.finish();
}

#[test]
fn parts_of_a_page_that_grows_can_be_changed() {
    let machine = machine();
    let at = machine.map(8 * LARGE, RW);
    let begin = |block: usize| {
        assert_eq!(machine.write(at + block * LARGE + 5 * PAGE, 5), Ok(()));
        at + block * LARGE
    };
    let unmapped = begin(0);
    assert_eq!(machine.space.unmap(unmapped + 100 * PAGE, 10 * PAGE), Ok(()));
    assert_eq!(machine.read(unmapped + 5 * PAGE), Ok(5));
    assert_eq!(machine.read(unmapped + 99 * PAGE), Ok(0));
    assert!(machine.read(unmapped + 100 * PAGE).is_err());
    let protected = begin(1);
    assert_eq!(machine.space.protect(protected, 5 * PAGE, Prot::READ), Ok(()));
    assert!(machine.write(protected, 1).is_err() && machine.write(protected + 5 * PAGE, 6).is_ok());
    let whole = begin(2);
    assert_eq!(machine.space.protect(whole, LARGE, Prot::READ), Ok(()));
    assert!(machine.write(whole + 5 * PAGE, 1).is_err() && machine.write(whole + 9 * PAGE, 1).is_err());
    assert_eq!(machine.space.protect(whole, LARGE, RW), Ok(()));
    assert!(machine.write(whole + 300 * PAGE, 3).is_ok() && machine.write(whole + 400 * PAGE, 4).is_ok());
    assert_eq!(machine.read(whole + 5 * PAGE), Ok(5));
    let dropped = begin(3);
    assert_eq!(machine.space.advise(dropped + 5 * PAGE, PAGE, Advice::DontNeed), Ok(()));
    assert_eq!(machine.read(dropped + 5 * PAGE), Ok(0));
    let moved = begin(4);
    let request = RemapRequest {
        old: moved,
        old_len: LARGE,
        new_len: 2 * LARGE,
        mode: RemapMode::MayMove,
        ..RemapRequest::default()
    };
    let moved = machine.space.remap(request).expect("moves");
    assert_eq!(machine.read(moved + 5 * PAGE), Ok(5));
    assert_eq!(machine.read(moved + LARGE + 5 * PAGE), Ok(0));
    // Gone as a whole.
    let gone = begin(5);
    assert_eq!(machine.space.unmap(gone, LARGE), Ok(()));
    machine.finish();
}

#[test]
fn without_a_large_frame_small_ones_do() {
    let machine = Machine::new(3, 1);
    let at = machine.map(4 * LARGE, RW);
    assert_eq!(machine.write(at + LARGE, 1), Ok(()));
    // One aligned large block at most fits in there beside the metadata.
    assert_eq!(machine.write(at + 2 * LARGE, 1), Ok(()));
    assert_eq!(machine.sim.state().page_size(at + 2 * LARGE), Some(PageSize::Size4K));
    machine.finish();
}

#[test]
fn sequential_touches_are_batched_and_lone_ones_are_not() {
    let machine = machine();
    let at = machine.map(LARGE - PAGE, RW);
    assert_eq!(machine.write(at + 40 * PAGE, 1), Ok(()));
    assert_eq!(machine.resident(), PAGE);
    for page in 0..32 {
        assert_eq!(machine.write(at + page * PAGE, page as u8), Ok(()));
    }
    assert!(machine.space.stats().faults <= 6, "{} faults", machine.space.stats().faults);
    assert_eq!(machine.read(at + 31 * PAGE), Ok(31));
    // And downwards, as stacks grow.
    let stack = machine.map(64 * PAGE, RW) + 64 * PAGE;
    let before = machine.space.stats().faults;
    for page in 1..=33 {
        assert_eq!(machine.write(stack - page * PAGE, 1), Ok(()));
    }
    assert!(machine.space.stats().faults - before <= 8);
    machine.finish();
}

#[test]
fn two_pages_of_a_stack_do_not_bring_the_rest() {
    let machine = machine();
    for (used, filled) in [(1, 1), (2, 2), (3, 4), (5, 8), (9, 16)] {
        let stack = MapRequest { flags: VmaFlags::STACK, ..MapRequest::anonymous(32 * PAGE, RW) };
        let stack = machine.space.map(stack).expect("stack");
        let top = (stack + 32 * PAGE) & !(16 * PAGE - 1);
        let before = machine.resident();
        for page in 1..=used {
            assert_eq!(machine.write(top - page * PAGE, 1), Ok(()));
        }
        assert_eq!(machine.resident() - before, filled * PAGE, "{used} pages");
    }
    machine.finish();
}

#[test]
fn eight_threads_of_libomp_use_little() {
    let machine = Machine::new(256, 8);
    for thread in 0..8 {
        let stack = MapRequest { flags: VmaFlags::STACK, ..MapRequest::anonymous(8 * MIB + PAGE, NONE) };
        let stack = machine.space.map(stack).expect("stack");
        assert_eq!(machine.space.protect(stack + PAGE, 8 * MIB, RW), Ok(()));
        for page in 1..4 {
            assert_eq!(machine.write_on(thread, stack + 8 * MIB + PAGE - page * PAGE, 1), Ok(()));
        }
        let arena = machine.map(128 * MIB, NONE);
        let aligned = arena.next_multiple_of(64 * MIB);
        if aligned > arena {
            assert_eq!(machine.space.unmap(arena, aligned - arena), Ok(()));
        }
        assert_eq!(machine.space.unmap(aligned + 64 * MIB, arena + 64 * MIB - aligned), Ok(()));
        assert_eq!(machine.space.protect(aligned, 132 << 10, RW), Ok(()));
        for page in 0..33 {
            assert_eq!(machine.write_on(thread, aligned + page * PAGE, 1), Ok(()));
        }
        let mut end = 132 << 10;
        while end < 3 * MIB {
            assert_eq!(machine.space.protect(aligned + end, 64 << 10, RW), Ok(()));
            assert_eq!(machine.write_on(thread, aligned + end, 1), Ok(()));
            end += 64 << 10;
        }
    }
    let stats = machine.space.stats();
    assert!(stats.resident_peak_bytes <= 64 * MIB, "{} bytes", stats.resident_peak_bytes);
    assert_eq!(machine.sim.state().shootdowns, 0, "nothing of this takes rights away");
    machine.finish();
}

#[test]
fn out_of_memory_is_an_outcome() {
    let machine = Machine::new(16, 1);
    let at = machine.map(64 * MIB, RW);
    let mut page = at;
    let outcome = loop {
        match machine.write(page, 1) {
            Ok(()) => page += PAGE,
            Err(outcome) => break outcome,
        }
    };
    assert_eq!(outcome, FaultOutcome::OutOfMemory);
    assert!(machine.frames.stats().free_bytes >= machine.frames.reserve_bytes());
    // Without memory there are no new mappings either: they would take the kernel's.
    assert_eq!(machine.space.map(MapRequest::anonymous(PAGE, RW)), Err(SpaceError::NoMemory));
    // Memory in quarantine is used before that.
    assert_eq!(machine.space.unmap(at, 4 * LARGE), Ok(()));
    assert_eq!(machine.write(page, 1), Ok(()));
    machine.finish();
}

#[test]
fn populating_fills_everything() {
    let machine = machine();
    let at = machine.map(2 * LARGE + 3 * PAGE, RW);
    assert_eq!(machine.space.populate(at, 2 * LARGE + 3 * PAGE), Ok(()));
    assert_eq!(machine.resident(), 2 * LARGE + 3 * PAGE);
    assert_eq!(machine.space.populate(at, 3 * LARGE), Err(FaultOutcome::NoMapping));
    assert_eq!(machine.space.populate(machine.map(PAGE, NONE), PAGE), Err(FaultOutcome::Protection));
    machine.finish();
}

#[test]
fn first_touch_takes_memory_of_the_policys_zone() {
    let frames = crate::frames::tests::allocator(&[8, 8]);
    let machine = Machine::on(frames, 1);
    let touch = |policy: Option<(Mode, u64)>| {
        let at = machine.map(PAGE, RW);
        machine.map(PAGE, NONE);
        if let Some((mode, zones)) = policy {
            let policy = Arc::new(Policy::new(mode, Zones::from_bits(zones), None, (0, zones)));
            assert_eq!(machine.space.set_policy(at, at + PAGE, Some(&policy)), Ok(()));
        }
        assert_eq!(machine.write(at, 1), Ok(()));
        let (pa, ..) = machine.sim.lookup(at).expect("page");
        frames.zone_of(pa)
    };
    assert_eq!(touch(None), Some(ZoneId(0)));
    assert_eq!(touch(Some((Mode::Preferred, 2))), Some(ZoneId(1)));
    assert_eq!(touch(Some((Mode::Bind, 2))), Some(ZoneId(1)));
    assert_eq!(touch(Some((Mode::PreferredMany, 3))), Some(ZoneId(0)), "the nearest");
    // By address, whoever touches them.
    let at = machine.map(4 * PAGE, RW);
    let turns = Arc::new(Policy::new(Mode::Interleave, Zones::from_bits(3), None, (0, 3)));
    assert_eq!(machine.space.set_policy(at, at + 4 * PAGE, Some(&turns)), Ok(()));
    for page in (0..4).rev().map(|page| at + page * PAGE) {
        assert_eq!(machine.write(page, 1), Ok(()));
        assert_eq!(machine.space.zone_at(page), Some(Some(ZoneId((page / PAGE % 2) as u8))));
    }
    machine.finish();
}

#[test]
fn pages_move_with_their_content() {
    let frames = crate::frames::tests::allocator(&[16, 16]);
    let machine = Machine::on(frames, 2);
    let zone = |at: usize| machine.space.zone_at(at).flatten().map(|zone| zone.0);
    let at = machine.map(4 * PAGE, RW);
    assert_eq!(machine.space.move_page(at, ZoneId(1)), Moved::Absent);
    assert_eq!(machine.space.move_page(at - 100 * PAGE, ZoneId(1)), Moved::NoMapping);
    assert_eq!(machine.write(at + PAGE, 9), Ok(()));
    assert_eq!(zone(at + PAGE), Some(0));
    assert_eq!(machine.space.move_page(at + PAGE + 5, ZoneId(1)), Moved::There);
    assert_eq!((machine.read(at + PAGE), zone(at + PAGE)), (Ok(9), Some(1)));
    assert_eq!(machine.write(at + PAGE, 10), Ok(()));
    assert_eq!(machine.space.move_page(at + PAGE, ZoneId(0)), Moved::There);
    assert_eq!(machine.read(at + PAGE), Ok(10));
    // A large page as one.
    let large = machine.map(LARGE, RW);
    assert_eq!(machine.write(large + 7 * PAGE, 3), Ok(()));
    assert_eq!(machine.space.move_page(large + 100 * PAGE, ZoneId(1)), Moved::There);
    assert_eq!((machine.read(large + 7 * PAGE), zone(large)), (Ok(3), Some(1)));
    assert_eq!(machine.space.pages_by_zone(large, large + LARGE).0[1], 512);
    machine.finish();
}

#[test]
fn a_touch_ends_a_move() {
    let frames = crate::frames::tests::allocator(&[16, 16]);
    let machine = Machine::on(frames, 2);
    let at = machine.map(PAGE, RW);
    assert_eq!((machine.write(at, 1), machine.read_on(1, at)), (Ok(()), Ok(1)));
    let new = || frames.alloc_program(0, ZonePolicy::Only(ZoneId(1))).expect("frame");
    for touch in [FaultAccess::Read, FaultAccess::Write] {
        let moving = machine.space.begin_move(at, PageSize::Size4K).expect("a page").expect("of this size");
        machine.sim.shootdown(at, PAGE, Reach::Table);
        machine.check_tlbs();
        let new = new();
        assert!(machine.space.copy_moving(&moving, &new));
        match touch {
            FaultAccess::Write => assert_eq!(machine.write_on(1, at, 2), Ok(())),
            _ => assert_eq!(machine.read_on(1, at), Ok(1)),
        }
        assert!(!machine.space.copy_moving(&moving, &new));
        assert!(machine.space.end_move(&moving, new).is_none());
        machine.check_tlbs();
    }
    assert_eq!((machine.read(at), machine.space.zone_at(at)), (Ok(2), Some(Some(ZoneId(0)))));
    assert_eq!(machine.space.move_page(at, ZoneId(1)), Moved::There);
    machine.check_tlbs();
    assert_eq!((machine.read(at), machine.read_on(1, at)), (Ok(2), Ok(2)));
    machine.finish();
}

#[test]
fn a_large_page_moves_in_parts_where_there_is_no_large_block() {
    let frames = crate::frames::tests::allocator(&[16, 1]);
    let machine = Machine::on(frames, 1);
    let at = machine.map(LARGE, RW);
    assert_eq!(machine.space.populate(at, LARGE), Ok(()));
    assert_eq!((machine.write(at, 1), machine.write(at + PAGE, 2)), (Ok(()), Ok(())));
    assert_eq!(machine.sim.state().page_size(at), Some(PageSize::Size2M));
    assert_eq!(machine.space.move_page(at + PAGE, ZoneId(1)), Moved::There);
    let zone = |at| machine.space.zone_at(at).flatten();
    assert_eq!((zone(at), zone(at + PAGE)), (Some(ZoneId(0)), Some(ZoneId(1))));
    assert_eq!((machine.read(at), machine.read(at + PAGE)), (Ok(1), Ok(2)));
    assert_eq!(machine.resident(), LARGE);
    machine.finish();
}
