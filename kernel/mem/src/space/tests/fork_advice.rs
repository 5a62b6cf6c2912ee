// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Mappings that copies of windows do not have, or have without content.

use super::super::*;
use super::machine::{LARGE, Machine, PAGE, RW, TestFile};

#[test]
fn a_copy_has_not_what_is_not_for_copies() {
    let machine = Machine::new(16, 1);
    let at = machine.map(4 * PAGE, RW);
    machine.write(at + PAGE, 1).expect("memory");
    machine.space.advise(at + PAGE, 2 * PAGE, Advice::DontFork).expect("mapped");
    assert_eq!(machine.ranges().len(), 3);
    let copy = machine.fork().expect("memory");
    assert_eq!(copy.ranges(), [(at, at + PAGE, RW), (at + 3 * PAGE, at + 4 * PAGE, RW)]);
    assert_eq!(copy.read(at + PAGE), Err(FaultOutcome::NoMapping));
    assert_eq!((copy.resident(), copy.space.stats().mapped_bytes), (0, 2 * PAGE));
    assert_eq!(machine.read(at + PAGE), Ok(1));
    machine.space.advise(at, 4 * PAGE, Advice::DoFork).expect("mapped");
    assert_eq!(machine.ranges().len(), 1);
    let second = machine.fork().expect("memory");
    assert_eq!(second.read(at + PAGE), Ok(1));
    copy.space.clear();
    second.space.clear();
    machine.finish();
}

#[test]
fn a_copy_and_its_copies_see_zeros() {
    let machine = Machine::new(16, 1);
    let at = machine.map(LARGE, RW);
    for part in 0..512 {
        machine.write(at + part * PAGE, 1).expect("memory");
    }
    machine.space.advise(at + PAGE, PAGE, Advice::WipeOnFork).expect("mapped");
    let copy = machine.fork().expect("memory");
    assert_eq!([0, 1, 2].map(|page| copy.read(at + page * PAGE)), [Ok(1), Ok(0), Ok(1)]);
    copy.write(at + PAGE, 2).expect("memory");
    let second = copy.fork().expect("memory");
    assert_eq!(second.read(at + PAGE), Ok(0));
    assert_eq!((machine.read(at + PAGE), copy.read(at + PAGE)), (Ok(1), Ok(2)));
    copy.space.advise(at, LARGE, Advice::KeepOnFork).expect("mapped");
    assert_eq!(copy.ranges().len(), 1);
    let third = copy.fork().expect("memory");
    assert_eq!(third.read(at + PAGE), Ok(2));
    [copy, second, third].iter().for_each(|copy| copy.space.clear());
    machine.finish();
}

#[test]
fn only_private_memory_is_wiped() {
    let machine = Machine::new(16, 1);
    let file = TestFile::new(3, 8 * PAGE, Some(machine.frames));
    let at = machine.map(4 * PAGE, RW);
    let backing = file.backing(0, false);
    let placement = Placement::Fixed(at + PAGE);
    let request = MapRequest { backing, placement, ..MapRequest::anonymous(PAGE, RW) };
    machine.space.map(request).expect("map");
    machine.space.unmap(at + 3 * PAGE, PAGE).expect("mapped");
    let flags = || {
        let mut flags = Vec::new();
        machine.space.vmas(&mut |vma| flags.push(vma.flags.contains(VmaFlags::WIPE_ON_FORK)));
        flags
    };
    assert_eq!(machine.space.advise(at, 4 * PAGE, Advice::WipeOnFork), Err(SpaceError::Invalid));
    assert_eq!(flags(), [true, false, false]);
    assert_eq!(machine.space.advise(at + 2 * PAGE, 2 * PAGE, Advice::WipeOnFork), Err(SpaceError::NoMapping));
    assert_eq!(flags(), [true, false, true]);
    drop(file);
    machine.finish();
}
