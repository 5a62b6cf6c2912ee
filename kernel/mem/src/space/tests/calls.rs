// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Arguments, placement, protection and queries.

use super::super::*;
use super::machine::*;

fn machine() -> Machine {
    Machine::new(96, 2)
}

#[test]
fn arguments_are_checked() {
    let machine = machine();
    let space = &machine.space;
    let request = |len, placement| MapRequest { placement, ..MapRequest::anonymous(len, RW) };
    assert_eq!(space.map(request(0, Placement::Anywhere)), Err(SpaceError::Invalid));
    assert_eq!(space.map(request(usize::MAX, Placement::Anywhere)), Err(SpaceError::NoMemory));
    assert_eq!(space.map(request(WINDOW_END, Placement::Anywhere)), Err(SpaceError::NoMemory));
    assert_eq!(space.map(request(PAGE, Placement::Fixed(0x10_0001))), Err(SpaceError::Invalid));
    assert_eq!(space.map(request(PAGE, Placement::Fixed(0))), Err(SpaceError::Forbidden));
    assert_eq!(space.map(request(PAGE, Placement::Fixed(0xf000))), Err(SpaceError::Forbidden));
    assert_eq!(space.map(request(PAGE, Placement::Fixed(WINDOW_END))), Err(SpaceError::NoMemory));
    assert_eq!(space.map(request(PAGE, Placement::Fixed(usize::MAX & !0xfff))), Err(SpaceError::NoMemory));
    assert_eq!(space.map(request(PAGE, Placement::Fixed(WINDOW_START))), Ok(WINDOW_START));
    assert_eq!(space.map(request(PAGE, Placement::Fixed(WINDOW_END - PAGE))), Ok(WINDOW_END - PAGE));
    assert_eq!(space.unmap(0x10_0001, PAGE), Err(SpaceError::Invalid));
    assert_eq!(space.unmap(0x10_0000, 0), Err(SpaceError::Invalid));
    assert_eq!(space.unmap(WINDOW_END, PAGE), Err(SpaceError::Invalid));
    assert_eq!(space.unmap(0x10_0000, 100 * PAGE), Ok(()), "holes do no harm");
    assert_eq!(space.protect(0x10_0000, 0, RW), Ok(()));
    assert_eq!(space.protect(0x10_0000, PAGE, RW), Err(SpaceError::NoMapping));
    assert_eq!(space.advise(0x10_0001, PAGE, Advice::DontNeed), Err(SpaceError::Invalid));
    assert_eq!(space.advise(0x10_0000, PAGE, Advice::Other), Err(SpaceError::NoMapping));
    let file = TestFile::new(1, PAGE, None);
    let odd = MapRequest { backing: file.backing(512, false), ..MapRequest::anonymous(PAGE, RW) };
    assert_eq!(space.map(odd), Err(SpaceError::Invalid));
    let bad = Placement::FixedNoReplace(WINDOW_START);
    assert_eq!(space.map(request(PAGE, bad)), Err(SpaceError::Exists));
    assert_eq!(space.fault(0, FaultAccess::Read), FaultOutcome::NoMapping);
    machine.finish();
}

#[test]
fn hints_are_hints() {
    let machine = machine();
    let hinted = |at| {
        let placement = Placement::Hint(at);
        machine.space.map(MapRequest { placement, ..MapRequest::anonymous(PAGE, RW) }).expect("map")
    };
    assert_eq!(hinted(0x1000_0123), 0x1000_1000);
    let elsewhere = hinted(0x1000_1000);
    assert_ne!(elsewhere, 0x1000_1000);
    assert_eq!(hinted(1), WINDOW_START);
    assert!(hinted(usize::MAX) < WINDOW_END);
    machine.finish();
}

#[test]
fn memory_is_zero_and_keeps_what_is_written() {
    let machine = machine();
    let at = machine.map(10 * PAGE, RW);
    assert_eq!(machine.read(at + 5), Ok(0));
    assert_eq!(machine.write(at + 5, 7), Ok(()));
    assert_eq!(machine.read_on(1, at + 5), Ok(7));
    assert_eq!(machine.read(at + 5), Ok(7));
    assert_eq!(machine.space.unmap(at, 10 * PAGE), Ok(()));
    assert_eq!(
        machine.read(at + 5),
        Err(FaultOutcome::NoMapping),
        "the CPU that unmapped it notices at once"
    );
    machine.finish();
}

#[test]
fn protection_is_honoured() {
    let machine = machine();
    let at = machine.map(PAGE, Prot::READ);
    assert_eq!(machine.read(at), Ok(0));
    assert_eq!(machine.write(at, 1), Err(FaultOutcome::Protection));
    assert_eq!(machine.space.fault(at, FaultAccess::Exec), FaultOutcome::Protection);
    assert_eq!(machine.space.protect(at, PAGE, RW), Ok(()));
    assert_eq!(machine.sim.state().shootdowns, 0, "new rights need no shootdown");
    assert_eq!(machine.write_on(1, at, 1), Ok(()));
    assert_eq!(machine.space.protect(at, PAGE, Prot::READ), Ok(()));
    assert_eq!(machine.sim.state().shootdowns, 1, "rights that are gone do");
    assert_eq!(machine.write_on(1, at, 1), Err(FaultOutcome::Protection));
    // x86-64 has no memory that can be written but not read.
    let at = machine.map(PAGE, Prot::WRITE);
    assert_eq!(machine.read(at), Ok(0));
    machine.finish();
}

#[test]
fn content_survives_prot_none() {
    let machine = machine();
    let at = machine.map(LARGE, RW);
    assert_eq!(machine.write(at + 3 * PAGE, 9), Ok(()));
    assert_eq!(machine.space.protect(at, LARGE, NONE), Ok(()));
    assert_eq!(machine.read(at + 3 * PAGE), Err(FaultOutcome::Protection));
    machine.check_tlbs();
    assert_eq!(machine.space.protect(at + 3 * PAGE, PAGE, Prot::READ), Ok(()));
    assert_eq!(machine.read(at + 3 * PAGE), Ok(9));
    assert_eq!(machine.space.protect(at, LARGE, RW), Ok(()));
    assert_eq!(machine.write(at + 3 * PAGE, 10), Ok(()));
    assert_eq!(machine.ranges().len(), 1);
    machine.finish();
}

#[test]
fn protection_stops_at_a_hole_as_on_linux() {
    let machine = machine();
    let at = machine.map_at(0x1000_0000, 2 * PAGE, RW);
    machine.map_at(0x1000_3000, PAGE, RW);
    assert_eq!(machine.space.protect(at, 4 * PAGE, Prot::READ), Err(SpaceError::NoMapping));
    assert_eq!(machine.ranges(), [(at, at + 2 * PAGE, Prot::READ), (at + 3 * PAGE, at + 4 * PAGE, RW)]);
    machine.finish();
}

#[test]
fn ranges_are_checked_for_system_calls() {
    let machine = machine();
    let at = machine.map_at(0x1000_0000, 2 * PAGE, RW);
    machine.map_at(at + 2 * PAGE, PAGE, Prot::READ);
    let check = |addr, len, access| machine.space.check_range(addr, len, access);
    assert!(check(at, 3 * PAGE, FaultAccess::Read));
    assert!(check(at + 10, 2 * PAGE - 10, FaultAccess::Write));
    assert!(!check(at + 10, 2 * PAGE, FaultAccess::Write));
    assert!(!check(at + 2 * PAGE, PAGE + 1, FaultAccess::Read));
    assert!(!check(at - 1, 2, FaultAccess::Read));
    assert!(!check(0, 1, FaultAccess::Read));
    assert!(!check(usize::MAX, 2, FaultAccess::Read));
    assert!(!check(at, usize::MAX - at, FaultAccess::Read));
    assert!(check(0, 0, FaultAccess::Write));
    machine.finish();
}

#[test]
fn the_number_of_mappings_is_limited() {
    let machine = Machine::new(4, 1);
    let at = machine.map(2 * MAX_MAPPINGS * PAGE, NONE);
    let mut made = 0;
    let error = loop {
        match machine.space.protect(at + 2 * made * PAGE, PAGE, RW) {
            Ok(()) => made += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(error, SpaceError::NoMemory);
    assert!(machine.space.stats().mappings <= MAX_MAPPINGS);
    let request = MapRequest::anonymous(PAGE, RW);
    assert_eq!(machine.space.map(request), Err(SpaceError::NoMemory));
    assert_eq!(machine.space.unmap(at, 2 * MAX_MAPPINGS * PAGE), Ok(()));
    machine.finish();
}

#[test]
fn the_break_moves() {
    let machine = machine();
    let space = &machine.space;
    assert_eq!(space.brk(0, Limits::default()), 0);
    let start = 0x60_0000;
    space.set_brk(start);
    assert_eq!(space.brk(0, Limits::default()), start);
    assert_eq!(space.brk(start + 5000, Limits::default()), start + 5000);
    assert_eq!(machine.write(start + 4999, 1), Ok(()));
    assert_eq!(space.find(start).expect("heap").name, Name::Static("[heap]"));
    assert_eq!(space.brk(start + 3 * PAGE + 1, Limits::default()), start + 3 * PAGE + 1);
    assert_eq!(machine.ranges(), [(start, start + 4 * PAGE, RW)]);
    assert_eq!(space.brk(start - 1, Limits::default()), start + 3 * PAGE + 1, "not below the start");
    assert_eq!(space.brk(usize::MAX, Limits::default()), start + 3 * PAGE + 1);
    assert_eq!(space.brk(start, Limits::default()), start);
    assert_eq!(machine.ranges(), []);
    assert_eq!(space.brk(start + 2 * PAGE, Limits::default()), start + 2 * PAGE);
    assert_eq!(machine.read(start + 4999), Ok(0), "what was given back is gone");
    machine.map_at(start + 4 * PAGE, PAGE, RW);
    assert_eq!(space.brk(start + 5 * PAGE, Limits::default()), start + 2 * PAGE, "not over another mapping");
    machine.check_tlbs();
    machine.finish();
}

#[test]
fn what_is_mapped_has_a_limit() {
    let machine = machine();
    let space = &machine.space;
    let most = MappedLimits { all: (8 * PAGE).into(), ..MappedLimits::none() };
    let limits = Limits::mapped(Some(&most));
    let map = |placement, pages| {
        let request = MapRequest { placement, ..MapRequest::anonymous(pages * PAGE, RW) };
        space.map_within(request, None, limits)
    };
    let at = machine.map(4 * PAGE, RW);
    assert_eq!(map(Placement::Anywhere, 5), Err(SpaceError::NoMemory));
    assert_eq!(map(Placement::Fixed(at - 5 * PAGE), 9), Err(SpaceError::NoMemory));
    assert_eq!(map(Placement::Fixed(at - 4 * PAGE), 8), Ok(at - 4 * PAGE), "what it replaces does not count");
    let remap =
        |new_len, mode| space.remap(RemapRequest { old: at, old_len: 4 * PAGE, new_len, mode, limits });
    assert_eq!(remap(5 * PAGE, RemapMode::MayMove), Err(SpaceError::NoMemory));
    assert_eq!(remap(5 * PAGE, RemapMode::Fixed(at + 64 * PAGE)), Err(SpaceError::NoMemory));
    assert_eq!(remap(3 * PAGE, RemapMode::MayMove), Ok(at));
    let start = 0x60_0000;
    space.set_brk(start);
    assert_eq!(space.brk(start + 2 * PAGE, limits), start);
    assert_eq!(space.brk(start + PAGE, limits), start + PAGE);
    space.set_first_stack(2 * PAGE);
    assert_eq!(space.brk(start + 3 * PAGE, limits), start + 3 * PAGE, "the first stack does not count");
    assert_eq!(map(Placement::Anywhere, 1), Err(SpaceError::NoMemory));
    machine.finish();
}

#[test]
fn data_has_a_limit() {
    let machine = machine();
    let space = &machine.space;
    let within = |pages: usize| MappedLimits { data: (pages * PAGE).into(), ..MappedLimits::none() };
    let most = within(8);
    let limits = Limits::mapped(Some(&most));
    let map = |placement, pages, prot, backing| {
        let request = MapRequest { placement, backing, ..MapRequest::anonymous(pages * PAGE, prot) };
        space.map_within(request, None, limits)
    };
    let at = machine.map(4 * PAGE, RW);
    let file = TestFile::new(2, 64 * PAGE, Some(machine.frames));
    let anywhere = |pages, prot| map(Placement::Anywhere, pages, prot, MapBacking::Anonymous);
    assert_eq!(anywhere(5, RW), Err(SpaceError::NoMemory));
    assert_eq!(map(Placement::Anywhere, 5, RW, file.backing(0, false)), Err(SpaceError::NoMemory));
    assert!(map(Placement::Anywhere, 5, RW, file.backing(0, true)).is_ok(), "what is shared is no data");
    assert!(map(Placement::Anywhere, 5, RW, MapBacking::SharedAnonymous).is_ok());
    let reserved = anywhere(16, NONE).expect("what cannot be written is no data");
    let protect = |page: usize, pages: usize, prot| {
        space.protect_within(reserved + page * PAGE, pages * PAGE, prot, Some(&most))
    };
    assert_eq!(protect(0, 5, RW), Err(SpaceError::NoMemory));
    assert_eq!(protect(0, 3, RW), Ok(()));
    assert_eq!(protect(1, 4, RW), Err(SpaceError::NoMemory), "one page may become data");
    assert_eq!(protect(0, 3, RW | Prot::EXEC), Ok(()), "what is data stays data");
    assert_eq!(protect(0, 16, Prot::READ), Ok(()));
    let remap =
        |new_len, mode| space.remap(RemapRequest { old: at, old_len: 4 * PAGE, new_len, mode, limits });
    assert_eq!(remap(9 * PAGE, RemapMode::MayMove), Err(SpaceError::NoMemory));
    assert_eq!(remap(9 * PAGE, RemapMode::Fixed(reserved)), Err(SpaceError::NoMemory));
    assert_eq!(remap(8 * PAGE, RemapMode::Fixed(reserved)), Ok(reserved));
    assert_eq!(space.protect_within(reserved, 8 * PAGE, Prot::READ, Some(&within(2))), Ok(()));
    assert_eq!(protect(4, 2, RW), Ok(()));
    let start = 0x60_0000;
    space.set_brk(start);
    assert_eq!(space.brk(start + 7 * PAGE, limits), start);
    assert_eq!(space.brk(start + 6 * PAGE, limits), start + 6 * PAGE);
    let most = MappedLimits { heap: 0.into(), ..MappedLimits::none() };
    let no_heap = Limits::mapped(Some(&most));
    assert_eq!(space.brk(start + 7 * PAGE, no_heap), start + 6 * PAGE);
    assert_eq!(space.brk(start, no_heap), start, "it may shrink");
    machine.finish();
}
