// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Inodes of a 9P tree.
//!
//! A `Node` knows its identity (`qid.path` is the inode number) and how to get a fid for itself: it keeps one,
//! or walks again from the directory it was found in. Opening a file uses that very fid up instead of copying it,
//! so look-up and open take one exchange each.
//!
//! In a tree that can be written nothing is cached: attributes and names are asked for every time, several names
//! in one exchange. In a read-only tree look-ups (also failed ones), attributes, link texts and pages of files
//! are kept.

use alloc::boxed::Box;
use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;

use hadal_hal::memory::fallible;
use hadal_hal::sync::SpinLock;
use hadal_sync::Mutex;
use spin::Once;

use super::cache::LookupCache;
use super::client::{Client, Fid, WalkEnd};
use super::codec::{Attributes, Changes, MAX_WALK, QID_DIRECTORY, QID_SYMLINK, Qid, WireTime, change};
use super::file::NinepFile;
use super::pages::Pages;
use super::transport::Transport;
use crate::device_numbers;
use crate::errno::{Errno, Result};
use crate::file::File;
use crate::flags::{OpenFlags, RenameFlags};
use crate::inode::{Created, Inode, InodeId, Owner, Walked};
use crate::metadata::{FileKind, MODE_PERMISSIONS, Metadata, SetAttr, SetTime, StatFs, Timespec};
use crate::page_cache::PageCache;
use crate::turns::Turns;

/// How to mount a tree.
#[derive(Clone)]
pub struct MountOptions {
    /// Name of the tree at the server; empty for its only one.
    pub tree: Vec<u8>,
    /// The user to act as, where the server can.
    pub uid: u32,
    /// Nothing will be written: allows caching. The mount itself must refuse changes.
    pub read_only: bool,
    /// Keeps pages of files.
    pub pages: Arc<PageCache>,
}

/// Connects to a server and returns the root directory of its tree.
pub fn mount(transport: Arc<dyn Transport>, options: &MountOptions) -> Result<Arc<dyn Inode>> {
    let (client, fid, qid) = Client::connect(transport, &options.tree, options.uid)?;
    if qid.kind & QID_DIRECTORY == 0 {
        return Err(Errno::ENOTDIR);
    }
    if options.read_only {
        client.put_off_clunks();
    }
    let fs = Arc::new(Fs {
        dev: device_numbers::next(),
        read_only: options.read_only,
        lookups: LookupCache::new(),
        pages: Pages::new(options.pages.clone(), options.read_only),
        appends: Turns::new(),
    });
    Node::new(&fs, qid, None, Some(fid)).map(|root| root as _)
}

/// What all nodes of a tree share.
pub(super) struct Fs {
    dev: u64,
    pub(super) read_only: bool,
    lookups: LookupCache,
    pub(super) pages: Pages,
    /// Who appends to which file.
    pub(super) appends: Turns,
}

/// Where a node was found: names to follow from another node.
struct Origin {
    base: Arc<Node>,
    names: Vec<Box<[u8]>>,
}

/// An inode of a 9P tree.
pub(super) struct Node {
    this: Weak<Node>,
    pub(super) fs: Arc<Fs>,
    pub(super) qid: Qid,
    /// `None` for the root, whose fid is never used up.
    origin: Option<Origin>,
    /// A fid that was never opened.
    fid: Mutex<Option<Arc<Fid>>>,
    /// Attributes, in a read-only tree.
    attributes: SpinLock<Option<Metadata>>,
    /// Text of a link, in a read-only tree.
    target: Once<Vec<u8>>,
}

impl Node {
    fn new(fs: &Arc<Fs>, qid: Qid, origin: Option<Origin>, fid: Option<Fid>) -> Result<Arc<Self>> {
        let fid = fid.map(fallible::arc).transpose()?;
        let node = fallible::arc_cyclic(|this| Self {
            this: this.clone(),
            fs: fs.clone(),
            qid,
            origin,
            fid: Mutex::new(fid),
            attributes: SpinLock::new(None),
            target: Once::new(),
        });
        Ok(node?)
    }

    /// A node found by following `names` from this one.
    fn found(&self, names: &[&[u8]], qid: Qid, fid: Option<Fid>) -> Result<Arc<Self>> {
        let base = self.this.upgrade().ok_or(Errno::ESTALE)?;
        // At most as many as one message has, a path of 4,096 bytes in all.
        fallible::admit(names.iter().map(|name| name.len() + 32).sum())?;
        let names = names.iter().map(|name| Box::from(*name)).collect();
        Self::new(&self.fs, qid, Some(Origin { base, names }), fid)
    }

    /// The node that the host has just made. Without memory for it the name goes again: nobody misses it yet.
    fn found_new(&self, name: &[u8], qid: Qid, remove: fn(&Self, &[u8]) -> Result<()>) -> Result<Arc<Self>> {
        self.found(&[name], qid, None).inspect_err(|_| {
            let _ = remove(self, name);
        })
    }

    /// A fid for the node that is not open.
    fn fid(&self) -> Result<Arc<Fid>> {
        let mut slot = self.fid.lock();
        if let Some(fid) = &*slot {
            return Ok(fid.clone());
        }
        let fid = fallible::arc(self.find_again()?)?;
        *slot = Some(fid.clone());
        Ok(fid)
    }

    /// Walks to the node again; `ESTALE` when another file has taken its name.
    fn find_again(&self) -> Result<Fid> {
        let origin = self.origin.as_ref().ok_or(Errno::ESTALE)?;
        let names: Vec<&[u8]> = origin.names.iter().map(|name| &name[..]).collect();
        let base = origin.base.fid()?;
        match base.walk(&names)? {
            WalkEnd::All(fid, qids) if qids.last().is_some_and(|qid| qid.path == self.qid.path) => Ok(fid),
            WalkEnd::All(..) => Err(Errno::ESTALE),
            WalkEnd::Part(_) => Err(Errno::ENOENT),
        }
    }

    /// A fid that the caller may open: the node's own if nobody else uses it, else a new one.
    pub(super) fn fid_to_open(&self) -> Result<Fid> {
        let taken = if self.is_directory() { None } else { self.fid.lock().take() };
        match taken.map(Arc::try_unwrap) {
            Some(Ok(fid)) => Ok(fid),
            Some(Err(shared)) => {
                let copy = shared.duplicate();
                *self.fid.lock() = Some(shared);
                copy
            }
            None if self.is_directory() => self.fid()?.duplicate(),
            None => self.find_again(),
        }
    }

    fn is_directory(&self) -> bool {
        self.qid.kind & QID_DIRECTORY != 0
    }

    /// The attributes of a read-only tree's node, if they were asked for before.
    pub(super) fn known_metadata(&self) -> Option<Metadata> {
        *self.attributes.lock()
    }

    /// Keeps attributes, in a read-only tree.
    pub(super) fn remember(&self, metadata: Metadata) {
        if self.fs.read_only {
            *self.attributes.lock() = Some(metadata);
        }
    }

    /// Attributes in the form the rest of the kernel uses.
    pub(super) fn metadata_of(&self, attributes: &Attributes) -> Metadata {
        let time = |time: WireTime| Timespec {
            sec: time.sec as i64,
            nsec: u32::try_from(time.nsec).unwrap_or(0).min(999_999_999),
        };
        Metadata {
            dev: self.fs.dev,
            ino: self.qid.path,
            mode: attributes.mode,
            nlink: attributes.nlink,
            uid: attributes.uid,
            gid: attributes.gid,
            rdev: attributes.rdev,
            size: attributes.size,
            // The server names its message size, which would make every buffer of a C program that large.
            blksize: attributes.blksize.clamp(4096, 65536),
            blocks: attributes.blocks,
            atime: time(attributes.atime),
            mtime: time(attributes.mtime),
            ctime: time(attributes.ctime),
        }
    }

    /// Looks a name up in a read-only tree.
    fn lookup_cached(&self, name: &[u8]) -> Result<Arc<Self>> {
        match self.fs.lookups.get(self.qid.path, name) {
            Some(Some(node)) => return Ok(node),
            Some(None) => return Err(Errno::ENOENT),
            None => {}
        }
        let result = match self.fid()?.walk(&[name]) {
            Ok(WalkEnd::All(fid, qids)) => {
                let qid = *qids.last().ok_or(Errno::EIO)?;
                Ok(self.found(&[name], qid, Some(fid))?)
            }
            Ok(WalkEnd::Part(_)) => Err(Errno::EIO),
            Err(error) => Err(error),
        };
        match &result {
            Ok(node) => self.fs.lookups.put(self.qid.path, name, Some(node.clone())),
            Err(Errno::ENOENT) => self.fs.lookups.put(self.qid.path, name, None),
            Err(_) => {}
        }
        result
    }

    /// Follows as many names as one exchange allows, not past a symbolic link.
    fn walk_uncached(&self, names: &[&[u8]]) -> Result<(Arc<Self>, usize)> {
        let names = &names[..names.len().min(MAX_WALK)];
        let fid = self.fid()?;
        let steps = match fid.walk(names) {
            Ok(WalkEnd::All(new_fid, qids)) => {
                let last = qids.len() - 1;
                let link = qids[..last].iter().position(|qid| qid.kind & QID_SYMLINK != 0);
                match link {
                    None => return Ok((self.found(names, qids[last], Some(new_fid))?, names.len())),
                    // The server followed a link by itself; what it means here may differ.
                    Some(link) => link + 1,
                }
            }
            Ok(WalkEnd::Part(qids)) => qids.len(),
            // Some servers fail as a whole where they should tell how far they came.
            Err(_) if names.len() > 1 => 1,
            Err(error) => return Err(error),
        };
        let names = &names[..steps];
        match fid.walk(names)? {
            WalkEnd::All(new_fid, qids) => {
                let qid = *qids.last().ok_or(Errno::EIO)?;
                Ok((self.found(names, qid, Some(new_fid))?, steps))
            }
            WalkEnd::Part(_) => Err(Errno::ESTALE),
        }
    }

    /// Sets the length by `set`; the pages of the file end there, too.
    pub(super) fn resize(
        &self,
        size: u64,
        end: impl Fn() -> Result<u64>,
        set: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let Some(pages) = self.fs.pages.mapped(&self.qid) else {
            set()?;
            // It may have been mapped meanwhile.
            self.fs.pages.mapped(&self.qid).into_iter().for_each(|pages| pages.cut(size));
            return Ok(());
        };
        let _order = pages.writers.lock();
        let before = end()?;
        set()?;
        pages.cut(size.min(before));
        Ok(())
    }

    /// Another node of the same tree.
    fn sibling<'a>(&self, other: &'a Arc<dyn Inode>) -> Result<&'a Self> {
        let other = other.downcast_ref::<Self>().filter(|node| Arc::ptr_eq(&node.fs, &self.fs));
        other.ok_or(Errno::EXDEV)
    }
}

impl Inode for Node {
    fn identity(&self) -> InodeId {
        InodeId { dev: self.fs.dev, ino: self.qid.path }
    }

    fn kind(&self) -> FileKind {
        if self.is_directory() {
            FileKind::Directory
        } else if self.qid.kind & QID_SYMLINK != 0 {
            FileKind::Symlink
        } else {
            // Devices, pipes and sockets of the host look like files here; the server refuses to open them.
            FileKind::Regular
        }
    }

    fn metadata(&self) -> Result<Metadata> {
        if let Some(known) = self.known_metadata() {
            return Ok(known);
        }
        let metadata = self.metadata_of(&self.fid()?.getattr()?);
        self.remember(metadata);
        Ok(metadata)
    }

    fn set_attr(&self, change: &SetAttr) -> Result<()> {
        let fid = self.fid()?;
        let set = || fid.setattr(&wire_changes(change));
        match change.size {
            Some(size) => self.resize(size, || Ok(fid.getattr()?.size), set),
            None => set(),
        }
    }

    fn checks_permissions(&self) -> bool {
        true
    }

    fn lookup(&self, name: &[u8]) -> Result<Arc<dyn Inode>> {
        self.walk(&[name]).map(|walked| walked.inode)
    }

    fn walk(&self, names: &[&[u8]]) -> Result<Walked> {
        let first = names.first().ok_or(Errno::EINVAL)?;
        if !self.is_directory() {
            return Err(Errno::ENOTDIR);
        }
        if self.fs.read_only {
            return Ok(Walked { inode: self.lookup_cached(first)?, count: 1 });
        }
        let (inode, count) = self.walk_uncached(names)?;
        Ok(Walked { inode, count })
    }

    fn create(&self, name: &[u8], mode: u32, owner: Owner, flags: OpenFlags) -> Result<Created> {
        let (fid, room) = (self.fid()?.duplicate()?, fallible::arc_room()?);
        let wire = wire_flags(flags) | (OpenFlags::CREATE | OpenFlags::EXCLUSIVE).bits();
        let (qid, io_unit) = fid.create(name, wire, mode & MODE_PERMISSIONS, owner.gid)?;
        let node = self.found_new(name, qid, Self::unlink)?;
        let file = room.fill(NinepFile::new(node.clone(), fid, (qid, io_unit), flags));
        Ok(Created { inode: node, file })
    }

    fn mkdir(&self, name: &[u8], mode: u32, owner: Owner) -> Result<Arc<dyn Inode>> {
        let qid = self.fid()?.mkdir(name, mode & MODE_PERMISSIONS, owner.gid)?;
        Ok(self.found_new(name, qid, Self::rmdir)?)
    }

    fn symlink(&self, name: &[u8], target: &[u8], owner: Owner) -> Result<Arc<dyn Inode>> {
        let qid = self.fid()?.symlink(name, target, owner.gid)?;
        Ok(self.found_new(name, qid, Self::unlink)?)
    }

    fn link(&self, name: &[u8], target: &Arc<dyn Inode>) -> Result<()> {
        let target = self.sibling(target)?.fid()?;
        self.fid()?.link(name, &target)
    }

    fn unlink(&self, name: &[u8]) -> Result<()> {
        self.fid()?.unlink(name)
    }

    fn rmdir(&self, name: &[u8]) -> Result<()> {
        self.fid()?.rmdir(name)
    }

    fn rename(
        &self,
        name: &[u8],
        new_parent: &Arc<dyn Inode>,
        new_name: &[u8],
        flags: RenameFlags,
    ) -> Result<()> {
        let target = self.sibling(new_parent)?;
        // The protocol has a plain rename only. Nobody but the host can come between the two exchanges.
        if flags.contains(RenameFlags::EXCHANGE) {
            return Err(Errno::EINVAL);
        }
        if flags.contains(RenameFlags::NO_REPLACE) {
            match target.lookup(new_name) {
                Ok(_) => return Err(Errno::EEXIST),
                Err(Errno::ENOENT) => {}
                Err(error) => return Err(error),
            }
        }
        self.fid()?.rename(name, &*target.fid()?, new_name)
    }

    fn readlink(&self) -> Result<Vec<u8>> {
        if self.kind() != FileKind::Symlink {
            return Err(Errno::EINVAL);
        }
        if let Some(target) = self.target.get() {
            return Ok(target.clone());
        }
        let target = self.fid()?.readlink()?;
        if self.fs.read_only {
            self.target.call_once(|| target.clone());
        }
        Ok(target)
    }

    fn open(self: Arc<Self>, flags: OpenFlags) -> Result<Arc<dyn File>> {
        let (room, fid) = (fallible::arc_room()?, self.fid_to_open()?);
        match fid.open(wire_flags(flags)) {
            Ok((qid, io_unit)) => {
                if qid.version != self.qid.version {
                    // The host has changed the file.
                    *self.attributes.lock() = None;
                }
                if flags.contains(OpenFlags::TRUNCATE)
                    && let Some(pages) = self.fs.pages.mapped(&qid)
                {
                    let _order = pages.writers.lock();
                    pages.cut(0);
                }
                Ok(room.fill(NinepFile::new(self, fid, (qid, io_unit), flags)))
            }
            Err(error) => {
                let mut slot = self.fid.lock();
                let spare = if slot.is_none() {
                    *slot = Some(Arc::new(fid));
                    None
                } else {
                    Some(fid)
                };
                drop(slot);
                drop(spare);
                Err(error)
            }
        }
    }

    fn statfs(&self) -> Result<StatFs> {
        let numbers = self.fid()?.statfs()?;
        Ok(StatFs {
            magic: u64::from(numbers.magic),
            block_size: u64::from(numbers.block_size),
            blocks: numbers.blocks,
            blocks_free: numbers.blocks_free,
            blocks_available: numbers.blocks_available,
            files: numbers.files,
            files_free: numbers.files_free,
            fsid: numbers.fsid,
            name_max: u64::from(numbers.name_max),
        })
    }

    fn release_caches(&self) {
        // Remembered nodes hold the file system and are held by it: this also breaks that circle.
        self.fs.lookups.clear();
        self.fs.pages.clear();
        if let Ok(fid) = self.fid() {
            fid.client().release_buffers();
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // A deep tree makes a long chain of nodes; dropping it must not recurse.
        let mut origin = self.origin.take();
        while let Some(mut node) = origin.and_then(|origin| Arc::into_inner(origin.base)) {
            origin = node.origin.take();
        }
    }
}

/// The flags of `open` that matter to the server; their values are those of the protocol.
pub(super) fn wire_flags(flags: OpenFlags) -> u32 {
    let kept = OpenFlags::ACCESS_MODE
        | OpenFlags::APPEND
        | OpenFlags::TRUNCATE
        | OpenFlags::DIRECTORY
        | OpenFlags::NO_FOLLOW
        | OpenFlags::SYNC
        | OpenFlags::DATA_SYNC;
    (flags.intersection(kept) | OpenFlags::LARGE_FILE).bits()
}

/// Attribute changes in the form of the protocol.
pub(super) fn wire_changes(set: &SetAttr) -> Changes {
    let mut changes = Changes::default();
    if let Some(mode) = set.mode {
        changes.valid |= change::MODE;
        changes.mode = mode & MODE_PERMISSIONS;
    }
    if let Some(uid) = set.uid {
        changes.valid |= change::UID;
        changes.uid = uid;
    }
    if let Some(gid) = set.gid {
        changes.valid |= change::GID;
        changes.gid = gid;
    }
    if let Some(size) = set.size {
        changes.valid |= change::SIZE;
        changes.size = size;
    }
    let mut time = |set: Option<SetTime>, now: u32, given: u32| match set {
        None => WireTime::default(),
        Some(SetTime::Now) => {
            changes.valid |= now;
            WireTime::default()
        }
        Some(SetTime::At(time)) => {
            changes.valid |= now | given;
            WireTime { sec: time.sec as u64, nsec: u64::from(time.nsec) }
        }
    };
    let atime = time(set.atime, change::ATIME, change::ATIME_SET);
    let mtime = time(set.mtime, change::MTIME, change::MTIME_SET);
    Changes { atime, mtime, ..changes }
}
