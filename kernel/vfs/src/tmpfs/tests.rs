// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tests of the file system in memory.

mod seals;

use std::sync::Arc;

use hadal_hal::memory::frames::{Block, host_read, host_write};
use proptest::prelude::*;

use super::*;
use crate::file::{AllocateMode, Destination};
use crate::inode::Inode;
use crate::testing::{TestFrames, error, tmpfs};

const ME: Owner = Owner { uid: 1, gid: 2 };

fn create(root: &Arc<dyn Inode>, name: &[u8]) -> (Arc<dyn Inode>, Arc<dyn File>) {
    let created = root.create(name, 0o644, ME, OpenFlags::READ_WRITE).unwrap();
    (created.inode, created.file)
}

fn names(directory: &Arc<dyn Inode>, cookie: u64, limit: usize) -> (Vec<String>, u64) {
    let file = directory.clone().open(OpenFlags::read_only()).unwrap();
    let (mut names, mut next) = (Vec::new(), cookie);
    file.readdir(cookie, &mut |entry| {
        if names.len() == limit {
            return false;
        }
        names.push(String::from_utf8(entry.name.to_vec()).unwrap());
        next = entry.next_cookie;
        true
    })
    .unwrap();
    (names, next)
}

/// Stands in for program memory.
struct Bytes(Vec<u8>);

impl Destination for Bytes {
    fn put(&mut self, page: &Block, within: usize, len: usize) -> Result<()> {
        let start = self.0.len();
        self.put_zeros(len)?;
        page.read(within, &mut self.0[start..]);
        Ok(())
    }

    fn put_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn put_zeros(&mut self, len: usize) -> Result<()> {
        self.0.resize(self.0.len() + len, 0);
        Ok(())
    }
}

#[test]
fn pages_are_read_as_far_as_there_is_room() {
    struct Full(usize);
    impl Destination for Full {
        fn put(&mut self, _page: &Block, _within: usize, len: usize) -> Result<()> {
            self.put_zeros(len)
        }
        fn put_bytes(&mut self, bytes: &[u8]) -> Result<()> {
            self.put_zeros(bytes.len())
        }
        fn put_zeros(&mut self, len: usize) -> Result<()> {
            self.0 = self.0.checked_sub(len).ok_or(Errno::EFAULT)?;
            Ok(())
        }
    }
    let (_, file) = create(&tmpfs(1 << 20), b"f");
    file.write_at(0, &[1; 10_000]).unwrap();
    assert_eq!(file.read_direct(0, 10_000, &mut Full(9000)), Some(Ok(8192)));
    assert_eq!(file.read_direct(0, 10_000, &mut Full(0)), Some(Err(Errno::EFAULT)));
    assert_eq!(file.read_direct(10_000, 1, &mut Full(0)), Some(Ok(0)));
}

#[test]
fn holes_read_as_zeros_and_cost_nothing() {
    let frames = TestFrames::leak(8);
    let root = TmpFs::create(frames, 1 << 20, 0o755, ME).unwrap();
    let (inode, file) = create(&root, b"f");
    assert_eq!(file.write_at(1 << 30, b"end"), Ok(3));
    assert_eq!(frames.in_use(), 1);
    let metadata = inode.metadata().unwrap();
    assert_eq!((metadata.size, metadata.blocks), ((1 << 30) + 3, 8));
    let mut buffer = [9; 8];
    assert_eq!(file.read_at((1 << 30) - 4, &mut buffer), Ok(7));
    assert_eq!(&buffer[..7], b"\0\0\0\0end");
    assert_eq!(file.read_at(1 << 40, &mut buffer), Ok(0));
}

#[test]
fn shortening_and_growing_shows_zeros() {
    let frames = TestFrames::leak(8);
    let root = TmpFs::create(frames, 1 << 20, 0o755, ME).unwrap();
    let (_, file) = create(&root, b"f");
    file.write_at(0, &[7; 10000]).unwrap();
    file.truncate(5000).unwrap();
    assert_eq!(frames.in_use(), 2);
    file.truncate(10000).unwrap();
    let mut buffer = [1; 10000];
    assert_eq!(file.read_at(0, &mut buffer), Ok(10000));
    assert!(buffer[..5000].iter().all(|&byte| byte == 7));
    assert!(buffer[5000..].iter().all(|&byte| byte == 0));
    assert_eq!(file.truncate(u64::MAX), Err(Errno::EFBIG));
}

#[test]
fn the_limit_is_enospc() {
    let frames = TestFrames::leak(16);
    let root = TmpFs::create(frames, 3 * 4096, 0o755, ME).unwrap();
    let (_, file) = create(&root, b"f");
    assert_eq!(file.write_at(0, &[1; 5 * 4096]), Ok(3 * 4096));
    assert_eq!(file.write_at(3 * 4096, &[1]), Err(Errno::ENOSPC));
    assert_eq!(file.write_at(0, &[2; 4096]), Ok(4096));
    let numbers = root.statfs().unwrap();
    assert_eq!((numbers.blocks, numbers.blocks_free), (3, 0));
    file.truncate(0).unwrap();
    assert_eq!(file.allocate(AllocateMode::Extend, 0, 4 * 4096), Err(Errno::ENOSPC));
    assert_eq!(frames.in_use(), 0);
    assert_eq!(file.allocate(AllocateMode::Extend, 100, 8192), Ok(()));
    assert_eq!((file.size(), frames.in_use()), (Ok(8292), 3));
    assert_eq!(file.allocate(AllocateMode::KeepSize, 8292, 1000), Ok(()));
    assert_eq!(file.size(), Ok(8292));
}

#[test]
fn inodes_are_limited_too() {
    let root = tmpfs(4096);
    let made = (0..2000).find_map(|index| error(root.mkdir(format!("d{index}").as_bytes(), 0o755, ME)));
    assert_eq!(made, Some(Errno::ENOSPC));
    assert_eq!(root.statfs().unwrap().files_free, 0);
    root.rmdir(b"d7").unwrap();
    assert!(root.mkdir(b"again", 0o755, ME).is_ok());
}

#[test]
fn memory_that_is_out_is_enospc() {
    let frames = TestFrames::leak(2);
    let root = TmpFs::create(frames, 1 << 20, 0o755, ME).unwrap();
    let (_, file) = create(&root, b"f");
    assert_eq!(file.write_at(0, &[1; 3 * 4096]), Ok(2 * 4096));
    assert_eq!(file.allocate(AllocateMode::Extend, 0, 4 * 4096), Err(Errno::ENOSPC));
    assert_eq!(file.write_at(9000, &[1]), Err(Errno::ENOSPC));
}

#[test]
fn punching_frees_whole_pages_only() {
    let frames = TestFrames::leak(8);
    let root = TmpFs::create(frames, 1 << 20, 0o755, ME).unwrap();
    let (_, file) = create(&root, b"f");
    file.write_at(0, &[7; 5 * 4096]).unwrap();
    file.allocate(AllocateMode::PunchHole, 4000, 9000).unwrap();
    assert_eq!((file.size(), frames.in_use()), (Ok(5 * 4096), 3));
    file.allocate(AllocateMode::PunchHole, 10, 20).unwrap();
    let mut buffer = vec![1; 5 * 4096];
    file.read_at(0, &mut buffer).unwrap();
    for (index, byte) in buffer.iter().enumerate() {
        let hole = (10..30).contains(&index) || (4000..13000).contains(&index);
        assert_eq!(*byte, if hole { 0 } else { 7 }, "{index}");
    }
}

#[test]
fn mappings_share_the_file_and_keep_its_frames() {
    let frames = TestFrames::leak(8);
    let root = TmpFs::create(frames, 1 << 20, 0o755, ME).unwrap();
    let (_, file) = create(&root, b"f");
    file.truncate(6000).unwrap();
    assert!(file.maps_shared_writable());
    let source = file.clone().page_source().unwrap();
    let pa = source.shared_frame(1, true).unwrap().unwrap().phys();
    assert_eq!(source.shared_frame(2, true), Ok(None));
    assert_eq!(source.shared_frame(1, false).unwrap().unwrap().phys(), pa);
    host_write(pa + 4, b"mapped");
    let mut buffer = [0; 6];
    file.read_at(4100, &mut buffer).unwrap();
    assert_eq!(&buffer, b"mapped");
    file.write_at(4096, b"file").unwrap();
    host_read(pa, &mut buffer);
    assert_eq!(&buffer, b"filema");
    file.truncate(0).unwrap();
    root.unlink(b"f").unwrap();
    drop(file);
    assert_eq!(frames.in_use(), 1);
    assert_eq!(source.shared_frame(1, true), Ok(None));
    drop(source);
    assert_eq!(frames.in_use(), 0);
}

#[test]
fn an_unlinked_open_file_lives_on() {
    let frames = TestFrames::leak(8);
    let root = TmpFs::create(frames, 1 << 20, 0o755, ME).unwrap();
    let (inode, file) = create(&root, b"f");
    file.write_at(0, b"still here").unwrap();
    root.unlink(b"f").unwrap();
    assert_eq!(inode.metadata().unwrap().nlink, 0);
    assert_eq!(root.link(b"again", &inode), Err(Errno::ENOENT));
    let mut buffer = [0; 10];
    assert_eq!(file.read_at(0, &mut buffer), Ok(10));
    drop((inode, file));
    assert_eq!(frames.in_use(), 0);
}

#[test]
fn listing_survives_removals() {
    let root = tmpfs(1 << 20);
    for index in 0..10 {
        create(&root, format!("f{index}").as_bytes());
    }
    let (first, cookie) = names(&root, 0, 5);
    assert_eq!(first, [".", "..", "f0", "f1", "f2"]);
    for name in [b"f0", b"f2", b"f3"] {
        root.unlink(name).unwrap();
    }
    create(&root, b"late");
    let (rest, end) = names(&root, cookie, 100);
    assert_eq!(rest, ["f4", "f5", "f6", "f7", "f8", "f9", "late"]);
    assert_eq!(names(&root, end, 100).0.len(), 0);
}

#[test]
fn link_counts_follow_the_tree() {
    let root = tmpfs(1 << 20);
    let nlink = |inode: &Arc<dyn Inode>| inode.metadata().unwrap().nlink;
    let a = root.mkdir(b"a", 0o755, ME).unwrap();
    let b = root.mkdir(b"b", 0o755, ME).unwrap();
    let sub = a.mkdir(b"sub", 0o755, ME).unwrap();
    assert_eq!((nlink(&root), nlink(&a), nlink(&b), nlink(&sub)), (4, 3, 2, 2));
    a.rename(b"sub", &b, b"moved", RenameFlags::empty()).unwrap();
    assert_eq!((nlink(&a), nlink(&b)), (2, 3));
    b.mkdir(b"empty", 0o755, ME).unwrap();
    b.rename(b"moved", &b, b"empty", RenameFlags::empty()).unwrap();
    assert_eq!(nlink(&b), 3);
    assert_eq!(b.lookup(b"empty").unwrap().identity(), sub.identity());
    assert_eq!(sub.rename(b"x", &root, b"y", RenameFlags::empty()), Err(Errno::ENOENT));
    b.rmdir(b"empty").unwrap();
    assert_eq!(nlink(&sub), 0);
    assert_eq!(error(sub.mkdir(b"x", 0o755, ME)), Some(Errno::ENOENT));
    let (file, _) = create(&a, b"f");
    root.link(b"g", &file).unwrap();
    assert_eq!(nlink(&file), 2);
    a.rename(b"f", &root, b"g", RenameFlags::empty()).unwrap();
    assert_eq!((nlink(&file), a.lookup(b"f").is_ok()), (2, true));
    let other = tmpfs(1 << 20);
    assert_eq!(other.link(b"h", &file), Err(Errno::EXDEV));
    assert_eq!(root.rename(b"g", &other, b"h", RenameFlags::empty()), Err(Errno::EXDEV));
}

#[test]
fn a_directory_cannot_go_below_itself() {
    let root = tmpfs(1 << 20);
    let a = root.mkdir(b"a", 0o755, ME).unwrap();
    let b = a.mkdir(b"b", 0o755, ME).unwrap();
    assert_eq!(root.rename(b"a", &b, b"x", RenameFlags::empty()), Err(Errno::EINVAL));
    assert_eq!(root.rename(b"a", &a, b"x", RenameFlags::empty()), Err(Errno::EINVAL));
    create(&root, b"f");
    assert_eq!(b.rename(b"x", &root, b"a", RenameFlags::EXCHANGE), Err(Errno::ENOENT));
    b.mkdir(b"x", 0o755, ME).unwrap();
    assert_eq!(b.rename(b"x", &root, b"a", RenameFlags::EXCHANGE), Err(Errno::EINVAL));
}

/// What a file should look like after a series of changes.
#[derive(Clone, Debug)]
enum Step {
    Write(u16, Vec<u8>),
    Truncate(u16),
    Punch(u16, u16),
    Zero(u16, u16),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0u16..20000, proptest::collection::vec(any::<u8>(), 0..9000))
            .prop_map(|(at, data)| Step::Write(at, data)),
        (0u16..30000).prop_map(Step::Truncate),
        (0u16..30000, 0u16..20000).prop_map(|(at, len)| Step::Punch(at, len)),
        (0u16..30000, 0u16..20000).prop_map(|(at, len)| Step::Zero(at, len)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn content_matches_a_plain_buffer(steps in proptest::collection::vec(step(), 1..20)) {
        let root = tmpfs(1 << 20);
        let (_, file) = create(&root, b"f");
        let mut model: Vec<u8> = Vec::new();
        for step in steps {
            match step {
                Step::Write(at, data) => {
                    let end = usize::from(at) + data.len();
                    if !data.is_empty() && model.len() < end {
                        model.resize(end, 0);
                    }
                    prop_assert_eq!(file.write_at(u64::from(at), &data), Ok(data.len()));
                    if !data.is_empty() {
                        model[usize::from(at)..end].copy_from_slice(&data);
                    }
                }
                Step::Truncate(size) => {
                    file.truncate(u64::from(size)).unwrap();
                    model.resize(usize::from(size), 0);
                }
                Step::Punch(at, len) | Step::Zero(at, len) => {
                    let zero = matches!(step, Step::Zero(..));
                    let mode = if zero { AllocateMode::ZeroRange } else { AllocateMode::PunchHole };
                    file.allocate(mode, u64::from(at), u64::from(len)).unwrap();
                    let (start, end) = (usize::from(at), usize::from(at) + usize::from(len));
                    if zero && model.len() < end {
                        model.resize(end, 0);
                    }
                    let (start, end) = (start.min(model.len()), end.min(model.len()));
                    model[start..end].fill(0);
                }
            }
            let mut content = vec![1; model.len() + 10];
            let count = file.read_at(0, &mut content).unwrap();
            prop_assert_eq!(&content[..count], &model[..]);
            for (offset, len) in [(0, 40_000), (1, 4095), (4096, 4096), (5000, 9000), (model.len(), 1)] {
                let mut out = Bytes(Vec::new());
                let count = file.read_direct(offset as u64, len, &mut out).unwrap().unwrap();
                let behind = model.get(offset..).unwrap_or_default();
                prop_assert_eq!(&out.0[..], &behind[..behind.len().min(len)]);
                prop_assert_eq!(count, out.0.len());
            }
        }
    }
}
