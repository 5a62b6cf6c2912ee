// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Locked memory: what counts, what it keeps, and limits.

use super::super::*;
use super::machine::*;

#[test]
fn what_is_locked_is_counted_wherever_it_goes() {
    let machine = Machine::new(96, 2);
    let space = &machine.space;
    let at = machine.map(10 * PAGE, RW);
    let lock =
        |first, pages, lock| space.lock(at + first * PAGE, at + (first + pages) * PAGE, lock, Some(6 * PAGE));
    assert!(!space.uses_locks());
    assert_eq!(lock(2, 4, Some(Lock::Full)), Ok(()));
    assert_eq!(space.locked_bytes(), 4 * PAGE);
    assert_eq!(lock(5, 3, Some(Lock::OnFault)), Ok(()), "one of them counts already");
    assert_eq!(space.locked_bytes(), 6 * PAGE);
    assert_eq!(lock(0, 1, Some(Lock::Full)), Err(SpaceError::NoMemory));
    assert_eq!(space.find(at + 3 * PAGE).and_then(|vma| vma.lock()), Some(Lock::Full));
    assert_eq!(space.find(at + 5 * PAGE).and_then(|vma| vma.lock()), Some(Lock::OnFault));
    assert_eq!(space.unmap(at + 2 * PAGE, PAGE), Ok(()));
    assert_eq!(space.locked_bytes(), 5 * PAGE);
    let request = RemapRequest {
        old: at + 3 * PAGE,
        old_len: PAGE,
        new_len: 3 * PAGE,
        mode: RemapMode::MayMove,
        limits: Limits::locked(6 * PAGE),
    };
    assert_eq!(space.remap(request), Err(SpaceError::LockLimit));
    let moved = space.remap(RemapRequest { new_len: 2 * PAGE, ..request }).expect("moved");
    assert_eq!(space.locked_bytes(), 6 * PAGE);
    assert_eq!(space.lock(moved, moved + 2 * PAGE, None, None), Ok(()));
    assert_eq!(lock(4, 100, None), Err(SpaceError::NoMapping), "up to the hole");
    assert_eq!(space.locked_bytes(), 0);
    machine.finish();
}

#[test]
fn locked_pages_are_not_thrown_away() {
    let machine = Machine::new(96, 2);
    let space = &machine.space;
    let at = machine.map(4 * PAGE, RW);
    for page in 0..4 {
        assert_eq!(machine.write(at + page * PAGE, 7), Ok(()));
    }
    assert_eq!(space.lock(at + 2 * PAGE, at + 3 * PAGE, Some(Lock::Full), None), Ok(()));
    for advice in [Advice::Free, Advice::Unlocked, Advice::DontNeed] {
        assert_eq!(space.advise(at, 4 * PAGE, advice), Err(SpaceError::Invalid));
    }
    let found: Vec<_> = (0..4).map(|page| machine.read(at + page * PAGE)).collect();
    assert_eq!(found, [0, 0, 7, 7].map(Ok));
    assert_eq!(space.advise(at, 4 * PAGE, Advice::DontNeedLocked), Ok(()));
    assert_eq!(machine.read(at + 2 * PAGE), Ok(0));
    machine.finish();
}

#[test]
fn what_is_mapped_later_is_locked_if_that_was_asked_for() {
    let machine = Machine::new(96, 2);
    let space = &machine.space;
    let first = machine.map(4 * PAGE, RW);
    assert_eq!(space.lock_all(None, Some(Lock::OnFault), None), Ok(()));
    let second = machine.map(2 * PAGE, Prot::READ);
    assert_eq!(space.locked_bytes(), 2 * PAGE);
    assert_eq!(space.find(second).and_then(|vma| vma.lock()), Some(Lock::OnFault));
    let more = MapRequest::anonymous(2 * PAGE, RW);
    assert_eq!(space.map_within(more, None, Limits::locked(3 * PAGE)), Err(SpaceError::LockLimit));
    assert_eq!(space.lock_all(Some(Some(Lock::Full)), None, Some(5 * PAGE)), Err(SpaceError::NoMemory));
    assert_eq!(space.lock_all(Some(Some(Lock::Full)), None, Some(6 * PAGE)), Ok(()));
    assert_eq!(space.locked_bytes(), 6 * PAGE);
    assert_eq!(space.next_mapping(0).map(|vma| vma.start), Some(first.min(second)));
    machine.map(PAGE, RW);
    assert_eq!(space.locked_bytes(), 6 * PAGE, "no more");
    assert_eq!(space.lock_all(Some(None), None, None), Ok(()));
    assert_eq!(space.locked_bytes(), 0);
    machine.finish();
}
