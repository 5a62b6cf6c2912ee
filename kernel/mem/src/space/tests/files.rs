// SPDX-License-Identifier: Apache-2.0 OR MIT
//! File mappings, private and shared.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::super::*;
use super::machine::*;

fn machine() -> Machine {
    Machine::new(96, 2)
}

#[test]
fn files_are_read_around_the_fault() {
    let machine = machine();
    let file = TestFile::new(3, 100 * PAGE + 100, None);
    let at = machine.map_file(&file, PAGE, 120 * PAGE, Prot::READ, false);
    for offset in [0, 40 * PAGE + 17, 99 * PAGE + 99] {
        assert_eq!(machine.read(at + offset), Ok(TestFile::byte(3, PAGE + offset)));
    }
    assert_eq!(file.reads.load(Ordering::Relaxed), 3);
    assert_eq!(machine.read(at + 99 * PAGE + 100), Ok(0), "past the end in the last page");
    assert_eq!(machine.read(at + 100 * PAGE), Err(FaultOutcome::BeyondEnd));
    assert_eq!(machine.write(at, 1), Err(FaultOutcome::Protection));
    file.broken.store(true, Ordering::Relaxed);
    let other = machine.map_file(&file, 0, PAGE, Prot::READ, false);
    assert_eq!(machine.read(other), Err(FaultOutcome::Io));
    machine.finish();
}

#[test]
fn a_sequential_pass_over_a_file_reads_more_at_a_time() {
    let machine = machine();
    let file = TestFile::new(3, 8 * MIB, None);
    let at = machine.map_file(&file, 0, 8 * MIB, Prot::READ, false);
    for page in 0..8 * MIB / PAGE {
        assert_eq!(machine.read(at + page * PAGE), Ok(TestFile::byte(3, page * PAGE)));
    }
    assert!(file.reads.load(Ordering::Relaxed) <= 33);
    machine.finish();
}

#[test]
fn a_library_as_the_loader_maps_it() {
    let machine = machine();
    let file = TestFile::new(4, 20 * PAGE, None);
    let base = machine.map_file(&file, 0, 24 * PAGE, Prot::READ, false);
    let fixed = |offset: usize, len: usize, prot, backing| {
        let placement = Placement::Fixed(base + offset);
        machine.space.map(MapRequest { placement, backing, ..MapRequest::anonymous(len, prot) }).expect("map")
    };
    assert_eq!(machine.read(base), Ok(TestFile::byte(4, 0)));
    fixed(4 * PAGE, 8 * PAGE, Prot::READ | Prot::EXEC, file.backing(4 * PAGE, false));
    fixed(12 * PAGE, 4 * PAGE, RW, file.backing(11 * PAGE, false));
    fixed(16 * PAGE, 8 * PAGE, RW, MapBacking::Anonymous);
    assert_eq!(machine.write(base + 12 * PAGE, 200), Ok(()));
    assert_eq!(machine.read(base + 12 * PAGE), Ok(200));
    assert_eq!(machine.read(base + 12 * PAGE + 1), Ok(TestFile::byte(4, 11 * PAGE + 1)));
    assert_eq!(machine.read(base + 23 * PAGE), Ok(0));
    assert_eq!(machine.space.fault(base + 5 * PAGE, FaultAccess::Exec), FaultOutcome::Resolved);
    assert_eq!(machine.space.protect(base + 12 * PAGE, PAGE, Prot::READ), Ok(()));
    assert_eq!(machine.write(base + 12 * PAGE, 1), Err(FaultOutcome::Protection));
    assert_eq!(machine.ranges().len(), 5);
    machine.check_tlbs();
    machine.finish();
}

#[test]
fn shared_mappings_show_the_files_own_frames() {
    let machine = machine();
    let file = TestFile::new(5, 4 * PAGE, Some(machine.frames));
    let one = machine.map_file(&file, 0, 6 * PAGE, RW, true);
    let two = machine.map_file(&file, 2 * PAGE, 2 * PAGE, RW, true);
    assert_eq!(machine.write(one + 3 * PAGE, 77), Ok(()));
    assert_eq!(machine.read(two + PAGE), Ok(77));
    assert_eq!(machine.read(one + 4 * PAGE), Err(FaultOutcome::BeyondEnd));
    let key = |va| machine.space.shared_key(va).expect("shared");
    assert_eq!(key(one + 2 * PAGE + 8), key(two + 8));
    assert_eq!(key(two + 8).offset, 2 * PAGE as u64 + 8);
    assert_eq!(machine.space.stats().shared_bytes, 2 * PAGE);
    assert_eq!(machine.resident(), 0);
    assert_eq!(machine.space.sync(one + PAGE, 2 * PAGE), Ok(()));
    assert_eq!(*file.synced.lock().expect("synced"), [(PAGE as u64, 2 * PAGE as u64)]);
    // The file outlives the mapping until no CPU can reach its frames.
    let weak = Arc::downgrade(&file);
    drop(file);
    assert_eq!(machine.space.unmap(one, 6 * PAGE), Ok(()));
    assert_eq!(machine.space.unmap(two, 2 * PAGE), Ok(()));
    assert!(weak.upgrade().is_some());
    machine.check_tlbs();
    machine.space.reclaim();
    assert!(weak.upgrade().is_none());
    machine.finish();
}

#[test]
fn shared_mappings_of_what_cannot_be_shared() {
    let machine = machine();
    let file = TestFile::new(6, 4 * PAGE, None);
    let request = |prot| MapRequest { backing: file.backing(0, true), ..MapRequest::anonymous(PAGE, prot) };
    assert_eq!(machine.space.map(request(RW)), Err(SpaceError::NotSupported));
    let at = machine.space.map(request(Prot::READ)).expect("snapshot");
    assert_eq!(machine.read(at), Ok(TestFile::byte(6, 0)));
    assert!(machine.space.find(at).expect("mapping").shared);
    assert_eq!(machine.space.protect(at, PAGE, RW), Err(SpaceError::Access));
    machine.finish();
}

#[test]
fn only_memory_that_programs_write_to_counts_as_shared() {
    let machine = machine();
    let file = TestFile::new(5, PAGE, Some(machine.frames));
    machine.map_file(&file, 0, PAGE, RW, false);
    file.kernels_own.store(true, Ordering::Relaxed);
    machine.map_file(&file, 0, PAGE, Prot::READ, true);
    assert!(!machine.space.has_shared());
    file.kernels_own.store(false, Ordering::Relaxed);
    machine.map_file(&file, 0, PAGE, Prot::READ, true);
    assert!(machine.space.has_shared());
    machine.finish();
}

#[test]
fn shared_anonymous_memory_has_keys_of_its_own() {
    let machine = machine();
    let map = || {
        let backing = MapBacking::SharedAnonymous;
        machine.space.map(MapRequest { backing, ..MapRequest::anonymous(4 * PAGE, RW) }).expect("map")
    };
    assert!(!machine.space.has_shared());
    let (one, two) = (map(), map());
    assert!(machine.space.has_shared());
    assert_eq!(machine.write(one, 1), Ok(()));
    assert_ne!(machine.space.shared_key(one), machine.space.shared_key(two));
    assert_eq!(machine.space.protect(one + PAGE, PAGE, Prot::READ), Ok(()));
    assert_eq!(machine.space.shared_key(one + 2 * PAGE).map(|key| key.offset), Some(2 * PAGE as u64));
    assert_eq!(machine.space.advise(one, PAGE, Advice::DontNeed), Ok(()));
    assert_eq!(machine.read(one), Ok(1), "the object keeps its content");
    assert_eq!(machine.space.shared_key(machine.map(PAGE, RW)), None);
    machine.finish();
}

#[test]
fn a_file_that_counts_its_mappings_knows_each_at_once() {
    let machine = machine();
    let file = TestFile::counting(3, 16 * PAGE, machine.frames);
    let at = machine.map_file(&file, 0, 8 * PAGE, RW, true);
    assert_eq!(machine.write(at, 1), Ok(()));
    assert_eq!(file.mappings(), 1);
    machine.space.protect(at + 2 * PAGE, 2 * PAGE, Prot::READ).expect("protect");
    assert_eq!(file.mappings(), 3);
    machine.space.protect(at + 2 * PAGE, 2 * PAGE, RW).expect("protect");
    assert_eq!(file.mappings(), 1);
    let copy = machine.fork().expect("memory");
    assert_eq!(file.mappings(), 2);
    machine.space.unmap(at + PAGE, PAGE).expect("unmap");
    assert_eq!(file.mappings(), 3);
    let request = RemapRequest {
        old: at + 2 * PAGE,
        old_len: 6 * PAGE,
        new_len: 9 * PAGE,
        mode: RemapMode::MayMove,
        limits: Limits::default(),
    };
    machine.space.remap(request).expect("remap");
    assert_eq!(file.mappings(), 3);
    let other = machine.map_file(&file, 8 * PAGE, PAGE, RW, true);
    let fixed = MapRequest { placement: Placement::Fixed(other), ..MapRequest::anonymous(PAGE, RW) };
    machine.space.map(fixed).expect("map");
    assert_eq!(file.mappings(), 3);
    copy.space.clear();
    assert_eq!(file.mappings(), 2);
    machine.space.clear();
    assert_eq!(file.mappings(), 0);
}
