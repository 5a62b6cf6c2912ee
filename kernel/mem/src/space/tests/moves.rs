// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Changing size and place of mappings.

use super::super::*;
use super::machine::*;

fn machine() -> Machine {
    Machine::new(96, 2)
}

#[test]
fn files_end_where_offsets_do() {
    let machine = machine();
    let file = TestFile::new(1, PAGE, None);
    let last = 0_usize.wrapping_sub(2 * PAGE);
    let at = machine.map_file(&file, last, PAGE, Prot::READ, false);
    let remap = |new_len, mode| {
        machine.space.remap(RemapRequest { old: at, old_len: PAGE, new_len, mode, limits: Limits::default() })
    };
    for mode in [RemapMode::InPlace, RemapMode::MayMove, RemapMode::Fixed(0x4000_0000)] {
        assert_eq!(remap(3 * PAGE, mode), Err(SpaceError::Invalid), "{mode:?}");
    }
    assert_eq!(machine.space.find(at).map(|vma| vma.offset), Some(last as u64));
}

#[test]
fn remap_shrinks_grows_and_moves() {
    let machine = machine();
    let space = &machine.space;
    let remap = |old, old_len, new_len, mode| {
        space.remap(RemapRequest { old, old_len, new_len, mode, limits: Limits::default() })
    };
    let at = machine.map_at(0x1000_0000, 4 * PAGE, RW);
    for page in 0..4 {
        assert_eq!(machine.write_on(1, at + page * PAGE, page as u8 + 1), Ok(()));
    }
    assert_eq!(remap(at, 4 * PAGE, 2 * PAGE, RemapMode::InPlace), Ok(at));
    space.reclaim();
    assert_eq!(remap(at, 2 * PAGE, 8 * PAGE, RemapMode::InPlace), Ok(at));
    assert_eq!(machine.read(at + 2 * PAGE), Ok(0));
    machine.map_at(at + 8 * PAGE, PAGE, NONE);
    assert_eq!(remap(at, 8 * PAGE, 9 * PAGE, RemapMode::InPlace), Err(SpaceError::NoMemory));
    assert_eq!(remap(at, 9 * PAGE, 10 * PAGE, RemapMode::MayMove), Err(SpaceError::BadAddress));
    let resident = machine.resident();
    let moved = remap(at, 8 * PAGE, 16 * PAGE, RemapMode::MayMove).expect("moved");
    assert_ne!(moved, at);
    assert_eq!(machine.resident(), resident);
    assert_eq!(machine.read_on(1, at), Err(FaultOutcome::NoMapping));
    assert_eq!(machine.read_on(1, moved + PAGE), Ok(2));
    assert_eq!(machine.read(moved + 12 * PAGE), Ok(0));
    let target = machine.map(16 * PAGE, Prot::READ);
    assert_eq!(machine.read_on(1, target), Ok(0));
    assert_eq!(remap(moved, 16 * PAGE, 16 * PAGE, RemapMode::Fixed(target)), Ok(target));
    assert_eq!(machine.read_on(1, target), Ok(1));
    assert_eq!(machine.write(target, 2), Ok(()));
    assert_eq!(remap(target, 4 * PAGE, 4 * PAGE, RemapMode::Fixed(target + PAGE)), Err(SpaceError::Invalid));
    assert_eq!(remap(0x5000_0000, PAGE, PAGE, RemapMode::InPlace), Err(SpaceError::BadAddress));
    machine.check_tlbs();
    machine.finish();
}

#[test]
fn large_pages_move_whole_if_they_can() {
    let machine = machine();
    let remap = |old, old_len, new_len, mode| {
        machine.space.remap(RemapRequest { old, old_len, new_len, mode, limits: Limits::default() })
    };
    let at = machine.map(2 * LARGE, RW);
    assert_eq!(machine.write(at + 9, 9), Ok(()));
    assert_eq!(machine.write(at + LARGE, 8), Ok(()));
    machine.map_at(at + 2 * LARGE, PAGE, NONE);
    let moved = remap(at, 2 * LARGE, 3 * LARGE, RemapMode::MayMove).expect("moved");
    assert_eq!(machine.sim.state().page_size(moved), Some(PageSize::Size2M));
    assert_eq!(machine.read(moved + 9), Ok(9));
    let odd = 0x2000_3000;
    assert_eq!(remap(moved, 3 * LARGE, 3 * LARGE, RemapMode::Fixed(odd)), Ok(odd));
    assert_eq!(machine.sim.state().page_size(odd), Some(PageSize::Size4K));
    assert_eq!((machine.read(odd + 9), machine.read(odd + LARGE)), (Ok(9), Ok(8)));
    machine.check_tlbs();
    machine.finish();
}

#[test]
fn a_move_without_memory_is_taken_back() {
    // Large pages to an odd address, and a mixture to another.
    for (shift, tables_needed) in [(0, 9), (PAGE, 8)] {
        for budget in 0..tables_needed {
            let machine = machine();
            let at = machine.map_at(0x1000_0000 + shift, 4 * LARGE, RW);
            for block in 0..4 {
                assert_eq!(machine.write_on(1, at + block * LARGE + 5, block as u8), Ok(()));
                assert_eq!(machine.write_on(0, at + block * LARGE + 200 * PAGE, 9), Ok(()));
            }
            let resident = machine.resident();
            machine.sim.set_budget(budget);
            let mode = RemapMode::Fixed(0x4000_0000 + 2 * PAGE);
            let request = RemapRequest {
                old: at,
                old_len: 4 * LARGE,
                new_len: 4 * LARGE,
                mode,
                limits: Limits::default(),
            };
            assert_eq!(machine.space.remap(request), Err(SpaceError::NoMemory), "{budget} tables");
            machine.check_tlbs();
            machine.sim.set_budget(usize::MAX);
            for block in 0..4 {
                assert_eq!(machine.read_on(1, at + block * LARGE + 5), Ok(block as u8));
                assert_eq!(machine.read_on(1, at + block * LARGE + 200 * PAGE), Ok(9));
            }
            assert_eq!(machine.resident(), resident);
            machine.finish();
        }
    }
}
