// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Unmapping, replacing and discarding: when memory and addresses come back, and who may still see them.

use super::super::quarantine::{BATCH_BYTES, BATCH_RANGES, SEALED_LIMIT};
use super::super::*;
use super::machine::*;

fn machine() -> Machine {
    Machine::new(96, 2)
}

#[test]
fn frames_wait_for_every_cpu() {
    let machine = machine();
    let at = machine.map(PAGE, RW);
    assert_eq!(machine.write_on(0, at, 1), Ok(()));
    assert_eq!(machine.read_on(1, at), Ok(1));
    let free = machine.frames.stats().free_bytes;
    assert_eq!(machine.space.unmap(at, PAGE), Ok(()));
    assert_eq!(machine.frames.stats().free_bytes, free);
    assert_eq!(machine.space.stats().quarantined_bytes, PAGE as u64);
    machine.check_tlbs();
    assert_ne!(machine.map(PAGE, RW), at, "nor is the address used again");
    assert!(machine.space.reclaim());
    machine.check_tlbs();
    assert_eq!(machine.space.stats().quarantined_bytes, 0);
    assert_eq!(machine.map(PAGE, RW), at);
    machine.finish();
}

#[test]
fn what_was_never_touched_is_free_at_once() {
    let machine = machine();
    let at = machine.map(128 * MIB, NONE);
    assert_eq!(machine.space.unmap(at, 128 * MIB), Ok(()));
    assert!(!machine.space.reclaim());
    assert_eq!(machine.map(128 * MIB, NONE), at);
    machine.finish();
}

#[test]
fn a_hundred_thousand_stacks_stay_cheap() {
    let machine = Machine::new(64, 2);
    let count = 100_000;
    for thread in 0..count {
        let stack = machine.map(36 * PAGE, RW);
        assert_eq!(machine.write_on(thread % 2, stack + 35 * PAGE, 1), Ok(()));
        assert_eq!(machine.space.unmap(stack, 36 * PAGE), Ok(()));
        if thread % 10 == 0 {
            machine.sim.state().flush_cpu(thread % 2);
        }
    }
    let state = machine.sim.state();
    assert!(state.shootdowns + state.kicks <= count / 32, "{} {}", state.shootdowns, state.kicks);
    drop(state);
    let stats = machine.space.stats();
    let limit = (SEALED_LIMIT as u64 + 1) * BATCH_BYTES;
    assert!(stats.quarantined_bytes <= limit);
    machine.finish();
}

#[test]
fn the_quarantine_is_bounded_even_if_no_cpu_flushes() {
    let machine = machine();
    for _ in 0..20 * BATCH_RANGES {
        let at = machine.map(PAGE, RW);
        machine.map(PAGE, NONE);
        assert_eq!(machine.write_on(1, at, 1), Ok(()));
        assert_eq!(machine.space.unmap(at, PAGE), Ok(()));
        assert!(machine.space.stats().quarantined_bytes <= (1 + SEALED_LIMIT * BATCH_RANGES * PAGE) as u64);
    }
    assert!(machine.sim.state().shootdowns > 0);
    machine.finish();
}

#[test]
fn what_is_much_of_the_free_memory_is_freed_at_once() {
    let machine = machine();
    let len = 2 * BATCH_BYTES as usize;
    let at = machine.map(len, RW);
    assert_eq!(machine.space.populate(at, len), Ok(()));
    assert_eq!(machine.space.unmap(at, len), Ok(()));
    assert_eq!(machine.space.stats().quarantined_bytes, 0);
    assert_eq!(machine.sim.state().shootdowns, 1);
    machine.finish();
}

#[test]
fn tidying_frees_what_every_cpu_has_flushed() {
    let machine = Machine::new(256, 2);
    let at = machine.map(2 * BATCH_BYTES as usize, RW);
    assert_eq!(machine.space.populate(at, 2 * BATCH_BYTES as usize), Ok(()));
    assert_eq!(machine.space.unmap(at, 2 * BATCH_BYTES as usize), Ok(()));
    assert_eq!(machine.sim.state().kicks, 1);
    machine.sim.state().flush_cpu(0);
    machine.space.tidy();
    assert_eq!(machine.space.stats().quarantined_bytes, 2 * BATCH_BYTES);
    machine.sim.state().flush_cpu(1);
    machine.space.tidy();
    assert_eq!(machine.space.stats().quarantined_bytes, 0);
    machine.finish();
}

#[test]
fn replacing_flushes_before_it_returns() {
    let machine = machine();
    let at = machine.map(4 * PAGE, RW);
    assert_eq!(machine.write_on(1, at + PAGE, 5), Ok(()));
    assert_eq!(machine.map_at(at + PAGE, PAGE, RW), at + PAGE);
    assert_eq!(machine.sim.state().shootdowns, 1);
    assert_eq!(machine.read_on(1, at + PAGE), Ok(0));
    // The same over a range in quarantine.
    assert_eq!(machine.write_on(1, at + PAGE, 6), Ok(()));
    assert_eq!(machine.space.unmap(at, 4 * PAGE), Ok(()));
    assert_eq!(machine.map_at(at, 4 * PAGE, RW), at);
    assert_eq!(machine.sim.state().shootdowns, 2);
    assert_eq!(machine.read_on(1, at + PAGE), Ok(0));
    machine.check_tlbs();
    // What was never touched needs none.
    machine.map_at(0x1000_0000, MIB, Prot::READ);
    machine.map_at(0x1000_0000, MIB / 2, RW);
    assert_eq!(machine.sim.state().shootdowns, 2);
    machine.finish();
}

#[test]
fn unmapping_a_part_of_a_large_page() {
    let machine = machine();
    let at = machine.map(2 * LARGE, RW);
    for offset in [0, 100 * PAGE, LARGE + 7] {
        assert_eq!(machine.write(at + offset, 3), Ok(()));
    }
    assert_eq!(machine.space.unmap(at + 8 * PAGE, 16 * PAGE), Ok(()), "both edges in one large page");
    assert_eq!(machine.space.unmap(at + LARGE - PAGE, 2 * PAGE), Ok(()), "one edge in each of two");
    assert_eq!(machine.resident(), 2 * LARGE - 18 * PAGE);
    assert_eq!(machine.read(at + 100 * PAGE), Ok(3));
    assert_eq!(machine.read(at), Ok(3));
    machine.check_tlbs();
    machine.finish();
}

#[test]
fn splitting_without_memory_changes_nothing() {
    let machine = machine();
    let at = machine.map(LARGE, RW);
    assert_eq!(machine.write(at + 9, 9), Ok(()));
    machine.sim.set_budget(0);
    assert_eq!(machine.space.unmap(at, PAGE), Err(SpaceError::NoMemory));
    assert_eq!(machine.space.protect(at, PAGE, NONE), Err(SpaceError::NoMemory));
    assert_eq!(machine.space.advise(at + PAGE, PAGE, Advice::DontNeed), Err(SpaceError::NoMemory));
    assert_eq!(machine.ranges(), [(at, at + LARGE, RW)]);
    assert_eq!(machine.read(at + 9), Ok(9));
    let other = machine.map(PAGE, RW);
    assert_eq!(machine.write(other, 1), Err(FaultOutcome::OutOfMemory));
    machine.finish();
}

#[test]
fn dontneed_reads_as_zero_on_every_cpu() {
    let machine = machine();
    let at = machine.map(2 * LARGE, RW);
    assert_eq!(machine.write_on(1, at + 3, 1), Ok(()));
    assert_eq!(machine.write_on(1, at + LARGE, 1), Ok(()));
    assert_eq!(machine.space.advise(at, PAGE, Advice::DontNeed), Ok(()));
    assert_eq!(machine.space.advise(at + LARGE, LARGE, Advice::Free), Ok(()));
    assert_eq!(machine.resident(), LARGE - PAGE);
    assert_eq!(machine.read_on(1, at + 3), Ok(0));
    assert_eq!(machine.read_on(1, at + LARGE), Ok(0));
    // Where nothing is left, too, but not where nothing is mapped.
    assert_eq!(machine.space.advise(at, PAGE, Advice::DontNeed), Ok(()));
    assert_eq!(machine.space.advise(at + LARGE, 2 * LARGE, Advice::DontNeed), Err(SpaceError::NoMapping));
    let file = TestFile::new(1, 4 * PAGE, None);
    let mapped = machine.map_file(&file, 0, 4 * PAGE, RW, false);
    assert_eq!(machine.space.advise(mapped, PAGE, Advice::Free), Err(SpaceError::Invalid));
    assert_eq!(machine.write(mapped, 0), Ok(()));
    assert_eq!(machine.space.advise(mapped, PAGE, Advice::Free), Err(SpaceError::Invalid));
    assert_eq!(machine.space.advise(mapped, PAGE, Advice::DontNeed), Ok(()));
    assert_eq!(machine.read(mapped), Ok(TestFile::byte(1, 0)));
    machine.finish();
}
