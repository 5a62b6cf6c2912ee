// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The client against a small server, and against answers that make no sense.

mod codec;
mod server;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hadal_hal::memory::frames::{host_read, host_write};
use proptest::collection::vec;
use proptest::prelude::*;

use self::server::{Quirks, TestServer};
use super::codec::NO_TAG;
use super::*;
use crate::errno::Errno;
use crate::flags::{Access, MountFlags, OpenFlags, RenameFlags};
use crate::inode::{Inode, Owner};
use crate::metadata::{FileKind, SetAttr, SetTime, Timespec};
use crate::namespace::{Caller, Follow, Namespace};
use crate::testing::{error, page_cache, tmpfs};
use crate::{OpenFile, Result, SeekFrom};

const ROOT: Caller<'static> = Caller::KERNEL;

struct Setup {
    server: Arc<TestServer>,
    /// The server's own view.
    host: Arc<dyn Inode>,
    ns: Namespace,
}

impl Setup {
    /// `/dir/sub/file` holding "content", `/link` to `dir/sub`.
    fn new(read_only: bool, quirks: Quirks) -> Self {
        let host = tmpfs(1 << 30);
        let sub = host.mkdir(b"dir", 0o755, Owner::default()).unwrap();
        let sub = sub.mkdir(b"sub", 0o755, Owner::default()).unwrap();
        let created = sub.create(b"file", 0o644, Owner::default(), OpenFlags::READ_WRITE).unwrap();
        created.file.write_at(0, b"content").unwrap();
        host.symlink(b"link", b"dir/sub", Owner::default()).unwrap();
        let server = TestServer::new(host.clone(), quirks);
        let options = MountOptions { tree: Vec::new(), uid: 0, read_only, pages: page_cache(4 << 20) };
        let root = mount(server.clone(), &options).unwrap();
        let flags = if read_only { MountFlags::READ_ONLY } else { MountFlags::empty() };
        let ns = Namespace::new(root, flags, "9p", "host");
        server.take_log();
        Self { server, host, ns }
    }

    fn open(&self, path: &[u8], flags: OpenFlags) -> Result<Arc<OpenFile>> {
        self.ns.open(&ROOT, &self.ns.root(), path, flags, 0o640)
    }

    fn find(&self, path: &[u8]) -> Result<Vec<u8>> {
        self.ns.resolve(&ROOT, &self.ns.root(), path, Follow::Yes).map(|place| place.path().to_vec())
    }

    fn exists(&self, path: &[u8]) -> bool {
        self.find(path).is_ok()
    }
}

fn read_all(file: &OpenFile) -> Vec<u8> {
    let mut buffer = vec![0; 1 << 20];
    let count = file.read(&mut buffer).unwrap();
    buffer.truncate(count);
    buffer
}

#[test]
fn a_file_is_opened_and_read_in_few_exchanges() {
    let setup = Setup::new(false, Quirks::default());
    let file = setup.open(b"/dir/sub/file", OpenFlags::read_only()).unwrap();
    assert_eq!(setup.server.take_log(), ["walk", "open"]);
    assert_eq!(file.metadata().unwrap().size, 7);
    assert_eq!(setup.server.take_log(), ["getattr"]);
    assert_eq!(read_all(&file), b"content");
    assert_eq!(setup.server.take_log(), ["read", "read"]);
    drop(file);
    assert_eq!(setup.server.take_log(), ["clunk"]);
    assert_eq!(setup.server.fids(), 1);
    let place = setup.ns.resolve(&ROOT, &setup.ns.root(), b"/dir/sub/file", Follow::Yes).unwrap();
    place.inode().metadata().unwrap();
    drop(place);
    assert_eq!(setup.server.take_log(), ["walk", "getattr"]);
}

#[test]
fn a_read_only_tree_is_remembered() {
    let setup = Setup::new(true, Quirks::default());
    let first = setup.open(b"/link/file", OpenFlags::read_only()).unwrap();
    assert_eq!(setup.server.take_log(), ["walk", "readlink", "walk", "walk", "walk", "open"]);
    let mut start = [0; 3];
    assert_eq!(first.read(&mut start), Ok(3));
    assert_eq!(setup.server.take_log(), ["getattr", "read"]);
    assert_eq!(read_all(&first), b"tent");
    first.metadata().unwrap();
    drop(first);
    assert_eq!(setup.server.take_log(), Vec::<&str>::new());
    let second = setup.open(b"/link/file", OpenFlags::read_only()).unwrap();
    assert_eq!(setup.server.take_log(), ["walk", "open"]);
    assert_eq!(second.read_at(2, &mut start), Ok(3));
    assert_eq!(&start, b"nte");
    assert_eq!(second.read_at(7, &mut start), Ok(0));
    second.inode().metadata().unwrap();
    assert_eq!(setup.server.take_log(), Vec::<&str>::new());
    for _ in 0..2 {
        assert_eq!(error(setup.open(b"/dir/sub/libnone.so", OpenFlags::read_only())), Some(Errno::ENOENT));
    }
    assert_eq!(setup.server.take_log(), ["walk"]);
    assert_eq!(error(setup.open(b"/dir/x", OpenFlags::CREATE)), Some(Errno::EROFS));
}

#[test]
fn errors_are_the_servers() {
    for all_or_nothing_walk in [false, true] {
        let setup = Setup::new(false, Quirks { all_or_nothing_walk, ..Quirks::default() });
        for (path, expected) in [
            (&b"/none"[..], Errno::ENOENT),
            (b"/dir/none", Errno::ENOENT),
            (b"/dir/none/x/y", Errno::ENOENT),
            (b"/dir/sub/file/x", Errno::ENOTDIR),
            (b"/dir/sub/file/x/y", Errno::ENOTDIR),
            (b"/link/none", Errno::ENOENT),
        ] {
            assert_eq!(setup.find(path), Err(expected), "{}", path.escape_ascii());
        }
        assert_eq!(setup.find(b"/link/file").as_deref(), Ok(&b"/dir/sub/file"[..]));
        assert_eq!(setup.find(b"/link/../sub/./file").as_deref(), Ok(&b"/dir/sub/file"[..]));
        let root = setup.ns.root();
        let file = setup.ns.resolve(&ROOT, &root, b"/dir/sub/file", Follow::Yes).unwrap();
        setup.ns.set_attr(&ROOT, &file, &SetAttr::mode(0)).unwrap();
        assert_eq!(error(setup.open(b"/dir/sub/file", OpenFlags::read_only())), Some(Errno::EACCES));
        assert_eq!(file.inode().metadata().unwrap().mode, 0o100000);
        assert_eq!(
            setup.ns.access(&ROOT, &root, b"/dir/sub/file", Access::EXECUTE, Follow::Yes),
            Err(Errno::EACCES)
        );
        assert_eq!(setup.ns.rmdir(&ROOT, &root, b"/dir"), Err(Errno::ENOTEMPTY));
        assert_eq!(setup.ns.unlink(&ROOT, &root, b"/dir"), Err(Errno::EISDIR));
    }
}

#[test]
fn deep_paths_take_several_walks() {
    let setup = Setup::new(false, Quirks::default());
    let mut path = Vec::new();
    for _ in 0..40 {
        path.extend(b"/d");
        setup.ns.mkdir(&ROOT, &setup.ns.root(), &path, 0o755).unwrap();
    }
    setup.server.take_log();
    assert_eq!(setup.find(&path).as_deref(), Ok(&path[..]));
    assert_eq!(setup.server.take_log(), ["walk", "walk", "walk"]);
}

#[test]
fn a_very_deep_directory_is_let_go_without_recursion() {
    for read_only in [false, true] {
        let setup = Setup::new(read_only, Quirks::default());
        let mut inner = setup.host.clone();
        for _ in 0..12_000 {
            inner = inner.mkdir(b"d", 0o755, Owner::default()).unwrap();
        }
        let mut at = setup.ns.root();
        let path = b"d/".repeat(2000);
        for _ in 0..6 {
            at = setup.ns.resolve(&ROOT, &at, &path, Follow::Yes).unwrap();
        }
        assert_eq!(at.path().len(), 24_000);
        assert_eq!(error(setup.ns.resolve(&ROOT, &at, &path, Follow::Yes)), Some(Errno::ENOENT));
        // The server's own tree is taken apart from below.
        drop(inner);
        std::mem::forget(setup.host.clone());
    }
}

#[test]
fn large_transfers_are_split() {
    let setup = Setup::new(false, Quirks { msize: 8192, ..Quirks::default() });
    let data: Vec<u8> = (0..100_000u32).map(|index| (index * 7 % 251) as u8).collect();
    let file = setup.open(b"/big", OpenFlags::READ_WRITE | OpenFlags::CREATE).unwrap();
    assert_eq!(file.write(&data), Ok(data.len()));
    assert_eq!(file.seek(SeekFrom::Start(0)), Ok(0));
    assert_eq!(read_all(&file), data);
    assert_eq!(file.metadata().unwrap().mode, 0o100640);
    let writes = setup.server.take_log().iter().filter(|kind| **kind == "write").count();
    assert_eq!(writes, data.len().div_ceil(4096));
    let again = setup.open(b"/big", OpenFlags::read_only()).unwrap();
    assert_eq!(read_all(&again), data);
}

#[test]
fn create_flags_are_honoured() {
    let setup = Setup::new(false, Quirks::default());
    let create = OpenFlags::CREATE | OpenFlags::WRITE_ONLY;
    assert_eq!(error(setup.open(b"/dir/sub/file", create | OpenFlags::EXCLUSIVE)), Some(Errno::EEXIST));
    let file = setup.open(b"/dir/sub/file", create | OpenFlags::TRUNCATE).unwrap();
    assert_eq!(file.metadata().unwrap().size, 0);
    setup.server.take_log();
    let file = setup.open(b"/dir/sub/new", create | OpenFlags::EXCLUSIVE).unwrap();
    assert_eq!(setup.server.take_log(), ["walk", "walk", "walk", "create"]);
    assert_eq!(file.write(b"12"), Ok(2));
    assert_eq!(file.inode().kind(), FileKind::Regular);
    assert_eq!(file.metadata().unwrap().size, 2);
    assert_eq!(file.inode().metadata().unwrap().size, 2);
}

#[test]
fn appends_go_to_the_end() {
    let setup = Setup::new(false, Quirks::default());
    let flags = OpenFlags::WRITE_ONLY | OpenFlags::APPEND;
    let (one, two) = (setup.open(b"/link/file", flags).unwrap(), setup.open(b"/link/file", flags).unwrap());
    assert_eq!(one.write(b"-1"), Ok(2));
    assert_eq!(two.write(b"-2"), Ok(2));
    assert_eq!(one.seek(SeekFrom::Current(0)), Ok(9));
    assert_eq!(two.seek(SeekFrom::Current(0)), Ok(11));
    assert_eq!(two.seek(SeekFrom::End(0)), Ok(11));
    let reader = setup.open(b"/link/file", OpenFlags::read_only()).unwrap();
    assert_eq!(read_all(&reader), b"content-1-2");
}

/// Another machine, or a program of the host, writes between the question for the length and the write.
#[test]
fn appends_of_strangers_are_not_overwritten() {
    let setup = Setup::new(false, Quirks { strangers_append: true, ..Quirks::default() });
    let flags = OpenFlags::WRITE_ONLY | OpenFlags::APPEND;
    for (name, flags) in [(&b"/dir/sub/file"[..], flags), (b"/dir/sub/new", flags | OpenFlags::CREATE)] {
        let file = setup.open(name, flags).unwrap();
        let before = file.metadata().unwrap().size;
        assert_eq!(file.write(b"one"), Ok(3));
        assert_eq!(file.write_at(0, b"two"), Ok(3));
        let reader = setup.open(name, OpenFlags::read_only()).unwrap();
        assert_eq!(read_all(&reader)[before as usize..], *b"?one?two");
    }
}

#[test]
fn append_can_be_turned_on_and_off() {
    let setup = Setup::new(false, Quirks { forgets_orphans: true, ..Quirks::default() });
    let strange = Setup::new(false, Quirks { strangers_append: true, ..Quirks::default() });
    let (file, reader) = (
        strange.open(b"/dir/sub/file", OpenFlags::READ_WRITE).unwrap(),
        strange.open(b"/dir/sub/file", OpenFlags::read_only()).unwrap(),
    );
    file.set_status(OpenFlags::APPEND);
    assert_eq!(file.write(b"end"), Ok(3));
    file.set_status(OpenFlags::empty());
    assert_eq!(file.write_at(0, b"CON"), Ok(3));
    assert_eq!(read_all(&reader), b"CONtent?end");

    let file = setup.open(b"/dir/sub/file", OpenFlags::READ_WRITE | OpenFlags::APPEND).unwrap();
    assert_eq!(file.write(b"-1"), Ok(2));
    file.set_status(OpenFlags::empty());
    assert_eq!(file.write_at(0, b"C"), Ok(1));
    setup.ns.unlink(&ROOT, &setup.ns.root(), b"/dir/sub/file").unwrap();
    file.set_status(OpenFlags::APPEND);
    assert_eq!(file.write(b"-2"), Ok(2));
    let mut buffer = [0; 20];
    assert_eq!(file.read_at(0, &mut buffer), Ok(11));
    assert_eq!(buffer[..11], *b"Content-1-2");
    // Opened plainly, and asked to append when there is no way to open it again.
    let plain = setup.open(b"/dir/sub/plain", OpenFlags::READ_WRITE | OpenFlags::CREATE).unwrap();
    assert_eq!(plain.write(b"plain"), Ok(5));
    setup.ns.unlink(&ROOT, &setup.ns.root(), b"/dir/sub/plain").unwrap();
    plain.set_status(OpenFlags::APPEND);
    assert_eq!(plain.write_at(0, b"!"), Ok(1));
    assert_eq!(plain.read_at(0, &mut buffer), Ok(6));
    assert_eq!(buffer[..6], *b"plain!");
}

#[test]
fn entries_are_made_moved_and_removed() {
    let setup = Setup::new(false, Quirks::default());
    let (ns, root) = (&setup.ns, setup.ns.root());
    ns.mkdir(&ROOT, &root, b"/new", 0o750).unwrap();
    assert_eq!(ns.mkdir(&ROOT, &root, b"/new", 0o750), Err(Errno::EEXIST));
    ns.symlink(&ROOT, b"../dir", &root, b"/new/l").unwrap();
    assert_eq!(ns.readlink(&ROOT, &root, b"/new/l").as_deref(), Ok(&b"../dir"[..]));
    let file = ns.resolve(&ROOT, &root, b"/new/l/sub/file", Follow::Yes).unwrap();
    ns.link(&ROOT, &file, &root, b"/new/hard").unwrap();
    assert_eq!(file.inode().metadata().unwrap().nlink, 2);
    let plain = RenameFlags::empty();
    let rename = |from: &[u8], to: &[u8], flags| ns.rename(&ROOT, (&root, from), (&root, to), flags);
    assert_eq!(rename(b"/new/hard", b"/moved", plain), Ok(()));
    assert_eq!(rename(b"/moved", b"/dir", RenameFlags::NO_REPLACE), Err(Errno::EEXIST));
    assert_eq!(rename(b"/moved", b"/dir", RenameFlags::EXCHANGE), Err(Errno::EINVAL));
    assert_eq!(rename(b"/moved", b"/free", RenameFlags::NO_REPLACE), Ok(()));
    assert_eq!(ns.unlink(&ROOT, &root, b"/free"), Ok(()));
    assert_eq!(ns.unlink(&ROOT, &root, b"/new/l"), Ok(()));
    assert_eq!(ns.rmdir(&ROOT, &root, b"/new"), Ok(()));
    assert!(!setup.exists(b"/new") && !setup.exists(b"/free") && setup.exists(b"/dir/sub/file"));
    let times = SetAttr {
        mtime: Some(SetTime::At(Timespec { sec: -5, nsec: 999 })),
        atime: Some(SetTime::Now),
        uid: Some(5),
        gid: Some(6),
        ..SetAttr::default()
    };
    ns.set_attr(&ROOT, &file, &times).unwrap();
    let metadata = file.inode().metadata().unwrap();
    assert_eq!((metadata.uid, metadata.gid), (5, 6));
    assert_eq!(metadata.mtime, Timespec { sec: -5, nsec: 999 });
    assert_eq!(metadata.blksize, 65536);
}

#[test]
fn ten_thousand_entries_are_listed_once_each() {
    let setup = Setup::new(false, Quirks::default());
    let many = setup.host.mkdir(b"many", 0o755, Owner::default()).unwrap();
    for index in 0..10_000 {
        let name = format!("entry-{index:05}");
        many.create(name.as_bytes(), 0o644, Owner::default(), OpenFlags::WRITE_ONLY).unwrap();
    }
    let directory = setup.open(b"/many", OpenFlags::DIRECTORY).unwrap();
    let mut names = Vec::new();
    loop {
        let mut room = 700;
        let before = names.len();
        directory
            .readdir(&mut |entry| {
                if room == 0 {
                    return false;
                }
                room -= 1;
                names.push(entry.name.to_vec());
                true
            })
            .unwrap();
        if names.len() == before {
            break;
        }
    }
    assert_eq!(names.len(), 10_002);
    assert_eq!(&names[..2], [b".".to_vec(), b"..".to_vec()]);
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 10_002);
}

#[test]
fn a_file_without_a_name_goes_on_working() {
    for forgets_orphans in [false, true] {
        let setup = Setup::new(false, Quirks { forgets_orphans, ..Quirks::default() });
        let file = setup.open(b"/dir/sub/file", OpenFlags::READ_WRITE).unwrap();
        file.metadata().unwrap();
        setup.ns.unlink(&ROOT, &setup.ns.root(), b"/dir/sub/file").unwrap();
        assert_eq!(file.write_at(7, b" stays"), Ok(6));
        assert_eq!(read_all(&file), b"content stays");
        let metadata = file.metadata().unwrap();
        assert_eq!((metadata.size, metadata.nlink, metadata.mode), (13, 0, 0o100644));
        assert_eq!(file.truncate(100), Ok(()));
        assert_eq!(file.seek(SeekFrom::End(0)), Ok(100));
        file.file().unwrap().fsync(true).unwrap();
        assert_eq!(setup.server.take_log().last(), Some(&"fdatasync"));
        drop(file);
        assert_eq!(setup.server.open_fids(), 0);
    }
}

#[test]
fn a_file_can_be_opened_again_through_its_place() {
    let setup = Setup::new(false, Quirks::default());
    let file = setup.open(b"/dir/sub/file", OpenFlags::read_only()).unwrap();
    let again = setup.ns.open_at(&ROOT, file.location().clone(), OpenFlags::read_only()).unwrap();
    assert_eq!(read_all(&again), b"content");
    // Another file under the old name is not mistaken for it.
    setup.ns.unlink(&ROOT, &setup.ns.root(), b"/dir/sub/file").unwrap();
    setup.open(b"/dir/sub/file", OpenFlags::CREATE).unwrap();
    let stale = setup.ns.open_at(&ROOT, file.location().clone(), OpenFlags::read_only());
    assert_eq!(error(stale), Some(Errno::ESTALE));
}

#[test]
fn pages_come_from_the_file() {
    let setup = Setup::new(true, Quirks::default());
    let file = setup.open(b"/dir/sub/file", OpenFlags::read_only()).unwrap();
    let file = file.file().unwrap().clone();
    assert!(!file.maps_shared_writable());
    let source = file.page_source().unwrap();
    let mut page = [1; 4096];
    assert_eq!(source.read(0, &mut page), Ok(7));
    assert_eq!(&page[..7], b"content");
    assert_eq!(source.read(4096, &mut page), Ok(0));
    let directory = setup.open(b"/dir", OpenFlags::read_only()).unwrap();
    assert!(directory.file().unwrap().clone().page_source().is_none());
}

#[test]
fn mappings_reads_and_writes_agree() {
    let setup = Setup::new(false, Quirks::default());
    let (file, other) = (
        setup.open(b"/dir/sub/file", OpenFlags::READ_WRITE).unwrap(),
        setup.open(b"/link/file", OpenFlags::READ_WRITE).unwrap(),
    );
    assert_eq!(file.truncate(5000), Ok(()));
    let source = file.file().unwrap().clone().page_source().unwrap();
    let second = other.file().unwrap().clone().page_source().unwrap();
    let frame = source.shared_frame(0, true).unwrap().unwrap().phys();
    assert_eq!(second.shared_frame(0, true).unwrap().unwrap().phys(), frame, "one copy for both");
    assert_eq!(second.shared_frame(2, true), Ok(None));
    host_write(frame + 3, b"TENT");
    source.mark_written(0);
    assert_eq!(read_all(&file)[..7], *b"conTENT");
    let on_host = |offset: u64, len: usize| {
        let mut buffer = vec![0; len];
        let inode =
            setup.host.lookup(b"dir").and_then(|dir| dir.lookup(b"sub")).and_then(|sub| sub.lookup(b"file"));
        let count =
            inode.unwrap().open(OpenFlags::read_only()).unwrap().read_at(offset, &mut buffer).unwrap();
        buffer.truncate(count);
        buffer
    };
    assert_eq!(on_host(0, 7), b"content");
    // A write is seen by the mapping, and does not bring the mapping's own bytes to the host.
    assert_eq!(other.write_at(0, b"CON"), Ok(3));
    let mut bytes = [0; 7];
    host_read(frame, &mut bytes);
    assert_eq!((&bytes, on_host(0, 7)), (b"CONTENT", b"CONtent".to_vec()));
    other.set_status(OpenFlags::APPEND);
    assert_eq!(other.write(b"end"), Ok(3));
    let tail = source.shared_frame(1, true).unwrap().unwrap().phys();
    host_read(tail + 5000 - 4096, &mut bytes);
    assert_eq!(bytes, *b"end\0\0\0\0");
    assert_eq!(source.sync(0, 4096), Ok(()));
    assert_eq!(on_host(0, 7), b"CONTENT");
    // Nothing is written behind the end, and what is cut off is gone.
    host_write(tail, &[7; 4096]);
    source.mark_written(1);
    assert_eq!(file.truncate(4100), Ok(()));
    host_read(tail, &mut bytes);
    assert_eq!(bytes, [7, 7, 7, 7, 0, 0, 0]);
    drop((source, second));
    assert_eq!(on_host(4090, 100), [0, 0, 0, 0, 0, 0, 7, 7, 7, 7]);
    // Without mappings the host is asked again.
    setup.server.take_log();
    assert_eq!(file.read_at(0, &mut bytes), Ok(7));
    assert_eq!(setup.server.take_log(), ["read"]);
}

#[test]
fn unused_fids_are_given_back_in_batches() {
    for read_only in [false, true] {
        let setup = Setup::new(read_only, Quirks::default());
        for _ in 0..1000 {
            setup.open(b"/link/file", OpenFlags::read_only()).unwrap();
            let _ = setup.open(b"/dir/sub/file/x", OpenFlags::read_only());
            let _ = setup.open(b"/none/x", OpenFlags::CREATE);
        }
        assert!(setup.server.fids() < 140, "{}", setup.server.fids());
    }
}

#[test]
fn caches_can_be_let_go() {
    let setup = Setup::new(true, Quirks::default());
    let place = setup.ns.resolve(&ROOT, &setup.ns.root(), b"/dir/sub/file", Follow::Yes).unwrap();
    let node = Arc::downgrade(place.inode());
    drop(place);
    assert!(node.upgrade().is_some());
    setup.ns.release_caches();
    assert!(node.upgrade().is_none());
    assert!(setup.exists(b"/link/file"));
}

/// A server that answers from a script: each answer is a type and a body, under the tag of the request.
struct Scripted {
    answers: Vec<(u8, Vec<u8>)>,
    next: AtomicUsize,
}

impl Transport for Scripted {
    fn msize_limit(&self) -> usize {
        65536
    }

    fn request(&self, request: &[u8], reply: &mut [u8]) -> std::result::Result<usize, TransportError> {
        let (kind, tag) = (request[4], [request[5], request[6]]);
        let (answer, body) = if tag == NO_TAG.to_le_bytes() {
            (101, b"\x00\x00\x01\x00\x08\x009P2000.L".to_vec())
        } else if kind == 104 {
            (105, vec![0x80; 13])
        } else {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let (answer, body) = self.answers.get(index).cloned().ok_or(TransportError::Closed)?;
            // Mostly the right type, so that the bodies are looked at.
            (if answer < 200 { kind + 1 } else { answer - 100 }, body)
        };
        let mut bytes = (body.len() as u32 + 7).to_le_bytes().to_vec();
        bytes.push(answer);
        bytes.extend(tag);
        bytes.extend(body);
        reply.get_mut(..bytes.len()).ok_or(TransportError::TooLarge)?.copy_from_slice(&bytes);
        Ok(bytes.len())
    }
}

proptest! {
    #[test]
    fn nonsense_from_the_server_is_an_error(
        answers in vec((any::<u8>(), vec(any::<u8>(), 0..200)), 0..12),
        read_only: bool,
    ) {
        let server = Arc::new(Scripted { answers, next: AtomicUsize::new(0) });
        let options = MountOptions { tree: Vec::new(), uid: 0, read_only, pages: page_cache(4 << 20) };
        let root = mount(server, &options).unwrap();
        let ns = Namespace::new(root, MountFlags::empty(), "9p", "host");
        let at = ns.root();
        for path in [&b"/"[..], b"/a/b/c", b"/x"] {
            if let Ok(file) = ns.open(&ROOT, &at, path, OpenFlags::read_only(), 0) {
                let _ = file.read(&mut [0; 100]);
                let _ = file.metadata();
                let _ = file.readdir(&mut |_| true);
            }
            let _ = ns.mkdir(&ROOT, &at, path, 0o777);
            let _ = ns.readlink(&ROOT, &at, path);
        }
    }
}
