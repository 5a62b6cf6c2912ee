// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Faults and changes from several threads at once.

use super::super::*;
use super::machine::*;
use crate::frames::ZoneId;

#[test]
fn racing_touches_fill_each_page_once() {
    let machine = Machine::new(64, 4);
    let len = 3 * LARGE + 40 * PAGE;
    let at = machine.map(len, RW);
    let file = TestFile::new(2, 300 * PAGE, None);
    let mapped = machine.map_file(&file, 0, 300 * PAGE, Prot::READ, false);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let machine = &machine;
            scope.spawn(move || {
                for page in 0..len / PAGE {
                    let page = if thread % 2 == 0 { page } else { len / PAGE - 1 - page };
                    assert_eq!(
                        machine.space.fault(at + page * PAGE, FaultAccess::Write),
                        FaultOutcome::Resolved
                    );
                }
                for page in 0..300 {
                    assert_eq!(
                        machine.space.fault(mapped + page * PAGE, FaultAccess::Read),
                        FaultOutcome::Resolved
                    );
                }
            });
        }
    });
    assert_eq!(machine.resident(), len + 300 * PAGE);
    machine.finish();
}

#[test]
fn faults_race_with_changes() {
    let machine = Machine::new(64, 4);
    let at = machine.map_at(0x1000_0000, 2 * LARGE, RW);
    std::thread::scope(|scope| {
        for thread in 0..3usize {
            let machine = &machine;
            scope.spawn(move || {
                for step in 0..3000usize {
                    let page = (step * 7919 + thread * 13) % (2 * LARGE / PAGE);
                    let outcome = machine.space.fault(at + page * PAGE, FaultAccess::Read);
                    assert_ne!(outcome, FaultOutcome::OutOfMemory);
                }
            });
        }
        let machine = &machine;
        scope.spawn(move || {
            for step in 0..600usize {
                let start = at + step * 37 % 600 * PAGE;
                let len = (1 + step % 300) * PAGE;
                match step % 5 {
                    0 => drop(machine.space.unmap(start, len)),
                    1 => drop(machine.space.protect(start, len, NONE)),
                    2 => drop(machine.space.protect(start, len, RW)),
                    3 => drop(machine.space.advise(start, len, Advice::DontNeed)),
                    _ => drop(machine.map_at(at, 2 * LARGE, RW)),
                }
            }
        });
    });
    machine.finish();
}

#[test]
fn moves_race_with_faults_and_changes() {
    let machine = Machine::on(crate::frames::tests::allocator(&[32, 32]), 4);
    let at = machine.map_at(0x1000_0000, 2 * LARGE, RW);
    let kept = machine.map_at(0x2000_0000, LARGE + 8 * PAGE, RW);
    let pages = LARGE / PAGE + 8;
    (0..pages).for_each(|page| assert_eq!(machine.write(kept + page * PAGE, page as u8), Ok(())));
    std::thread::scope(|scope| {
        for thread in 0..2usize {
            let machine = &machine;
            scope.spawn(move || {
                for step in 0..600usize {
                    let page = step * 7919 + thread * 13;
                    let zone = ZoneId((step % 2) as u8);
                    machine.space.move_page(at + page % (2 * LARGE / PAGE) * PAGE, zone);
                    machine.space.move_page(kept + page % pages * PAGE, zone);
                }
            });
            scope.spawn(move || {
                for step in 0..600usize {
                    let page = step * 7919 + thread * 17;
                    let outcome =
                        machine.space.fault(at + page % (2 * LARGE / PAGE) * PAGE, FaultAccess::Read);
                    assert_ne!(outcome, FaultOutcome::OutOfMemory);
                    let outcome = machine.space.fault(kept + page % pages * PAGE, FaultAccess::Write);
                    assert_eq!(outcome, FaultOutcome::Resolved);
                }
            });
        }
        let machine = &machine;
        scope.spawn(move || {
            for step in 0..300usize {
                let start = at + step * 37 % 600 * PAGE;
                let len = (1 + step % 300) * PAGE;
                match step % 5 {
                    0 => drop(machine.space.unmap(start, len)),
                    1 => drop(machine.space.protect(start, len, NONE)),
                    2 => drop(machine.space.protect(start, len, RW)),
                    3 => drop(machine.space.advise(start, len, Advice::DontNeed)),
                    _ => drop(machine.map_at(at, 2 * LARGE, RW)),
                }
            }
        });
    });
    (0..pages).for_each(|page| assert_eq!(machine.read(kept + page * PAGE), Ok(page as u8)));
    machine.finish();
}
