// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is written through shared mappings is known to be written, once; what a file has lost is gone.

use super::super::*;
use super::machine::*;

const LEN: usize = 8 * PAGE;

fn shared() -> (Machine, std::sync::Arc<TestFile>, usize) {
    let machine = Machine::new(96, 2);
    let file = TestFile::new(5, LEN, Some(machine.frames));
    let at = machine.map_file(&file, 0, LEN, RW, true);
    (machine, file, at)
}

#[test]
fn each_written_page_is_reported_once() {
    let (machine, file, at) = shared();
    let other = machine.map_file(&file, 0, LEN, RW, true);
    let read_only = machine.map_file(&file, 0, LEN, Prot::READ, true);
    assert_eq!(machine.read(at + PAGE), Ok(0));
    assert_eq!(machine.space.sync_all(), Ok(()));
    assert_eq!(file.take_written(), []);
    assert_eq!(machine.write_on(1, at + 2 * PAGE, 7), Ok(()));
    assert_eq!(machine.write(other + 3 * PAGE, 8), Ok(()));
    assert_eq!(machine.read(read_only + 3 * PAGE), Ok(8));
    assert_eq!(machine.space.sync_file(SourceId { dev: 9, ino: 6 }), Ok(()));
    assert_eq!(file.take_written(), []);
    assert_eq!(machine.space.sync_file(SourceId { dev: 9, ino: 5 }), Ok(()));
    let mut written = file.take_written();
    written.sort_unstable();
    assert_eq!(written, [2, 3]);
    assert_eq!(machine.space.sync_all(), Ok(()));
    assert_eq!(file.take_written(), []);
    // The CPU that wrote before has to say so again.
    assert_eq!(machine.write_on(1, at + 2 * PAGE, 9), Ok(()));
    assert_eq!(machine.space.sync(at + PAGE, 2 * PAGE), Ok(()));
    assert_eq!(file.take_written(), [2]);
    drop(file);
    machine.finish();
}

#[test]
fn pages_that_go_away_are_reported_and_brought_home() {
    let (machine, file, at) = shared();
    let synced = || std::mem::take(&mut *file.synced.lock().expect("synced")).len();
    assert_eq!(machine.write(at + PAGE, 1), Ok(()));
    assert_eq!(machine.space.unmap(at, 2 * PAGE), Ok(()));
    assert_eq!((file.take_written(), synced()), (vec![1], 1));
    assert_eq!(machine.write(at + 2 * PAGE, 2), Ok(()));
    assert_eq!(machine.space.advise(at + 2 * PAGE, PAGE, Advice::DontNeed), Ok(()));
    assert_eq!((file.take_written(), synced()), (vec![2], 1));
    assert_eq!(machine.write(at + 3 * PAGE, 3), Ok(()));
    machine.map_at(at + 3 * PAGE, PAGE, RW);
    assert_eq!((file.take_written(), synced()), (vec![3], 1));
    // Neither a move nor a change of rights forgets.
    assert_eq!(machine.write(at + 5 * PAGE, 5), Ok(()));
    let request = RemapRequest {
        old: at + 4 * PAGE,
        old_len: 4 * PAGE,
        new_len: 16 * PAGE,
        mode: RemapMode::Fixed(at - 64 * PAGE),
        limits: Limits::default(),
    };
    let moved = machine.space.remap(request).expect("moved");
    assert_eq!(machine.space.protect(moved, 4 * PAGE, Prot::READ), Ok(()));
    assert_eq!((file.take_written(), synced()), (vec![], 0));
    assert_eq!(machine.space.sync(moved, 4 * PAGE), Ok(()));
    assert_eq!((file.take_written(), synced()), (vec![5], 1));
    drop(file);
    machine.finish();
}

#[test]
fn pages_behind_the_end_of_a_file_are_gone() {
    let (machine, file, at) = shared();
    let private = machine.map_file(&file, 0, LEN, RW, false);
    for page in 0..8 {
        assert_eq!(machine.write(at + page * PAGE, page as u8), Ok(()));
        assert!(machine.read(private + page * PAGE).is_ok());
    }
    file.set_len(3 * PAGE + 1);
    machine.space.file_ends_at(SourceId { dev: 9, ino: 5 }, 3 * PAGE as u64 + 1);
    assert_eq!(machine.read(at + 3 * PAGE), Ok(3));
    assert_eq!(machine.read(at + 4 * PAGE), Err(FaultOutcome::BeyondEnd));
    assert_eq!(machine.read(private + 4 * PAGE), Err(FaultOutcome::BeyondEnd));
    assert!(machine.read(private + 3 * PAGE).is_ok());
    machine.check_tlbs();
    drop(file);
    machine.finish();
}

/// A private mapping that cannot be written shows the file's own frames, until it can be.
#[test]
fn private_mappings_share_until_they_are_writable() {
    let (machine, file, at) = shared();
    assert_eq!(machine.write(at + PAGE, 7), Ok(()));
    let private = machine.map_file(&file, 0, LEN, Prot::READ, false);
    assert_eq!(machine.read(private + PAGE), Ok(7));
    assert_eq!(machine.resident(), 0);
    assert_eq!(machine.write(at + PAGE, 8), Ok(()));
    assert_eq!(machine.read(private + PAGE), Ok(8));
    assert_eq!(machine.space.protect(private, 4 * PAGE, RW), Ok(()));
    assert_eq!(machine.write(private + PAGE, 9), Ok(()));
    assert_eq!(machine.read(at + PAGE), Ok(8), "the file does not change");
    assert_eq!(machine.resident(), 4 * PAGE);
    assert_eq!(machine.ranges().len(), 3);
    assert_eq!(machine.space.protect(private, 4 * PAGE, Prot::READ), Ok(()));
    assert_eq!(machine.read(private + PAGE), Ok(9));
    assert_eq!(machine.ranges().len(), 3, "copies do not join what is shared");
    machine.check_tlbs();
    drop(file);
    machine.finish();
}
