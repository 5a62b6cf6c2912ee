// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Directories of a [`super::TmpFs`]: entries, removing, renaming.
//!
//! Every entry has a cookie that never changes and grows with each new entry, so a listing that is interrupted
//! by removals (`rm -r`) neither skips nor repeats an entry.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::sync::{Arc, Weak};

use hadal_hal::memory::fallible;

use super::{Body, Node};
use crate::errno::{Errno, Result};
use crate::file::DirEntry;
use crate::flags::RenameFlags;
use crate::inode::Inode;
use crate::metadata::FileKind;
use crate::namespace::NAME_MAX;

/// Cookies behind `.` and `..`; the next one belongs to the first entry.
const COOKIE_DOT: u64 = 1;
const COOKIE_DOT_DOT: u64 = 2;

/// The entries of a directory.
pub(super) struct Entries {
    by_name: BTreeMap<Box<[u8]>, (u64, Arc<Node>)>,
    /// The cookie behind an entry leads to its name.
    by_cookie: BTreeMap<u64, Box<[u8]>>,
    last_cookie: u64,
    /// The directory above; dangling for the root, which is its own parent.
    pub(super) parent: Weak<Node>,
    /// The directory has no name any more and takes no entries.
    removed: bool,
}

impl Entries {
    pub(super) fn new() -> Self {
        Self {
            by_name: BTreeMap::new(),
            by_cookie: BTreeMap::new(),
            last_cookie: COOKIE_DOT_DOT,
            parent: Weak::new(),
            removed: false,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.by_name.len()
    }

    pub(super) fn get(&self, name: &[u8]) -> Option<Arc<Node>> {
        self.by_name.get(name).map(|(_, node)| node.clone())
    }

    /// Checks that an entry of this name may be added.
    pub(super) fn check_free(&self, name: &[u8]) -> Result<()> {
        if self.by_name.contains_key(name) {
            Err(Errno::EEXIST)
        } else if self.removed {
            Err(Errno::ENOENT)
        } else {
            Ok(())
        }
    }

    /// Adds an entry, or lets an existing name stand for another node.
    pub(super) fn insert(&mut self, name: &[u8], node: Arc<Node>) -> Result<()> {
        if let Some((_, old)) = self.by_name.get_mut(name) {
            *old = node;
            return Ok(());
        }
        // Both copies of the name, and a node of each map.
        fallible::admit(2 * (name.len() + fallible::SMALL_BYTES))?;
        self.last_cookie += 1;
        self.by_cookie.insert(self.last_cookie, Box::from(name));
        self.by_name.insert(Box::from(name), (self.last_cookie, node));
        Ok(())
    }

    fn take(&mut self, name: &[u8]) -> Option<Arc<Node>> {
        let (cookie, node) = self.by_name.remove(name)?;
        self.by_cookie.remove(&cookie);
        Some(node)
    }
}

impl Node {
    /// Lists the directory from `cookie` on.
    pub(super) fn list(&self, cookie: u64, sink: &mut dyn FnMut(DirEntry<'_>) -> bool) -> Result<()> {
        let entries = self.entries()?.lock();
        if cookie < COOKIE_DOT && !sink(directory_entry(self.ino, COOKIE_DOT, b".")) {
            return Ok(());
        }
        let parent = entries.parent.upgrade().map_or(self.ino, |node| node.ino);
        if cookie < COOKIE_DOT_DOT && !sink(directory_entry(parent, COOKIE_DOT_DOT, b"..")) {
            return Ok(());
        }
        for (&next_cookie, name) in entries.by_cookie.range(cookie.saturating_add(1)..) {
            let Some((_, node)) = entries.by_name.get(name) else { continue };
            if !sink(DirEntry { ino: node.ino, next_cookie, kind: Some(node.kind()), name }) {
                break;
            }
        }
        Ok(())
    }

    /// Adds a name for an existing node.
    pub(super) fn link_node(&self, name: &[u8], node: Arc<Node>) -> Result<()> {
        if name.len() > NAME_MAX {
            return Err(Errno::ENAMETOOLONG);
        }
        let entries = self.entries()?;
        let _tree = self.fs.tree.lock();
        entries.lock().check_free(name)?;
        if matches!(node.body, Body::Directory(_)) {
            return Err(Errno::EPERM);
        }
        // A file whose last name is gone cannot get a new one.
        if node.attributes.lock().nlink == 0 {
            return Err(Errno::ENOENT);
        }
        entries.lock().insert(name, node.clone())?;
        node.change_links(1);
        self.touch_content();
        Ok(())
    }

    /// Removes a file's name, or an empty directory.
    pub(super) fn remove(&self, name: &[u8], directory: bool) -> Result<()> {
        let entries = self.entries()?;
        let _tree = self.fs.tree.lock();
        let node = entries.lock().get(name).ok_or(Errno::ENOENT)?;
        match &node.body {
            Body::Directory(_) if !directory => return Err(Errno::EISDIR),
            Body::Directory(own) => retire(&mut own.lock())?,
            _ if directory => return Err(Errno::ENOTDIR),
            _ => {}
        }
        let taken = entries.lock().take(name);
        self.forget(taken.as_deref());
        self.touch_content();
        Ok(())
    }

    /// Moves an entry to `target` (which may be this directory).
    pub(super) fn rename_to(
        &self,
        name: &[u8],
        target: &Node,
        new_name: &[u8],
        flags: RenameFlags,
    ) -> Result<()> {
        if new_name.len() > NAME_MAX {
            return Err(Errno::ENAMETOOLONG);
        }
        let (entries, target_entries) = (self.entries()?, target.entries()?);
        let _tree = self.fs.tree.lock();
        let source = entries.lock().get(name).ok_or(Errno::ENOENT)?;
        let replaced = target_entries.lock().get(new_name);
        if source.is_above(target) {
            return Err(Errno::EINVAL);
        }
        if flags.contains(RenameFlags::EXCHANGE) {
            let other = replaced.ok_or(Errno::ENOENT)?;
            if other.is_above(self) {
                return Err(Errno::EINVAL);
            }
            target_entries.lock().insert(new_name, source.clone())?;
            entries.lock().insert(name, other.clone())?;
            self.moved(&source, target);
            target.moved(&other, self);
            return Ok(());
        }
        if let Some(old) = &replaced {
            if flags.contains(RenameFlags::NO_REPLACE) {
                return Err(Errno::EEXIST);
            }
            if Arc::ptr_eq(old, &source) {
                return Ok(());
            }
            match (&source.body, &old.body) {
                (Body::Directory(_), Body::Directory(own)) => retire(&mut own.lock())?,
                (Body::Directory(_), _) => return Err(Errno::ENOTDIR),
                (_, Body::Directory(_)) => return Err(Errno::EISDIR),
                _ => {}
            }
        } else {
            target_entries.lock().check_free(new_name)?;
        }
        // A name that is there already takes no memory: nothing has been changed if this fails.
        target_entries.lock().insert(new_name, source.clone())?;
        entries.lock().take(name);
        target.forget(replaced.as_deref());
        self.moved(&source, target);
        Ok(())
    }

    /// Updates counts and times after `node` lost a name in this directory.
    fn forget(&self, node: Option<&Node>) {
        let Some(node) = node else { return };
        if node.kind() == FileKind::Directory {
            node.change_links(-2);
            self.change_links(-1);
        } else {
            node.change_links(-1);
        }
    }

    /// Updates parent, counts and times after `node` moved from this directory to `target`.
    fn moved(&self, node: &Node, target: &Node) {
        if let Body::Directory(own) = &node.body {
            own.lock().parent = target.this.clone();
            self.change_links(-1);
            target.change_links(1);
        }
        node.change_links(0);
        self.touch_content();
        target.touch_content();
    }

    /// True when this node is `other` or a directory above it. The tree lock keeps the answer true.
    fn is_above(&self, other: &Node) -> bool {
        let mut at = other.this.upgrade();
        while let Some(node) = at {
            if core::ptr::eq(self, &*node) {
                return true;
            }
            at = match &node.body {
                Body::Directory(entries) => entries.lock().parent.upgrade(),
                _ => None,
            };
        }
        false
    }
}

/// Marks an empty directory as removed.
fn retire(entries: &mut Entries) -> Result<()> {
    if entries.len() > 0 {
        return Err(Errno::ENOTEMPTY);
    }
    entries.removed = true;
    Ok(())
}

fn directory_entry(ino: u64, next_cookie: u64, name: &[u8]) -> DirEntry<'_> {
    DirEntry { ino, next_cookie, kind: Some(FileKind::Directory), name }
}
