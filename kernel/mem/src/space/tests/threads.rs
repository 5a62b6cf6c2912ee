// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Faults and changes from several threads at once.

use super::super::*;
use super::machine::*;

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
