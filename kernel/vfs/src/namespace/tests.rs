// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tests of path resolution, opening and changing, over the file system in memory.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::errno::Errno;
use crate::flags::{Access, OpenFlags, RenameFlags};
use crate::inode::{InodeId, Owner, Walked};
use crate::metadata::{FileKind, Metadata, SetAttr, SetTime, StatFs, Timespec};
use crate::synthetic::{Directory, LinkTarget, link};
use crate::testing::{USER, error, tmpfs};
use crate::{File, Inode, Result};

const ROOT: Caller<'static> = Caller::KERNEL;
const WRITE: OpenFlags = OpenFlags::WRITE_ONLY;

/// `/a/b/c` (directories), `/a/file` (content "data"), and links.
fn sample() -> Namespace {
    let ns = Namespace::new(tmpfs(1 << 20), MountFlags::empty(), "tmpfs", "none");
    let root = ns.root();
    for path in [&b"/a"[..], b"/a/b", b"/a/b/c"] {
        ns.mkdir(&ROOT, &root, path, 0o777).unwrap();
    }
    write(&ns, b"/a/file", b"data");
    for (path, target) in [
        (&b"/to_file"[..], &b"a/file"[..]),
        (b"/to_dir", b"/a/b"),
        (b"/a/b/up", b"../file"),
        (b"/a/near", b".//b"),
        (b"/loop1", b"loop2"),
        (b"/loop2", b"loop1"),
        (b"/dangling", b"/a/new"),
        (b"/slashed", b"a/file/"),
    ] {
        ns.symlink(&ROOT, target, &root, path).unwrap();
    }
    ns
}

fn write(ns: &Namespace, path: &[u8], data: &[u8]) {
    let file = ns.open(&ROOT, &ns.root(), path, WRITE | OpenFlags::CREATE, 0o666).unwrap();
    assert_eq!(file.write(data), Ok(data.len()));
}

fn read(ns: &Namespace, path: &[u8]) -> Result<Vec<u8>> {
    let file = ns.open(&ROOT, &ns.root(), path, OpenFlags::read_only(), 0)?;
    let mut buffer = vec![0; 100];
    let count = file.read(&mut buffer)?;
    buffer.truncate(count);
    Ok(buffer)
}

fn find(ns: &Namespace, path: &[u8], follow: Follow) -> Result<Vec<u8>> {
    ns.resolve(&ROOT, &ns.root(), path, follow).map(|place| place.path().to_vec())
}

#[test]
fn paths_become_canonical() {
    let ns = sample();
    for (path, canonical) in [
        (&b"/"[..], &b"/"[..]),
        (b"///", b"/"),
        (b"/..", b"/"),
        (b"/../../a", b"/a"),
        (b"a//b/./c/", b"/a/b/c"),
        (b"/a/b/..", b"/a"),
        (b"/a/b/../../a/./b", b"/a/b"),
        (b"/to_dir/c/..", b"/a/b"),
        (b"/to_dir/..", b"/a"),
        (b"/to_dir/up", b"/a/file"),
        (b"/to_file", b"/a/file"),
        (b"/a/near/c", b"/a/b/c"),
        (b"//a/./near//up", b"/a/file"),
        (b"/a/near/../near/c/..", b"/a/b"),
        (b".", b"/"),
    ] {
        assert_eq!(find(&ns, path, Follow::Yes).as_deref(), Ok(canonical), "{}", path.escape_ascii());
    }
}

#[test]
fn wrong_paths_have_the_errors_of_linux() {
    let ns = sample();
    let long_name = [b'x'; 256];
    let long_path = b"a/".repeat(2048);
    for (path, expected) in [
        (&b""[..], Errno::ENOENT),
        (b"/none", Errno::ENOENT),
        (b"/none/..", Errno::ENOENT),
        (b"/a/file/", Errno::ENOTDIR),
        (b"/a/file/x", Errno::ENOTDIR),
        (b"/a/file/..", Errno::ENOTDIR),
        (b"/a/file/.", Errno::ENOTDIR),
        (b"/to_file/", Errno::ENOTDIR),
        (b"/slashed", Errno::ENOTDIR),
        (b"/loop1", Errno::ELOOP),
        (b"/loop1/x", Errno::ELOOP),
        (b"/dangling", Errno::ENOENT),
        (&long_name, Errno::ENAMETOOLONG),
        (&long_path, Errno::ENAMETOOLONG),
    ] {
        assert_eq!(find(&ns, path, Follow::Yes), Err(expected), "{}", path.escape_ascii());
    }
}

#[test]
fn the_last_link_is_followed_on_demand() {
    let ns = sample();
    assert_eq!(find(&ns, b"/to_file", Follow::No).as_deref(), Ok(&b"/to_file"[..]));
    assert_eq!(find(&ns, b"/to_dir/", Follow::No).as_deref(), Ok(&b"/a/b"[..]));
    assert_eq!(find(&ns, b"/to_dir/up", Follow::No).as_deref(), Ok(&b"/a/b/up"[..]));
    assert_eq!(ns.readlink(&ROOT, &ns.root(), b"/to_dir").as_deref(), Ok(&b"/a/b"[..]));
    assert_eq!(ns.readlink(&ROOT, &ns.root(), b"/a"), Err(Errno::EINVAL));
}

#[test]
fn forty_links_are_the_limit() {
    let ns = sample();
    let root = ns.root();
    ns.symlink(&ROOT, b"a/file", &root, b"/l0").unwrap();
    for index in 1..=40 {
        let (target, path) = (format!("l{}", index - 1), format!("/l{index}"));
        ns.symlink(&ROOT, target.as_bytes(), &root, path.as_bytes()).unwrap();
    }
    assert_eq!(find(&ns, b"/l39", Follow::Yes).as_deref(), Ok(&b"/a/file"[..]));
    assert_eq!(find(&ns, b"/l40", Follow::Yes), Err(Errno::ELOOP));
}

#[test]
fn texts_of_links_may_be_long_together_but_not_what_is_left_of_them() {
    let ns = sample();
    let root = ns.root();
    let long = b"./".repeat(2000);
    ns.symlink(&ROOT, &long, &root, b"/here").unwrap();
    assert_eq!(find(&ns, &b"/here".repeat(6), Follow::Yes).as_deref(), Ok(&b"/"[..]));
    assert_eq!(
        find(&ns, &[&b"/here".repeat(6)[..], b"/a/near"].concat(), Follow::Yes).as_deref(),
        Ok(&b"/a/b"[..])
    );
    for index in 1..=5 {
        let target = [format!("l{}/", index - 1).as_bytes(), &long].concat();
        ns.symlink(&ROOT, &target, &root, format!("/l{index}").as_bytes()).unwrap();
    }
    ns.symlink(&ROOT, b"a", &root, b"/l0").unwrap();
    assert_eq!(find(&ns, b"/l3", Follow::Yes).as_deref(), Ok(&b"/a"[..]));
    assert_eq!(find(&ns, b"/l5", Follow::Yes), Err(Errno::ENAMETOOLONG));
}

#[test]
fn relative_paths_start_where_asked() {
    let ns = sample();
    let at = ns.resolve(&ROOT, &ns.root(), b"/a/b", Follow::Yes).unwrap();
    let found = ns.resolve(&ROOT, &at, b"../file", Follow::Yes).unwrap();
    assert_eq!(found.path(), b"/a/file");
    assert_eq!(error(ns.resolve(&ROOT, &found, b"x", Follow::Yes)), Some(Errno::ENOTDIR));
    assert_eq!(ns.resolve(&ROOT, &found, b"/a", Follow::Yes).unwrap().path(), b"/a");
}

#[test]
fn mounts_hide_what_is_below() {
    let ns = sample();
    let inner = tmpfs(1 << 20);
    ns.mount(b"/a/b", inner.clone(), MountFlags::empty(), "tmpfs", "inner").unwrap();
    assert_eq!(find(&ns, b"/a/b/c", Follow::Yes), Err(Errno::ENOENT));
    write(&ns, b"/to_dir/new", b"inside");
    assert!(inner.lookup(b"new").is_ok());
    assert_eq!(find(&ns, b"/a/b/../file", Follow::Yes).as_deref(), Ok(&b"/a/file"[..]));
    assert_eq!(find(&ns, b"/a/b/..", Follow::Yes).as_deref(), Ok(&b"/a"[..]));
    let root = ns.root();
    assert_eq!(ns.rmdir(&ROOT, &root, b"/a/b"), Err(Errno::EBUSY));
    assert_eq!(ns.rename(&ROOT, (&root, b"/a"), (&root, b"/z"), RenameFlags::empty()), Err(Errno::EBUSY));
    let across = ns.rename(&ROOT, (&root, b"/a/file"), (&root, b"/a/b/f"), RenameFlags::empty());
    assert_eq!(across, Err(Errno::EXDEV));
    assert_eq!(ns.mkdir(&ROOT, &root, b"/a/b", 0o777), Err(Errno::EEXIST));
}

#[test]
fn a_mount_point_need_not_exist() {
    let ns = sample();
    ns.mount(b"/x/y/z/", tmpfs(1 << 20), MountFlags::empty(), "tmpfs", "none").unwrap();
    write(&ns, b"/x/y/z/file", b"there");
    assert_eq!(read(&ns, b"/x/y/z/file").as_deref(), Ok(&b"there"[..]));
    assert_eq!(find(&ns, b"/x/y", Follow::Yes).as_deref(), Ok(&b"/x/y"[..]));
    assert_eq!(find(&ns, b"/x/y/z/../z/file", Follow::Yes).as_deref(), Ok(&b"/x/y/z/file"[..]));
    assert_eq!(find(&ns, b"/x/other", Follow::Yes), Err(Errno::ENOENT));
    let bad = ns.mount(b"/x/../y", tmpfs(1), MountFlags::empty(), "tmpfs", "none");
    assert_eq!(bad, Err(Errno::EINVAL));
}

#[test]
fn what_only_a_mount_refuses_is_told_from_what_modes_refuse() {
    let inner = tmpfs(1 << 20);
    inner.create(b"open", 0o666, Owner::default(), WRITE).unwrap();
    inner.create(b"closed", 0o644, Owner::default(), WRITE).unwrap();
    let ns = Namespace::new(inner, MountFlags::READ_ONLY, "tmpfs", "none");
    let refused = |caller: &Caller<'_>, path: &[u8]| {
        ns.refused_by_mount(caller, &ns.root(), path).map(|place| place.path().to_vec())
    };
    assert_eq!(refused(&ROOT, b"/closed").as_deref(), Some(&b"/closed"[..]));
    assert_eq!(refused(&USER, b"/open").as_deref(), Some(&b"/open"[..]));
    assert_eq!(refused(&USER, b"/closed"), None);
    assert_eq!(refused(&ROOT, b"/new").as_deref(), Some(&b"/"[..]));
    assert_eq!(refused(&ROOT, b"/none/new"), None);
    let writable = sample();
    assert!(writable.refused_by_mount(&ROOT, &writable.root(), b"/a/file").is_none());
}

#[test]
fn read_only_mounts_refuse_changes() {
    let inner = tmpfs(1 << 20);
    inner.create(b"file", 0o666, Owner::default(), WRITE).unwrap();
    let ns = Namespace::new(inner, MountFlags::READ_ONLY, "tmpfs", "none");
    let root = ns.root();
    let open = |path: &[u8], flags| error(ns.open(&ROOT, &root, path, flags, 0o666));
    assert_eq!(open(b"/file", OpenFlags::read_only()), None);
    assert_eq!(open(b"/file", OpenFlags::CREATE), None);
    assert_eq!(open(b"/file", WRITE), Some(Errno::EROFS));
    assert_eq!(open(b"/file", OpenFlags::TRUNCATE), Some(Errno::EROFS));
    assert_eq!(open(b"/new", OpenFlags::CREATE), Some(Errno::EROFS));
    assert_eq!(open(b"/new", WRITE), Some(Errno::ENOENT));
    assert_eq!(ns.mkdir(&ROOT, &root, b"/file", 0o777), Err(Errno::EEXIST));
    assert_eq!(ns.mkdir(&ROOT, &root, b"/new", 0o777), Err(Errno::EROFS));
    assert_eq!(ns.unlink(&ROOT, &root, b"/new"), Err(Errno::ENOENT));
    assert_eq!(ns.unlink(&ROOT, &root, b"/file"), Err(Errno::EROFS));
    assert_eq!(ns.access(&ROOT, &root, b"/file", Access::WRITE, Follow::Yes), Err(Errno::EROFS));
    assert_eq!(ns.access(&ROOT, &root, b"/file", Access::READ, Follow::Yes), Ok(()));
    let file = ns.resolve(&ROOT, &root, b"/file", Follow::Yes).unwrap();
    assert_eq!(ns.set_attr(&ROOT, &file, &SetAttr::mode(0)), Err(Errno::EROFS));
}

#[test]
fn open_flags_mean_what_they_mean_on_linux() {
    let ns = sample();
    let root = ns.root();
    let open = |path: &[u8], flags| ns.open(&ROOT, &root, path, flags, 0o666);
    let create = OpenFlags::CREATE | WRITE;
    assert_eq!(error(open(b"/a/file", create | OpenFlags::EXCLUSIVE)), Some(Errno::EEXIST));
    assert_eq!(error(open(b"/dangling", create | OpenFlags::EXCLUSIVE)), Some(Errno::EEXIST));
    assert_eq!(error(open(b"/dangling", create | OpenFlags::NO_FOLLOW)), Some(Errno::ELOOP));
    assert_eq!(open(b"/dangling", create).unwrap().location().path(), b"/a/new");
    assert_eq!(find(&ns, b"/a/new", Follow::No).as_deref(), Ok(&b"/a/new"[..]));
    assert_eq!(error(open(b"/loop1", create)), Some(Errno::ELOOP));
    assert_eq!(error(open(b"/to_file", OpenFlags::NO_FOLLOW)), Some(Errno::ELOOP));
    assert_eq!(error(open(b"/a", WRITE)), Some(Errno::EISDIR));
    assert_eq!(error(open(b"/a", OpenFlags::CREATE)), Some(Errno::EISDIR));
    assert_eq!(error(open(b"/new/", create)), Some(Errno::EISDIR));
    assert_eq!(error(open(b"/a/file", OpenFlags::DIRECTORY)), Some(Errno::ENOTDIR));
    assert_eq!(error(open(b"/none/x", create)), Some(Errno::ENOENT));
    assert_eq!(error(open(b"/a/file/x", create)), Some(Errno::ENOTDIR));
    let temporary = OpenFlags::TEMPORARY | OpenFlags::DIRECTORY | WRITE;
    assert_eq!(error(open(b"/a", temporary)), Some(Errno::EOPNOTSUPP));
    open(b"/a/file", WRITE | OpenFlags::TRUNCATE).unwrap();
    assert_eq!(read(&ns, b"/a/file").as_deref(), Ok(&b""[..]));

    let place = open(b"/to_file", OpenFlags::PATH | OpenFlags::NO_FOLLOW).unwrap();
    assert_eq!(place.inode().kind(), FileKind::Symlink);
    assert_eq!(place.read(&mut [0; 4]), Err(Errno::EBADF));
    let reader = open(b"/a/file", OpenFlags::read_only()).unwrap();
    assert_eq!(reader.write(b"x"), Err(Errno::EBADF));
    let writer = open(b"/a/file", WRITE).unwrap();
    assert_eq!(writer.read(&mut [0; 4]), Err(Errno::EBADF));
    assert_eq!(open(b"/a", OpenFlags::read_only()).unwrap().read(&mut [0; 4]), Err(Errno::EISDIR));
}

#[test]
fn offsets_append_and_seek() {
    let ns = sample();
    let flags = OpenFlags::READ_WRITE | OpenFlags::APPEND | OpenFlags::CREATE;
    let file = ns.open(&ROOT, &ns.root(), b"/a/file", flags, 0).unwrap();
    let mut buffer = [0; 8];
    assert_eq!(file.read(&mut buffer[..2]), Ok(2));
    assert_eq!(file.write(b"more"), Ok(4));
    assert_eq!(file.seek(crate::SeekFrom::Current(0)), Ok(8));
    assert_eq!(file.write_at(0, b"!"), Ok(1));
    assert_eq!(file.read_at(0, &mut buffer), Ok(8));
    assert_eq!(&buffer, b"datamore");
    file.set_status(OpenFlags::NONBLOCK);
    assert_eq!(file.status(), OpenFlags::READ_WRITE | OpenFlags::NONBLOCK);
    assert_eq!(file.seek(crate::SeekFrom::Start(0)), Ok(0));
    assert_eq!(file.write(b"D"), Ok(1));
    assert_eq!(file.seek(crate::SeekFrom::End(-1)), Ok(8));
    assert_eq!(file.read(&mut buffer), Ok(1));
    assert_eq!(&buffer[..1], b"!");
    assert_eq!(file.seek(crate::SeekFrom::Current(-100)), Err(Errno::EINVAL));
    assert_eq!(file.seek(crate::SeekFrom::End(i64::MAX)), Err(Errno::EOVERFLOW));
    assert_eq!(file.seek(crate::SeekFrom::Hole(0)), Ok(9));
    assert_eq!(file.seek(crate::SeekFrom::Data(9)), Err(Errno::ENXIO));
    assert_eq!(file.seek(crate::SeekFrom::Start(i64::MAX)), Ok(i64::MAX as u64));
    assert_eq!(file.write(b"x"), Err(Errno::EFBIG));
    assert_eq!(file.read(&mut buffer), Ok(0));
}

#[test]
fn entries_come_and_go() {
    let ns = sample();
    let root = ns.root();
    assert_eq!(ns.unlink(&ROOT, &root, b"/a"), Err(Errno::EISDIR));
    assert_eq!(ns.unlink(&ROOT, &root, b"/a/file/"), Err(Errno::ENOTDIR));
    assert_eq!(ns.rmdir(&ROOT, &root, b"/a/file"), Err(Errno::ENOTDIR));
    assert_eq!(ns.rmdir(&ROOT, &root, b"/a"), Err(Errno::ENOTEMPTY));
    assert_eq!(ns.rmdir(&ROOT, &root, b"/a/."), Err(Errno::EINVAL));
    assert_eq!(ns.rmdir(&ROOT, &root, b"/a/.."), Err(Errno::ENOTEMPTY));
    assert_eq!(ns.rmdir(&ROOT, &root, b"/"), Err(Errno::EBUSY));
    assert_eq!(ns.mkdir(&ROOT, &root, b"/", 0o777), Err(Errno::EEXIST));
    assert_eq!(ns.mkdir(&ROOT, &root, b"/to_dir", 0o777), Err(Errno::EEXIST));
    assert_eq!(ns.mkdir(&ROOT, &root, b"/new/", 0o777), Ok(()));
    assert_eq!(ns.symlink(&ROOT, b"", &root, b"/s"), Err(Errno::ENOENT));
    let file = ns.resolve(&ROOT, &root, b"/a/file", Follow::Yes).unwrap();
    assert_eq!(ns.link(&ROOT, &file, &root, b"/second"), Ok(()));
    assert_eq!(ns.link(&ROOT, &file, &root, b"/second"), Err(Errno::EEXIST));
    assert_eq!(file.inode().metadata().unwrap().nlink, 2);
    let directory = ns.resolve(&ROOT, &root, b"/a", Follow::Yes).unwrap();
    assert_eq!(ns.link(&ROOT, &directory, &root, b"/third"), Err(Errno::EPERM));
    assert_eq!(ns.unlink(&ROOT, &root, b"/a/file"), Ok(()));
    assert_eq!(read(&ns, b"/second").as_deref(), Ok(&b"data"[..]));
    assert_eq!(ns.unlink(&ROOT, &root, b"/to_file"), Ok(()));
    assert_eq!(ns.rmdir(&ROOT, &root, b"/a/b/c/"), Ok(()));
}

#[test]
fn rename_replaces_swaps_and_refuses() {
    let ns = sample();
    let root = ns.root();
    let rename = |from: &[u8], to: &[u8], flags| ns.rename(&ROOT, (&root, from), (&root, to), flags);
    let plain = RenameFlags::empty();
    assert_eq!(rename(b"/a", b"/a/b/x", plain), Err(Errno::EINVAL));
    assert_eq!(rename(b"/a/b/c", b"/a", plain), Err(Errno::ENOTEMPTY));
    assert_eq!(rename(b"/a/file", b"/a/b", plain), Err(Errno::EISDIR));
    assert_eq!(rename(b"/a/b", b"/a/file", plain), Err(Errno::ENOTDIR));
    assert_eq!(rename(b"/none", b"/x", plain), Err(Errno::ENOENT));
    assert_eq!(rename(b"/a/file", b"/x/", plain), Err(Errno::ENOTDIR));
    assert_eq!(rename(b"/a/.", b"/x", plain), Err(Errno::EBUSY));
    assert_eq!(rename(b"/a/file", b"/to_dir", RenameFlags::NO_REPLACE), Err(Errno::EEXIST));
    assert_eq!(rename(b"/a/file", b"/a/file", plain), Ok(()));
    assert_eq!(rename(b"/a/file", b"/to_dir", RenameFlags::EXCHANGE), Ok(()));
    assert_eq!(read(&ns, b"/to_dir").as_deref(), Ok(&b"data"[..]));
    assert_eq!(ns.readlink(&ROOT, &root, b"/a/file").as_deref(), Ok(&b"/a/b"[..]));
    assert_eq!(rename(b"/a/b/c", b"/c", RenameFlags::NO_REPLACE), Ok(()));
    assert_eq!(rename(b"/to_dir", b"/c/f", plain), Ok(()));
    assert_eq!(rename(b"/c/f", b"/a/file", plain), Ok(()));
    assert_eq!(read(&ns, b"/a/file").as_deref(), Ok(&b"data"[..]));
    assert_eq!(rename(b"/a", b"/b", RenameFlags::all()), Err(Errno::EINVAL));
}

#[test]
fn modes_and_the_sticky_bit_decide() {
    let ns = sample();
    let root = ns.root();
    ns.mkdir(&ROOT, &root, b"/tmp", 0o1777).unwrap();
    ns.mkdir(&ROOT, &root, b"/closed", 0o700).unwrap();
    ns.mkdir(&ROOT, &root, b"/closed/in", 0o777).unwrap();
    write(&ns, b"/tmp/theirs", b"x");
    let file = ns.open(&USER, &root, b"/tmp/mine", WRITE | OpenFlags::CREATE, 0o666).unwrap();
    let metadata = file.metadata().unwrap();
    assert_eq!((metadata.mode & 0o777, metadata.uid, metadata.gid), (0o644, 1000, 1000));
    assert_eq!(error(ns.resolve(&USER, &root, b"/closed/in", Follow::Yes)), Some(Errno::EACCES));
    assert_eq!(error(ns.resolve(&USER, &root, b"/closed", Follow::Yes)), None);
    assert_eq!(ns.unlink(&USER, &root, b"/tmp/theirs"), Err(Errno::EPERM));
    assert_eq!(ns.unlink(&USER, &root, b"/tmp/mine"), Ok(()));
    let theirs = ns.resolve(&USER, &root, b"/tmp/theirs", Follow::Yes).unwrap();
    assert_eq!(ns.set_attr(&USER, &theirs, &SetAttr::mode(0o777)), Err(Errno::EPERM));
    ns.set_attr(&ROOT, &theirs, &SetAttr::mode(0o644)).unwrap();
    assert_eq!(error(ns.open_at(&USER, theirs.clone(), WRITE)), Some(Errno::EACCES));
    assert_eq!(error(ns.open_at(&USER, theirs.clone(), OpenFlags::read_only())), None);
    let now = SetAttr { mtime: Some(SetTime::Now), ..SetAttr::default() };
    assert_eq!(ns.set_attr(&USER, &theirs, &now), Err(Errno::EACCES));
    let then = SetAttr { mtime: Some(SetTime::At(Timespec { sec: 1, nsec: 2 })), ..SetAttr::default() };
    assert_eq!(ns.set_attr(&USER, &theirs, &then), Err(Errno::EPERM));
    ns.set_attr(&ROOT, &theirs, &then).unwrap();
    assert_eq!(theirs.inode().metadata().unwrap().mtime, Timespec { sec: 1, nsec: 2 });
    let access = |path: &[u8], wanted| ns.access(&USER, &root, path, wanted, Follow::Yes);
    assert_eq!(access(b"/tmp/theirs", Access::READ), Ok(()));
    assert_eq!(access(b"/tmp/theirs", Access::EXECUTE), Err(Errno::EACCES));
    assert_eq!(access(b"/tmp/theirs", Access::empty()), Ok(()));
    let group = Caller { groups: &[7, 0], ..USER };
    ns.set_attr(&ROOT, &theirs, &SetAttr::mode(0o060)).unwrap();
    assert_eq!(ns.access(&group, &root, b"/tmp/theirs", Access::WRITE, Follow::Yes), Ok(()));
    assert_eq!(error(ns.open(&USER, &root, b"/closed/x", WRITE | OpenFlags::CREATE, 0)), Some(Errno::EACCES));
}

#[test]
fn magic_links_jump() {
    let ns = sample();
    let hidden = tmpfs(1 << 20);
    let file = hidden.create(b"f", 0o666, Owner::default(), WRITE).unwrap();
    file.file.write_at(0, b"hidden").unwrap();
    let place = Location::anonymous(file.inode, b"/gone (deleted)").unwrap();
    let proc = Directory::root(0x9fa0, Owner::default());
    proc.add("self/exe", link(LinkTarget::Jump(Box::new(move || Ok(place.clone())))));
    proc.symlink("self/other", "exe");
    ns.mount(b"/proc", proc, MountFlags::empty(), "proc", "proc").unwrap();
    let root = ns.root();
    assert_eq!(ns.readlink(&ROOT, &root, b"/proc/self/exe").as_deref(), Ok(&b"/gone (deleted)"[..]));
    assert_eq!(read(&ns, b"/proc/self/exe").as_deref(), Ok(&b"hidden"[..]));
    assert_eq!(read(&ns, b"/proc/self/other").as_deref(), Ok(&b"hidden"[..]));
    let flags = OpenFlags::CREATE | WRITE;
    assert!(ns.open(&ROOT, &root, b"/proc/self/exe", flags, 0o666).is_ok());
}

/// A file system that follows any number of names at once, as a file server does.
struct Server(Arc<dyn Inode>);

impl Inode for Server {
    fn identity(&self) -> InodeId {
        self.0.identity()
    }
    fn kind(&self) -> FileKind {
        self.0.kind()
    }
    fn metadata(&self) -> Result<Metadata> {
        self.0.metadata()
    }
    fn set_attr(&self, _change: &SetAttr) -> Result<()> {
        Err(Errno::EPERM)
    }
    fn checks_permissions(&self) -> bool {
        true
    }
    fn lookup(&self, name: &[u8]) -> Result<Arc<dyn Inode>> {
        self.walk(&[name]).map(|walked| walked.inode)
    }
    fn walk(&self, names: &[&[u8]]) -> Result<Walked> {
        let mut inode = self.0.clone();
        let mut count = 0;
        for name in names {
            match inode.lookup(name) {
                Ok(next) => inode = next,
                Err(error) if count == 0 => return Err(error),
                Err(_) => break,
            }
            count += 1;
            if inode.kind() == FileKind::Symlink {
                break;
            }
        }
        Ok(Walked { inode: Arc::new(Self(inode)), count })
    }
    fn readlink(&self) -> Result<Vec<u8>> {
        self.0.readlink()
    }
    fn open(self: Arc<Self>, flags: OpenFlags) -> Result<Arc<dyn File>> {
        self.0.clone().open(flags)
    }
    fn statfs(&self) -> Result<StatFs> {
        self.0.statfs()
    }
}

#[test]
fn walking_several_names_at_once_changes_nothing() {
    let plain = sample();
    let server = Arc::new(Server(plain.root().inode().clone()));
    let combined = Namespace::new(server, MountFlags::empty(), "9p", "none");
    for path in [
        &b"/a/b/c"[..],
        b"/a/b/up",
        b"/to_dir/c/../up",
        b"/to_dir/../file",
        b"/a/file/x",
        b"/a/file/x/y",
        b"/a/none/x",
        b"/loop1/a/b",
        b"/dangling",
        b"/a/b/c/none",
    ] {
        for follow in [Follow::Yes, Follow::No] {
            assert_eq!(find(&combined, path, follow), find(&plain, path, follow), "{}", path.escape_ascii());
        }
    }
}

/// Names of [`sample`], also where they are not, with any number of slashes between them.
fn any_path() -> impl Strategy<Value = String> {
    "(/{1,2}(a|b|c|file|up|near|\\.|\\.\\.|to_dir|to_file|slashed|none|m)){1,7}/{0,1}"
}

proptest! {
    #[test]
    fn where_a_path_starts_and_who_follows_it_make_no_difference(path in any_path()) {
        let plain = sample();
        let server = Arc::new(Server(plain.root().inode().clone()));
        let combined = Namespace::new(server, MountFlags::empty(), "9p", "none");
        for ns in [&plain, &combined] {
            ns.mount(b"/a/m", tmpfs(1 << 20), MountFlags::empty(), "tmpfs", "none").unwrap();
        }
        let (path, root) = (path.as_bytes(), plain.root());
        let relative = path.iter().position(|&byte| byte != b'/').map_or(path, |first| &path[first..]);
        for follow in [Follow::Yes, Follow::No] {
            let found = find(&plain, path, follow);
            prop_assert_eq!(&find(&combined, path, follow), &found);
            let place = plain.resolve(&ROOT, &root, relative, follow);
            prop_assert_eq!(&place.map(|place| place.path().to_vec()), &found);
            // The canonical path leads there itself, and to the same inode.
            if let Ok(canonical) = &found {
                prop_assert_eq!(&find(&plain, canonical, Follow::No), &found);
                let inode = plain.resolve_inode(&ROOT, &root, path, follow).unwrap();
                let again = plain.resolve_inode(&ROOT, &root, canonical, Follow::No).unwrap();
                prop_assert_eq!(inode.identity(), again.identity());
            }
        }
    }
}
