// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tests of synthetic file systems and of `/dev`, which is one.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use super::*;
use crate::errno::Errno;
use crate::flags::{MountFlags, OpenFlags};
use crate::inode::{Inode, Owner};
use crate::metadata::FileKind;
use crate::namespace::{Caller, Follow, Namespace};
use crate::testing::{USER, error};
use crate::{OpenFile, Result, SeekFrom, devfs};

const ROOT: Caller<'static> = Caller::KERNEL;

fn namespace(root: Arc<Directory>) -> Namespace {
    Namespace::new(root, MountFlags::empty(), "proc", "proc")
}

fn open(ns: &Namespace, path: &[u8], flags: OpenFlags) -> Result<Arc<OpenFile>> {
    ns.open(&ROOT, &ns.root(), path, flags, 0o666)
}

fn read(ns: &Namespace, path: &[u8]) -> Result<Vec<u8>> {
    let file = open(ns, path, OpenFlags::read_only())?;
    let mut buffer = vec![0; 100];
    let count = file.read(&mut buffer)?;
    buffer.truncate(count);
    Ok(buffer)
}

fn names(ns: &Namespace, path: &[u8]) -> Vec<String> {
    let mut names = Vec::new();
    let file = open(ns, path, OpenFlags::DIRECTORY).unwrap();
    file.readdir(&mut |entry| {
        names.push(String::from_utf8(entry.name.to_vec()).unwrap());
        true
    })
    .unwrap();
    names
}

#[test]
fn content_is_made_at_open() {
    let root = Directory::root(0x9fa0, Owner::default());
    let count = AtomicU32::new(0);
    root.file("sys/count", move || Ok(format!("{}\n", count.fetch_add(1, Ordering::Relaxed)).into_bytes()));
    root.text("sys/fixed", "0-3\n");
    root.file("sys/broken", || Err(Errno::ENODEV));
    let ns = namespace(root);
    let first = open(&ns, b"/sys/count", OpenFlags::read_only()).unwrap();
    assert_eq!(read(&ns, b"/sys/count").as_deref(), Ok(&b"1\n"[..]));
    let mut buffer = [0; 10];
    assert_eq!(first.read(&mut buffer), Ok(2));
    assert_eq!(&buffer[..2], b"0\n");
    assert_eq!(first.read(&mut buffer), Ok(0));
    assert_eq!(first.metadata().unwrap().size, 0);
    assert_eq!(read(&ns, b"/sys/fixed").as_deref(), Ok(&b"0-3\n"[..]));
    assert_eq!(read(&ns, b"/sys/broken"), Err(Errno::ENODEV));
    assert_eq!(names(&ns, b"/sys"), [".", "..", "broken", "count", "fixed"]);
    assert_eq!(error(open(&ns, b"/sys/fixed", OpenFlags::WRITE_ONLY)), Some(Errno::EACCES));
}

#[test]
fn inode_numbers_are_stable_and_distinct() {
    let root = Directory::root(0x9fa0, Owner { uid: 7, gid: 8 });
    root.text("a/x", "");
    root.text("b/x", "");
    let ns = namespace(root);
    let id = |path: &[u8]| ns.resolve(&ROOT, &ns.root(), path, Follow::Yes).unwrap().inode().identity();
    assert_eq!(id(b"/a/x"), id(b"/a/x"));
    let all = [id(b"/"), id(b"/a"), id(b"/b"), id(b"/a/x"), id(b"/b/x")];
    for (index, one) in all.iter().enumerate() {
        assert!(all[..index].iter().all(|other| other != one));
    }
    let metadata = ns.resolve(&ROOT, &ns.root(), b"/a", Follow::Yes).unwrap().inode().metadata().unwrap();
    assert_eq!((metadata.uid, metadata.gid, metadata.mode), (7, 8, 0o40555));
}

#[test]
fn written_files_call_their_hook() {
    let root = Directory::root(0x9fa0, Owner { uid: 1000, gid: 1000 });
    let name = Arc::new(Mutex::new(b"old\n".to_vec()));
    let (get, set) = (name.clone(), name.clone());
    root.writable(
        "comm",
        Box::new(move || Ok(get.lock().unwrap().clone())),
        Box::new(move |data| {
            *set.lock().unwrap() = data.to_vec();
            if data.len() > 15 { Err(Errno::EINVAL) } else { Ok(data.len()) }
        }),
    );
    let ns = namespace(root);
    let flags = OpenFlags::READ_WRITE | OpenFlags::TRUNCATE;
    let file = ns.open(&USER, &ns.root(), b"/comm", flags, 0).unwrap();
    assert_eq!(file.write(b"new\n"), Ok(4));
    assert_eq!(file.seek(SeekFrom::Start(0)), Ok(0));
    let mut buffer = [0; 10];
    assert_eq!(file.read(&mut buffer), Ok(4));
    assert_eq!(&buffer[..4], b"new\n");
    assert_eq!(file.write(&[b'x'; 16]), Err(Errno::EINVAL));
    let other = Caller { uid: 5, gid: 5, ..USER };
    assert_eq!(error(ns.open(&other, &ns.root(), b"/comm", OpenFlags::WRITE_ONLY, 0)), Some(Errno::EACCES));
}

/// The threads 1 to 3, each with a file that tells its number.
struct Threads;

struct Thread(u32);

impl Children for Threads {
    fn lookup(&self, name: &[u8]) -> Option<Child> {
        let number =
            std::str::from_utf8(name).ok()?.parse().ok().filter(|number| (1..=3).contains(number))?;
        Some(Child::Directory(Arc::new(Thread(number))))
    }
    fn list(&self) -> crate::Result<Vec<(Vec<u8>, FileKind)>> {
        Ok((1..=3).map(|number: u32| (number.to_string().into_bytes(), FileKind::Directory)).collect())
    }
}

impl Children for Thread {
    fn lookup(&self, name: &[u8]) -> Option<Child> {
        let text = format!("thread {}\n", self.0).into_bytes();
        (name == b"comm")
            .then(|| Child::Leaf(generated_file(0o644, 0, Box::new(move || Ok(text.clone())), None)))
    }
    fn list(&self) -> crate::Result<Vec<(Vec<u8>, FileKind)>> {
        Ok(vec![(b"comm".to_vec(), FileKind::Regular)])
    }
}

#[test]
fn entries_can_be_found_by_a_function() {
    let root = Directory::root(0x9fa0, Owner::default());
    root.dynamic("self/task", Arc::new(Threads));
    root.text("self/task/fixed", "");
    let ns = namespace(root);
    assert_eq!(read(&ns, b"/self/task/2/comm").as_deref(), Ok(&b"thread 2\n"[..]));
    assert_eq!(read(&ns, b"/self/task/4/comm"), Err(Errno::ENOENT));
    assert_eq!(read(&ns, b"/self/task/2/none"), Err(Errno::ENOENT));
    assert_eq!(names(&ns, b"/self/task"), [".", "..", "fixed", "1", "2", "3"]);
    assert_eq!(names(&ns, b"/self/task/1"), [".", "..", "comm"]);
    let id = |path: &[u8]| ns.resolve(&ROOT, &ns.root(), path, Follow::Yes).unwrap().inode().identity();
    assert_eq!(id(b"/self/task/1/comm"), id(b"/self/task/1/comm"));
    assert_ne!(id(b"/self/task/1/comm"), id(b"/self/task/2/comm"));
}

/// Numbers that are taken away while they are listed.
struct Vanishing(Mutex<Vec<u32>>);

impl Children for Vanishing {
    fn lookup(&self, _name: &[u8]) -> Option<Child> {
        None
    }
    fn list(&self) -> Result<Vec<(Vec<u8>, FileKind)>> {
        let numbers = self.0.lock().unwrap();
        Ok(numbers.iter().map(|number| (number.to_string().into_bytes(), FileKind::Symlink)).collect())
    }
}

#[test]
fn who_takes_listed_entries_away_misses_none() {
    let root = Directory::root(0x9fa0, Owner::default());
    let numbers: Vec<u32> = (0..20).chain([700, u32::MAX]).collect();
    let children = Arc::new(Vanishing(Mutex::new(numbers.clone())));
    root.dynamic("fd", children.clone());
    root.text("fd/fixed", "");
    let file = open(&namespace(root), b"/fd", OpenFlags::DIRECTORY).unwrap();
    let mut seen = Vec::new();
    loop {
        let before = seen.len();
        let mut room = 3;
        file.readdir(&mut |entry| {
            if room == 0 {
                return false;
            }
            room -= 1;
            seen.push(String::from_utf8(entry.name.to_vec()).unwrap());
            true
        })
        .unwrap();
        if seen.len() == before {
            break;
        }
        children.0.lock().unwrap().retain(|number| !seen.contains(&number.to_string()));
    }
    let expected: Vec<String> = [".", "..", "fixed"]
        .map(String::from)
        .into_iter()
        .chain(numbers.iter().map(u32::to_string))
        .collect();
    assert_eq!(seen, expected);
}

#[test]
fn programs_cannot_change_the_tree() {
    let root = Directory::root(0x9fa0, Owner::default());
    root.text("file", "");
    let ns = namespace(root);
    let at = ns.root();
    assert_eq!(error(open(&ns, b"/new", OpenFlags::CREATE)), Some(Errno::ENOENT));
    assert_eq!(ns.mkdir(&ROOT, &at, b"/new", 0o777), Err(Errno::ENOENT));
    assert_eq!(ns.mkdir(&ROOT, &at, b"/file", 0o777), Err(Errno::EEXIST));
    assert_eq!(ns.unlink(&ROOT, &at, b"/file"), Err(Errno::EPERM));
    assert_eq!(ns.rmdir(&ROOT, &at, b"/none"), Err(Errno::ENOENT));
}

#[test]
fn devices_behave() {
    let dev = devfs::create(Arc::new(|buffer: &mut [u8]| buffer.fill(42)), None);
    let ns = namespace(dev);
    let both = |path: &[u8]| open(&ns, path, OpenFlags::READ_WRITE).unwrap();
    let mut buffer = [1; 4];
    let null = both(b"/null");
    assert_eq!((null.write(b"abc"), null.read(&mut buffer)), (Ok(3), Ok(0)));
    assert_eq!(null.metadata().unwrap().mode, 0o020666);
    assert_eq!(null.metadata().unwrap().rdev, 0x103);
    let zero = both(b"/zero");
    assert_eq!((zero.write(b"abc"), zero.read(&mut buffer), buffer), (Ok(3), Ok(4), [0; 4]));
    assert!(zero.file().unwrap().clone().page_source().is_some());
    let full = both(b"/full");
    assert_eq!((full.write(b"abc"), full.read(&mut buffer)), (Err(Errno::ENOSPC), Ok(4)));
    for name in [&b"/random"[..], b"/urandom"] {
        assert_eq!(both(name).read(&mut buffer), Ok(4));
        assert_eq!(buffer, [42; 4]);
    }
    assert_eq!(error(open(&ns, b"/tty", OpenFlags::READ_WRITE)), Some(Errno::ENXIO));
    assert_eq!(ns.readlink(&ROOT, &ns.root(), b"/stdout").as_deref(), Ok(&b"/proc/self/fd/1"[..]));
    assert!(ns.resolve(&ROOT, &ns.root(), b"/shm", Follow::Yes).unwrap().inode().is_directory());
}

/// Directories whose children are kept, or made for each look.
struct Numbered {
    kept: Option<Arc<dyn Children>>,
}

impl Children for Numbered {
    fn lookup(&self, name: &[u8]) -> Option<Child> {
        if name == b"gone" {
            return None;
        }
        let fresh = || -> Arc<dyn Children> { Arc::new(Self { kept: None }) };
        Some(Child::Directory(self.kept.clone().unwrap_or_else(fresh)))
    }

    fn list(&self) -> Result<Vec<(Vec<u8>, FileKind)>> {
        Ok(Vec::new())
    }
}

#[test]
fn a_directory_is_kept_with_its_children() {
    let look = |root: &Directory, name: &[u8]| root.lookup(name).unwrap();
    let root = Directory::root(0x9fa0, Owner::default());
    root.dynamic("", Arc::new(Numbered { kept: Some(Arc::new(Numbered { kept: None })) }));
    let first = look(&root, b"1");
    assert!(Arc::ptr_eq(&first, &look(&root, b"1")));
    let other = look(&root, b"2");
    assert_ne!(first.identity(), other.identity());
    assert_eq!(first.identity(), look(&root, b"1").identity());
    assert_eq!(error(root.lookup(b"gone")), Some(Errno::ENOENT));

    let root = Directory::root(0x9fa0, Owner::default());
    root.dynamic("", Arc::new(Numbered { kept: None }));
    let first = look(&root, b"1");
    assert!(!Arc::ptr_eq(&first, &look(&root, b"1")));
    assert_eq!(first.identity(), look(&root, b"1").identity());
}

/// A file that lasts, one that does not, and how often somebody has looked for one of them.
struct Lasting(AtomicU32);

impl Children for Lasting {
    fn lookup(&self, name: &[u8]) -> Option<Child> {
        let look = self.0.fetch_add(1, Ordering::Relaxed);
        let content = move || Ok(format!("{look}\n").into_bytes());
        let leaf = generated_file(0o444, 0, Box::new(content), None);
        match name {
            b"lasting" => Some(Child::Lasting(leaf)),
            b"other" => Some(Child::Leaf(leaf)),
            _ => None,
        }
    }

    fn list(&self) -> Result<Vec<(Vec<u8>, FileKind)>> {
        Ok(vec![(b"lasting".to_vec(), FileKind::Regular), (b"other".to_vec(), FileKind::Regular)])
    }
}

#[test]
fn a_lasting_leaf_is_looked_for_once_and_listed_once() {
    let root = Directory::root(0x9fa0, Owner::default());
    let children = Arc::new(Lasting(AtomicU32::new(0)));
    root.dynamic("", children.clone());
    let ns = namespace(root.clone());
    assert_eq!(read(&ns, b"/lasting").as_deref(), Ok(&b"0\n"[..]));
    assert_eq!(read(&ns, b"/lasting").as_deref(), Ok(&b"0\n"[..]));
    assert_eq!(read(&ns, b"/other").as_deref(), Ok(&b"1\n"[..]));
    assert_eq!(read(&ns, b"/other").as_deref(), Ok(&b"2\n"[..]));
    assert_eq!(read(&ns, b"/none"), Err(Errno::ENOENT));
    let look = |name: &[u8]| root.lookup(name).unwrap();
    assert!(Arc::ptr_eq(&look(b"lasting"), &look(b"lasting")));
    assert!(!Arc::ptr_eq(&look(b"other"), &look(b"other")));
    assert_eq!(names(&ns, b"/"), [".", "..", "lasting", "other"]);
}

#[test]
fn entries_of_a_filled_root_are_registered_once_and_not_before_somebody_looks() {
    let fills = Arc::new(AtomicU32::new(0));
    let counter = fills.clone();
    let root = Directory::root_filled_by(0x9fa0, Owner::default(), move |root| {
        counter.fetch_add(1, Ordering::Relaxed);
        root.text("sys/kernel/ostype", "Linux\n");
    });
    let ns = namespace(root);
    assert!(ns.root().inode().metadata().is_ok());
    assert_eq!(fills.load(Ordering::Relaxed), 0);
    assert_eq!(names(&ns, b"/"), [".", "..", "sys"]);
    assert_eq!(read(&ns, b"/sys/kernel/ostype").as_deref(), Ok(&b"Linux\n"[..]));
    assert_eq!(read(&ns, b"/nothing"), Err(Errno::ENOENT));
    assert_eq!(fills.load(Ordering::Relaxed), 1);
}
