// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Files that are sealed.

use super::*;

/// A file of 5000 bytes that may be sealed.
fn sealable() -> Arc<dyn File> {
    let root =
        TmpFs::create_with(TestFrames::leak(64), 64 * 4096, 0o700, ME, AccessTimes::Strict, Seals::empty());
    let (_, file) = create(&root.unwrap(), b"file");
    file.truncate(5000).unwrap();
    file
}

#[test]
fn only_files_that_say_so_can_be_sealed() {
    let root = tmpfs(1 << 20);
    let (_, file) = create(&root, b"file");
    assert_eq!(file.seals().unwrap(), Seals::SEAL);
    assert_eq!(error(file.add_seals(Seals::GROW)), Some(Errno::EPERM));
    let directory = root.open(OpenFlags::read_only()).unwrap();
    assert_eq!(error(directory.seals()), Some(Errno::EINVAL));
    assert_eq!(error(directory.add_seals(Seals::GROW)), Some(Errno::EINVAL));
}

#[test]
fn the_length_is_sealed_in_one_direction_or_both() {
    let file = sealable();
    file.add_seals(Seals::GROW).unwrap();
    for (at, len) in [(5000, 1), (4096, 905), (6000, 1)] {
        assert_eq!(error(file.write_at(at, &vec![1; len])), Some(Errno::EPERM), "{at}");
    }
    // Whole pages before are written.
    assert_eq!(file.write_at(4000, &[1; 1001]).unwrap(), 96);
    assert_eq!(file.write_at(4000, &[1; 1000]).unwrap(), 1000);
    assert_eq!(error(file.append(&[1])), Some(Errno::EPERM));
    assert_eq!(file.append(&[]).unwrap().1, 0);
    assert_eq!(error(file.truncate(5001)), Some(Errno::EPERM));
    for mode in [AllocateMode::Extend, AllocateMode::KeepSize, AllocateMode::ZeroRange] {
        assert_eq!(error(file.allocate(mode, 0, 5001)), Some(Errno::EPERM));
    }
    let mut byte = [0];
    assert_eq!((file.read_at(4000, &mut byte).unwrap(), byte), (1, [1]));
    file.truncate(4999).unwrap();
    file.add_seals(Seals::SHRINK).unwrap();
    assert_eq!(error(file.truncate(4998)), Some(Errno::EPERM));
    file.truncate(4999).unwrap();
    assert_eq!(file.seals().unwrap(), Seals::GROW | Seals::SHRINK);
}

#[test]
fn content_is_sealed_when_nobody_has_it_for_writing() {
    let file = sealable();
    let (reader, writer) = (file.clone().page_source(), file.clone().writable_page_source().unwrap());
    assert!(reader.is_some() && writer.is_some());
    assert_eq!(error(file.add_seals(Seals::WRITE | Seals::GROW)), Some(Errno::EBUSY));
    assert_eq!(file.seals().unwrap(), Seals::empty());
    file.add_seals(Seals::FUTURE_WRITE).unwrap();
    assert_eq!(error(file.write_at(0, &[1])), Some(Errno::EPERM));
    assert_eq!(error(file.allocate(AllocateMode::PunchHole, 0, 10)), Some(Errno::EPERM));
    assert_eq!(file.clone().writable_page_source().err(), Some(Errno::EPERM));
    assert_eq!(error(file.add_seals(Seals::WRITE)), Some(Errno::EBUSY));
    drop(writer);
    file.add_seals(Seals::WRITE | Seals::SEAL).unwrap();
    assert_eq!(error(file.add_seals(Seals::empty())), Some(Errno::EPERM));
    // The length is not content.
    file.truncate(6000).unwrap();
}
