// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Copies of windows: both have the content, neither sees what the other writes, and nothing is lost.

use proptest::prelude::*;

use super::super::*;
use super::machine::{LARGE, Machine, PAGE, RW, TestFile};
use crate::frames::ZonePolicy;

#[test]
fn each_sees_its_own_writes() {
    let machine = Machine::new(16, 2);
    let (small, large) = (machine.map(4 * PAGE, RW), machine.map(LARGE, RW));
    machine.write(small, 1).expect("memory");
    for part in [0, 1, 100, 511] {
        machine.write(large + part * PAGE, 2).expect("memory");
    }
    let copy = machine.fork().expect("memory");
    assert_eq!(copy.ranges(), machine.ranges());
    copy.write(small, 3).expect("memory");
    copy.write(large + PAGE, 4).expect("memory");
    machine.write(large + 100 * PAGE, 5).expect("memory");
    assert_eq!((machine.read(small), copy.read(small)), (Ok(1), Ok(3)));
    assert_eq!((machine.read(large + PAGE), copy.read(large + PAGE)), (Ok(2), Ok(4)));
    assert_eq!((machine.read(large + 100 * PAGE), copy.read(large + 100 * PAGE)), (Ok(5), Ok(2)));
    assert_eq!((machine.read(large + 7 * PAGE), copy.read(large + 7 * PAGE)), (Ok(0), Ok(0)));
    machine.check_tlbs();
    copy.check_tlbs();
    copy.space.clear();
    assert_eq!(machine.read(small + PAGE), Ok(0));
    machine.finish();
}

#[test]
fn the_last_one_writes_without_a_copy() {
    let machine = Machine::new(16, 1);
    let at = machine.map(LARGE, RW);
    for part in 0..512 {
        machine.write(at + part * PAGE, 1).expect("memory");
    }
    let copy = machine.fork().expect("memory");
    copy.space.clear();
    let free = machine.frames.stats().free_bytes;
    machine.write(at, 2).expect("memory");
    assert_eq!(machine.frames.stats().free_bytes, free);
    assert_eq!(machine.sim.state().page_size(at), Some(PageSize::Size2M));
    machine.finish();
}

#[test]
fn shared_memory_is_seen_by_both_and_files_as_they_are() {
    let machine = Machine::new(16, 1);
    let file = TestFile::new(3, 8 * PAGE, Some(machine.frames));
    let shown = machine.map_file(&file, 0, 4 * PAGE, Prot::READ, false);
    let request = MapRequest { backing: MapBacking::SharedAnonymous, ..MapRequest::anonymous(3 * PAGE, RW) };
    let memory = machine.space.map(request).expect("map");
    machine.write(memory, 7).expect("memory");
    assert!(machine.read(shown).is_ok());
    let copy = machine.fork().expect("memory");
    assert_eq!(copy.read(memory), Ok(7));
    copy.write(memory + PAGE, 8).expect("memory");
    machine.write(memory, 9).expect("memory");
    assert_eq!((machine.read(memory + PAGE), copy.read(memory)), (Ok(8), Ok(9)));
    assert_eq!(machine.read(shown + PAGE), copy.read(shown + PAGE));
    let keys = [&machine, &copy].map(|one| one.space.shared_key(memory + PAGE));
    assert!(keys[0].is_some() && keys[0] == keys[1]);
    copy.space.clear();
    drop((copy, file));
    machine.finish();
}

#[test]
fn a_copy_that_fails_leaves_everything_as_it_was() {
    let machine = Machine::new(16, 1);
    let at = machine.map(3 * LARGE, RW);
    machine.space.advise(at, 3 * LARGE, Advice::NoHuge).expect("advice");
    for block in 0..3 {
        machine.write(at + block * LARGE, 1).expect("memory");
    }
    let copy = Machine::on(machine.frames, 1);
    copy.sim.set_budget(2);
    assert_eq!(machine.space.copy_to(&copy.space), Err(SpaceError::NoMemory));
    assert_eq!(copy.resident(), 0);
    for block in 0..3 {
        assert_eq!(machine.read(at + block * LARGE), Ok(1));
        machine.write(at + block * LARGE, 2).expect("memory");
    }
    machine.finish();
}

/// A window with a page of 4 KiB that holds 1 and that another one has, too, and a large one.
fn forked() -> (Machine, Machine, usize, usize) {
    let machine = Machine::new(16, 2);
    let (small, large) = (machine.map(PAGE, RW), machine.map(LARGE, RW));
    for part in 0..LARGE / PAGE {
        machine.write(large + part * PAGE, 1).expect("memory");
    }
    machine.write(small, 1).expect("memory");
    let copy = machine.fork().expect("memory");
    (machine, copy, small, large)
}

fn frame(machine: &Machine) -> crate::frames::Frame {
    machine.frames.alloc_program(0, ZonePolicy::Local).expect("memory")
}

#[test]
fn other_changes_do_not_disturb_a_copy() {
    let (machine, copy, small, large) = forked();
    let forks = machine.space.flush_forked(small);
    // Another thread copies another page, and maps and unmaps.
    machine.write_on(1, large + PAGE, 2).expect("memory");
    let other = machine.map(PAGE, RW);
    machine.space.unmap(other, PAGE).expect("mapped");
    let old =
        machine.space.exchange(small, frame(&machine), forks).expect("memory").expect("nothing has changed");
    machine.check_tlbs();
    machine.space.finish_copy(small);
    machine.space.end_share(small, old);
    machine.write(small, 3).expect("memory");
    assert_eq!((machine.read_on(1, small), copy.read(small)), (Ok(3), Ok(1)));
    copy.space.clear();
    machine.finish();
}

#[test]
fn a_fork_lets_a_copy_begin_anew() {
    let (machine, copy, small, _) = forked();
    let forks = machine.space.flush_forked(small);
    let second = machine.fork().expect("memory");
    assert!(machine.space.exchange(small, frame(&machine), forks).expect("memory").is_none());
    machine.write(small, 2).expect("memory");
    assert_eq!((machine.read(small), copy.read(small), second.read(small)), (Ok(2), Ok(1), Ok(1)));
    copy.space.clear();
    second.space.clear();
    machine.finish();
}

#[test]
fn who_meets_a_copy_that_nobody_may_write_to_finishes_it() {
    let (machine, copy, small, large) = forked();
    for page in [small, large + 9 * PAGE] {
        assert_eq!(machine.read_on(1, page), Ok(1));
        let forks = machine.space.flush_forked(page);
        let old = machine.space.exchange(page, frame(&machine), forks).expect("memory").expect("shared");
        assert_eq!(machine.read_on(1, page), Ok(1));
        machine.write_on(1, page, 4).expect("memory");
        assert_eq!((machine.read(page), copy.read(page)), (Ok(4), Ok(1)));
        machine.space.finish_copy(page);
        machine.space.end_share(page, old);
        machine.check_tlbs();
    }
    copy.space.clear();
    machine.finish();
}

#[test]
fn a_copy_that_is_the_last_one_frees_what_was_shared() {
    let (machine, copy, small, _) = forked();
    let forks = machine.space.flush_forked(small);
    let old = machine.space.exchange(small, frame(&machine), forks).expect("memory").expect("shared");
    copy.space.clear();
    machine.space.finish_copy(small);
    machine.space.end_share(small, old);
    machine.finish();
}

#[test]
fn a_write_to_a_shared_page_that_moves_is_not_lost() {
    let (machine, copy, small, _) = forked();
    let new = frame(&machine);
    let moving = machine.space.begin_move(small, PageSize::Size4K).ok().flatten().expect("a page");
    machine.space.flush_moving(&moving);
    copy.space.clear();
    let copied = machine.space.copy_moving(&moving, &new);
    // Another thread has the page alone by now.
    machine.write_on(1, small, 7).expect("memory");
    match copied.then(|| machine.space.end_move(&moving, new)).flatten() {
        Some(old) => machine.space.free_moved(&moving, old),
        None => machine.space.restore(small),
    }
    assert_eq!(machine.read(small), Ok(7));
    machine.finish();
}

#[test]
fn threads_copy_beside_each_other() {
    let (machine, copy, small, large) = forked();
    let pages = LARGE / PAGE;
    std::thread::scope(|scope| {
        for part in 0..2 {
            let machine = &machine;
            scope.spawn(move || {
                for page in (part..pages).step_by(2) {
                    machine.write_on(part, large + page * PAGE, 2 + part as u8).expect("memory");
                }
            });
        }
        let machine = &machine;
        scope.spawn(move || {
            for _ in 0..200 {
                let other = machine.map(3 * PAGE, RW);
                assert_eq!(machine.space.fault(other, FaultAccess::Write), FaultOutcome::Resolved);
                machine.space.unmap(other, 3 * PAGE).expect("mapped");
            }
        });
    });
    for page in 0..pages {
        let at = large + page * PAGE;
        assert_eq!((machine.read(at), copy.read(at)), (Ok(2 + (page % 2) as u8), Ok(1)), "page {page}");
    }
    assert_eq!(machine.read(small), Ok(1));
    copy.space.clear();
    machine.finish();
}

/// What each page holds, and whether it may be written; `None` where nothing is mapped.
type Model = Vec<Option<(u8, bool)>>;

const PAGES: usize = 3 * LARGE / PAGE;

#[derive(Clone, Debug)]
enum Op {
    Write(usize, usize, u8),
    Read(usize, usize),
    Unmap(usize, usize, usize),
    Protect(usize, usize, usize, bool),
    Discard(usize, usize, usize),
    Fork(usize),
    End(usize),
    Flush(usize),
}

fn op() -> impl Strategy<Value = Op> {
    let who = 0..4_usize;
    let page = || prop_oneof![0..PAGES, (0..6_usize).prop_map(|step| step * 256)];
    prop_oneof![
        8 => (who.clone(), page(), 1..=255_u8).prop_map(|(who, page, value)| Op::Write(who, page, value)),
        6 => (who.clone(), page()).prop_map(|(who, page)| Op::Read(who, page)),
        1 => (who.clone(), page(), 1..600_usize).prop_map(|(who, page, count)| Op::Unmap(who, page, count)),
        2 => (who.clone(), page(), 1..600_usize, any::<bool>())
            .prop_map(|(who, page, count, write)| Op::Protect(who, page, count, write)),
        1 => (who.clone(), page(), 1..600_usize).prop_map(|(who, page, count)| Op::Discard(who, page, count)),
        3 => who.clone().prop_map(Op::Fork),
        1 => who.clone().prop_map(Op::End),
        1 => who.prop_map(Op::Flush),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// Windows that are copied, changed and ended at random behave like arrays that are.
    #[test]
    fn windows_behave_like_arrays(ops in proptest::collection::vec(op(), 1..60)) {
        let first = Machine::new(64, 2);
        let at = first.map_at(0x40_0000_0000, 3 * LARGE, RW);
        let frames = first.frames;
        let free_before = frames.stats().free_bytes;
        let mut windows: Vec<(Machine, Model)> = vec![(first, vec![Some((0, true)); PAGES])];
        for op in ops {
            let count = windows.len();
            let end = |page: usize, len: usize| (page + len).min(PAGES);
            match op {
                Op::Write(who, page, value) => {
                    let (machine, model) = &mut windows[who % count];
                    let done = machine.write(at + page * PAGE, value);
                    match &mut model[page] {
                        Some((byte, true)) => {
                            prop_assert_eq!(done, Ok(()));
                            *byte = value;
                        }
                        Some((_, false)) => prop_assert_eq!(done, Err(FaultOutcome::Protection)),
                        None => prop_assert_eq!(done, Err(FaultOutcome::NoMapping)),
                    }
                }
                Op::Read(who, page) => {
                    let (machine, model) = &windows[who % count];
                    let found = machine.read_on(1, at + page * PAGE);
                    // The other CPU may reach what was unmapped until it flushes.
                    if let Some((byte, _)) = model[page] {
                        prop_assert_eq!(found, Ok(byte));
                    }
                    machine.sim.state().cpu = 0;
                }
                Op::Unmap(who, page, len) => {
                    let (machine, model) = &mut windows[who % count];
                    let end = end(page, len);
                    prop_assert_eq!(machine.space.unmap(at + page * PAGE, (end - page) * PAGE), Ok(()));
                    model[page..end].fill(None);
                }
                Op::Protect(who, page, len, write) => {
                    let (machine, model) = &mut windows[who % count];
                    let end = end(page, len);
                    let prot = if write { RW } else { Prot::READ };
                    let _ = machine.space.protect(at + page * PAGE, (end - page) * PAGE, prot);
                    for entry in model[page..end].iter_mut().map_while(Option::as_mut) {
                        entry.1 = write;
                    }
                }
                Op::Discard(who, page, len) => {
                    let (machine, model) = &mut windows[who % count];
                    let end = end(page, len);
                    let _ = machine.space.advise(at + page * PAGE, (end - page) * PAGE, Advice::DontNeed);
                    for entry in model[page..end].iter_mut().flatten() {
                        entry.0 = 0;
                    }
                }
                Op::Fork(who) if count < 4 => {
                    let copy = windows[who % count].0.fork();
                    let model = windows[who % count].1.clone();
                    windows.push((copy.expect("memory"), model));
                }
                Op::End(who) if count > 1 => {
                    let (machine, _) = windows.remove(who % count);
                    machine.space.clear();
                }
                Op::Fork(_) | Op::End(_) => {}
                Op::Flush(who) => windows[who % count].0.sim.state().flush_cpu(1),
            }
            windows.iter().for_each(|(machine, _)| machine.check_tlbs());
        }
        for (machine, model) in &windows {
            machine.sim.state().flush_cpu(0);
            for (page, entry) in model.iter().enumerate() {
                let expected = entry.map(|(byte, _)| byte).ok_or(FaultOutcome::NoMapping);
                prop_assert_eq!(machine.read(at + page * PAGE), expected);
            }
        }
        windows.iter().for_each(|(machine, _)| machine.space.clear());
        prop_assert_eq!(frames.stats().free_bytes, free_before);
    }
}
