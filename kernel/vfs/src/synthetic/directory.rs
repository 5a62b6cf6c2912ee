// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Directories of a synthetic file system.

use alloc::boxed::Box;
use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;

use hadal_hal::memory::fallible::{self, MakeRoom};
use hadal_hal::sync::{Rank, SpinLock};
use spin::Once;

use super::names::Names;
use super::node::{Generated, Generator, Leaf, LinkTarget, WriteHook, generated_file, link};
use crate::device_numbers;
use crate::errno::{Errno, Result};
use crate::file::{DirEntry, File, Positions};
use crate::flags::{OpenFlags, RenameFlags};
use crate::inode::{Created, Inode, InodeId, Owner};
use crate::metadata::{FileKind, Metadata, SetAttr, StatFs, Timespec};

/// What all nodes of one file system share.
struct Fs {
    dev: u64,
    magic: u64,
    owner: Owner,
    created: Timespec,
}

/// Where a node is: its file system and its number.
#[derive(Clone)]
pub(super) struct Place {
    fs: Arc<Fs>,
    ino: u64,
}

impl Place {
    pub(super) fn id(&self) -> InodeId {
        InodeId { dev: self.fs.dev, ino: self.ino }
    }

    /// The number of an entry: an FNV-1a hash of the path.
    fn child_ino(&self, name: &[u8]) -> u64 {
        let start = self.ino ^ 0xcbf2_9ce4_8422_2325;
        let with = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        let hash = name.iter().fold(with(start, &b'/'), with);
        // Small enough for programs that keep inode numbers in signed words; never 0 or the root's 1.
        (hash >> 2) | 2
    }

    fn child(&self, name: &[u8]) -> Self {
        Self { fs: self.fs.clone(), ino: self.child_ino(name) }
    }
}

/// The metadata all synthetic nodes share: empty, as old as the file system.
pub(super) fn metadata(place: &Place, kind: FileKind, mode: u32) -> Metadata {
    let time = place.fs.created;
    Metadata {
        dev: place.fs.dev,
        ino: place.ino,
        mode: kind.mode_bits() | mode,
        nlink: if kind == FileKind::Directory { 2 } else { 1 },
        uid: place.fs.owner.uid,
        gid: place.fs.owner.gid,
        rdev: 0,
        size: 0,
        blksize: 4096,
        blocks: 0,
        atime: time,
        mtime: time,
        ctime: time,
    }
}

pub(super) fn statfs(place: &Place) -> StatFs {
    StatFs { magic: place.fs.magic, block_size: 4096, fsid: place.fs.dev, name_max: 255, ..StatFs::default() }
}

/// An entry found by a function.
pub enum Child {
    /// A file, link or device.
    Leaf(Generated),
    /// The same if it stays as long as the directory, which keeps it.
    Lasting(Generated),
    /// A directory with its own function.
    Directory(Arc<dyn Children>),
}

/// Entries that come and go, such as the threads in `/proc/self/task`. Names must not clash with registered ones,
/// which are found first. Whoever keeps what it returns for a directory is asked less: the directory is not made anew each time.
pub trait Children: Send + Sync {
    /// Finds an entry.
    fn lookup(&self, name: &[u8]) -> Option<Child>;
    /// All entries with their types.
    fn list(&self) -> Result<Vec<(Vec<u8>, FileKind)>>;
}

enum Entry {
    Leaf(Arc<Leaf>),
    Directory(Arc<Directory>),
    /// A lasting one that was found by [`Children`], who also list it.
    Found(Arc<Leaf>),
}

/// A directory.
pub struct Directory {
    this: Weak<Directory>,
    place: Place,
    parent_ino: u64,
    entries: SpinLock<Names<Entry>>,
    children: Once<Arc<dyn Children>>,
    /// The directory that was found by [`Children`] last, if they keep its children, too.
    found: SpinLock<Option<Arc<Directory>>>,
    /// What registers the entries below a root, when somebody first looks for one.
    fill: Option<Fill>,
}

/// More than the entries below a root take.
const FILL_BYTES: usize = 128 << 10;

struct Fill {
    done: Once<()>,
    register: Box<dyn Fn(&Directory) + Send + Sync>,
}

impl Directory {
    /// The root of a new file system with the magic number that `statfs` shall report and the owner of all nodes.
    pub fn root(magic: u64, owner: Owner) -> Arc<Self> {
        let fs = Arc::new(Fs { dev: device_numbers::next(), magic, owner, created: Timespec::now() });
        Self::at(Place { fs, ino: 1 }, 1)
    }

    /// As [`Directory::root`], with entries that `register` adds when somebody first looks for one: most programs never do.
    pub fn root_filled_by(
        magic: u64,
        owner: Owner,
        register: impl Fn(&Self) + Send + Sync + 'static,
    ) -> Arc<Self> {
        let fs = Arc::new(Fs { dev: device_numbers::next(), magic, owner, created: Timespec::now() });
        let fill = Fill { done: Once::new(), register: Box::new(register) };
        Self::with_fill(Place { fs, ino: 1 }, 1, Some(fill))
    }

    /// Makes sure that the entries are registered that are to be. Registering cannot fail half-way, so memory for all of them is
    /// asked for before.
    fn filled(&self) -> Result<&Self> {
        if let Some(fill) = self.fill.as_ref().filter(|fill| !fill.done.is_completed()) {
            fallible::admit(FILL_BYTES)?;
            fill.done.call_once(|| (fill.register)(self));
        }
        Ok(self)
    }

    fn at(place: Place, parent_ino: u64) -> Arc<Self> {
        Self::with_fill(place, parent_ino, None)
    }

    fn with_fill(place: Place, parent_ino: u64, fill: Option<Fill>) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            this: this.clone(),
            place,
            parent_ino,
            entries: SpinLock::ranked(Rank::Files, Names::new()),
            children: Once::new(),
            found: SpinLock::new(None),
            fill,
        })
    }

    /// The directory that stands for a path above a mount point where the file system has none.
    pub(crate) fn placeholder(path: &[u8]) -> Arc<dyn Inode> {
        static FS: Once<Arc<Fs>> = Once::new();
        let fs = FS.call_once(|| {
            let (owner, created) = (Owner::default(), Timespec::now());
            Arc::new(Fs { dev: device_numbers::next(), magic: 0, owner, created })
        });
        let place = Place { fs: fs.clone(), ino: 1 }.child(path);
        Self::at(place, 1)
    }

    /// The directory at a relative path. It and the directories above it are made when they are not there; a leaf
    /// in the way is replaced.
    pub fn directory(&self, path: &str) -> Arc<Self> {
        let mut at = self.this.upgrade().expect("a directory is made inside an Arc");
        for name in path.split('/').filter(|name| !name.is_empty()) {
            at = at.subdirectory(name.as_bytes());
        }
        at
    }

    fn subdirectory(&self, name: &[u8]) -> Arc<Self> {
        let mut entries = self.entries.lock();
        if let Some(Entry::Directory(directory)) = entries.get(name) {
            return directory.clone();
        }
        let directory = Self::at(self.place.child(name), self.place.ino);
        entries.insert(name, Entry::Directory(directory.clone()));
        directory
    }

    /// Registers a leaf at a relative path, replacing what was there. Missing directories are made.
    pub fn add(&self, path: &str, leaf: Generated) {
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let (directory, name) = (self.directory(above), name.as_bytes());
        let leaf = Arc::new(Leaf::new(directory.place.child(name), leaf));
        directory.entries.lock().insert(name, Entry::Leaf(leaf));
    }

    /// Registers a read-only file of stated size 0 with generated content.
    pub fn file(&self, path: &str, generate: impl Fn() -> Result<Vec<u8>> + Send + Sync + 'static) {
        self.add(path, generated_file(0o444, 0, Box::new(generate), None));
    }

    /// Registers a read-only file with fixed content.
    pub fn text(&self, path: &str, content: impl Into<Vec<u8>>) {
        let content: Vec<u8> = content.into();
        self.file(path, move || Ok(content.clone()));
    }

    /// Registers a file that can also be written (mode 0644).
    pub fn writable(&self, path: &str, generate: Generator, write: WriteHook) {
        self.add(path, generated_file(0o644, 0, generate, Some(write)));
    }

    /// Registers a symbolic link with a fixed text.
    pub fn symlink(&self, path: &str, target: &str) {
        self.add(path, link(LinkTarget::Text(target.as_bytes().to_vec())));
    }

    /// Names the function that finds further entries of the directory at a relative path; the first call wins.
    pub fn dynamic(&self, path: &str, children: Arc<dyn Children>) {
        self.directory(path).children.call_once(|| children);
    }

    fn child(&self, name: &[u8], child: Child) -> Arc<dyn Inode> {
        match child {
            Child::Leaf(leaf) => Arc::new(Leaf::new(self.place.child(name), leaf)),
            Child::Lasting(leaf) => self.kept(name, Arc::new(Leaf::new(self.place.child(name), leaf))),
            Child::Directory(children) => self.child_directory(name, children),
        }
    }

    /// Keeps a leaf for those who look for it next. Of several that look for it at once all get the same.
    fn kept(&self, name: &[u8], leaf: Arc<Leaf>) -> Arc<Leaf> {
        if fallible::admit(fallible::SMALL_BYTES).is_err() {
            return leaf;
        }
        let mut entries = self.entries.lock();
        if let Some(Entry::Found(earlier)) = entries.get(name) {
            return earlier.clone();
        }
        entries.insert(name, Entry::Found(leaf.clone()));
        leaf
    }

    fn child_directory(&self, name: &[u8], children: Arc<dyn Children>) -> Arc<Self> {
        let ino = self.place.child_ino(name);
        let is_it = |found: &&Arc<Self>| {
            found.place.ino == ino && found.children.get().is_some_and(|own| Arc::ptr_eq(own, &children))
        };
        if let Some(found) = self.found.lock().as_ref().filter(is_it) {
            return found.clone();
        }
        let is_kept = Arc::strong_count(&children) > 1;
        let directory = Self::at(Place { fs: self.place.fs.clone(), ino }, self.place.ino);
        directory.children.call_once(|| children);
        if is_kept {
            let previous = self.found.lock().replace(directory.clone());
            drop(previous);
        }
        directory
    }

    /// The error for an attempt to change entries, as Linux gives it in `/proc`.
    fn refuse<T>(&self, name: &[u8], new: bool) -> Result<T> {
        match (self.lookup(name).is_ok(), new) {
            (true, true) => Err(Errno::EEXIST),
            (false, true) => Err(Errno::ENOENT),
            (true, false) => Err(Errno::EPERM),
            (false, false) => Err(Errno::ENOENT),
        }
    }
}

impl Inode for Directory {
    fn identity(&self) -> InodeId {
        self.place.id()
    }

    fn kind(&self) -> FileKind {
        FileKind::Directory
    }

    fn metadata(&self) -> Result<Metadata> {
        Ok(metadata(&self.place, FileKind::Directory, 0o555))
    }

    fn set_attr(&self, _change: &SetAttr) -> Result<()> {
        Err(Errno::EPERM)
    }

    fn lookup(&self, name: &[u8]) -> Result<Arc<dyn Inode>> {
        let entries = self.filled()?.entries.lock();
        match entries.get(name) {
            Some(Entry::Directory(directory)) => return Ok(directory.clone()),
            Some(Entry::Leaf(leaf) | Entry::Found(leaf)) => return Ok(leaf.clone()),
            None => {}
        }
        drop(entries);
        let child = self.children.get().and_then(|children| children.lookup(name));
        child.map(|child| self.child(name, child)).ok_or(Errno::ENOENT)
    }

    fn create(&self, name: &[u8], _mode: u32, _owner: Owner, _flags: OpenFlags) -> Result<Created> {
        self.refuse(name, true)
    }

    fn mkdir(&self, name: &[u8], _mode: u32, _owner: Owner) -> Result<Arc<dyn Inode>> {
        self.refuse(name, true)
    }

    fn symlink(&self, name: &[u8], _target: &[u8], _owner: Owner) -> Result<Arc<dyn Inode>> {
        self.refuse(name, true)
    }

    fn link(&self, name: &[u8], _target: &Arc<dyn Inode>) -> Result<()> {
        self.refuse(name, true)
    }

    fn unlink(&self, name: &[u8]) -> Result<()> {
        self.refuse(name, false)
    }

    fn rmdir(&self, name: &[u8]) -> Result<()> {
        self.refuse(name, false)
    }

    fn rename(
        &self,
        name: &[u8],
        _new_parent: &Arc<dyn Inode>,
        _new_name: &[u8],
        _flags: RenameFlags,
    ) -> Result<()> {
        self.refuse(name, false)
    }

    fn open(self: Arc<Self>, _flags: OpenFlags) -> Result<Arc<dyn File>> {
        Ok(Arc::new(Listing { directory: self }))
    }

    fn statfs(&self) -> Result<StatFs> {
        Ok(statfs(&self.place))
    }
}

/// An entry as it is listed.
struct Listed {
    name: Vec<u8>,
    kind: FileKind,
    ino: u64,
    cookie: u64,
}

/// The least cookie of a found entry that a number names; there are fewer others.
const NUMBERED: u64 = 1 << 32;

/// The cookie of a found entry behind one with the cookie `last`. What a number names has the cookie of that number: whoever ends
/// what is listed while it reads on, as who closes the descriptors in `/proc/self/fd` does, misses none.
fn cookie_of_found(name: &[u8], last: u64) -> u64 {
    let number = core::str::from_utf8(name).ok().and_then(|name| name.parse::<u32>().ok());
    number.map_or(0, |number| NUMBERED + u64::from(number)).max(last + 1)
}

/// An open directory. Cookies grow from entry to entry, and reading goes on behind the one that was read last.
struct Listing {
    directory: Arc<Directory>,
}

impl Listing {
    /// All entries: `.`, `..`, the registered ones in order, then the found ones.
    fn entries(&self) -> Result<Vec<Listed>> {
        let directory = &self.directory;
        let ino_of = |name: &[u8]| directory.place.child_ino(name);
        let listed = |name, kind, ino, cookie| Listed { name, kind, ino, cookie };
        let mut all = alloc::vec![
            listed(b".".to_vec(), FileKind::Directory, directory.place.ino, 1),
            listed(b"..".to_vec(), FileKind::Directory, directory.parent_ino, 2),
        ];
        for (name, entry) in directory.filled()?.entries.lock().iter() {
            let kind = match entry {
                Entry::Leaf(leaf) => leaf.kind(),
                Entry::Directory(_) => FileKind::Directory,
                Entry::Found(_) => continue,
            };
            let cookie = all.len() as u64 + 1;
            all.push(listed(name.to_vec(), kind, ino_of(name), cookie));
        }
        if let Some(children) = directory.children.get() {
            let children = children.list()?;
            all.make_room(children.len())?;
            let mut cookie = all.len() as u64;
            all.extend(children.into_iter().map(|(name, kind)| {
                cookie = cookie_of_found(&name, cookie);
                let ino = ino_of(&name);
                listed(name, kind, ino, cookie)
            }));
        }
        Ok(all)
    }
}

impl File for Listing {
    fn positions(&self) -> Positions {
        Positions::Shared
    }

    fn readdir(&self, cookie: u64, sink: &mut dyn FnMut(DirEntry<'_>) -> bool) -> Result<()> {
        for entry in self.entries()?.iter().filter(|entry| entry.cookie > cookie) {
            let Listed { name, kind, ino, cookie } = entry;
            if !sink(DirEntry { ino: *ino, next_cookie: *cookie, kind: Some(*kind), name }) {
                break;
            }
        }
        Ok(())
    }

    fn fsync(&self, _data_only: bool) -> Result<()> {
        Ok(())
    }
}
