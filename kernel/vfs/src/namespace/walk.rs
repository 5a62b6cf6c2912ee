// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Path resolution.
//!
//! The walk keeps a place and the text still to go. Names up to the next `.` or `..` are handed to the file
//! system together, so that a file server follows all of them in one exchange. A symbolic link or a `..` rewrites
//! the text and the walk goes on, which keeps it free of recursion.

use alloc::borrow::Cow;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

use arrayvec::ArrayVec;

use super::access::{self, Caller};
use super::{
    LINKS_MAX, Location, Mounts, NAME_MAX, Namespace, PATH_MAX, find_mount, leads_to_mount, mount_location,
    push_name, root_location,
};
use crate::errno::{Errno, Result};
use crate::flags::Access;
use crate::inode::Inode;
use crate::metadata::FileKind;
use crate::synthetic::Directory;

/// Longest canonical path in bytes. Relative steps can lead deeper than any path a program can pass; this bounds
/// what a location costs.
const DEPTH_MAX: usize = 16 * PATH_MAX;

/// Names that are handed to a file system together: what a 9P server follows in one exchange.
const NAMES_MOST: usize = 16;

/// What to do when the last component is a symbolic link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follow {
    /// Go where it leads.
    Yes,
    /// Stop at the link itself, unless a slash follows it.
    No,
}

/// The directory and the last component of a path, for calls that make or remove an entry.
pub(super) struct Entry {
    pub(super) parent: Location,
    pub(super) name: Vec<u8>,
    /// A slash follows the name: it can only be a directory.
    pub(super) must_be_directory: bool,
}

impl Entry {
    /// The canonical path of the entry.
    pub(super) fn path(&self) -> Vec<u8> {
        self.parent.child_path(&self.name)
    }

    /// True when the last component is no name: empty for `/`, or `.` or `..`.
    pub(super) fn is_special(&self) -> bool {
        matches!(&self.name[..], b"" | b"." | b"..")
    }
}

impl Namespace {
    /// Finds the place a path leads to. A relative path starts at `start`.
    pub fn resolve(
        &self,
        caller: &Caller<'_>,
        start: &Location,
        path: &[u8],
        follow: Follow,
    ) -> Result<Location> {
        self.resolve_counting(caller, start, path, follow, &mut 0)
    }

    /// As [`Namespace::resolve`], adding the symbolic links on the way to `links`.
    pub(super) fn resolve_counting(
        &self,
        caller: &Caller<'_>,
        start: &Location,
        path: &[u8],
        follow: Follow,
        links: &mut u32,
    ) -> Result<Location> {
        check_path(path)?;
        let mounts = self.mounts();
        let at = if path[0] == b'/' { root_location(&mounts) } else { start.clone() };
        Walk { caller, mounts, at, pending: Cow::Borrowed(path), position: 0, links }.run(follow)
    }

    /// Resolves all but the last component of a path.
    pub(super) fn resolve_entry(&self, caller: &Caller<'_>, start: &Location, path: &[u8]) -> Result<Entry> {
        self.resolve_entry_counting(caller, start, path, &mut 0)
    }

    pub(super) fn resolve_entry_counting(
        &self,
        caller: &Caller<'_>,
        start: &Location,
        path: &[u8],
        links: &mut u32,
    ) -> Result<Entry> {
        check_path(path)?;
        let end = path.iter().rposition(|&byte| byte != b'/').map_or(0, |last| last + 1);
        let begin = path[..end].iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
        let name = &path[begin..end];
        if name.len() > NAME_MAX {
            return Err(Errno::ENAMETOOLONG);
        }
        let parent = match &path[..begin] {
            _ if end == 0 => self.root(),
            [] => start.clone(),
            directory => self.resolve_counting(caller, start, directory, Follow::Yes, links)?,
        };
        if !parent.inode().is_directory() {
            return Err(Errno::ENOTDIR);
        }
        Ok(Entry { parent, name: name.to_vec(), must_be_directory: end < path.len() })
    }
}

fn check_path(path: &[u8]) -> Result<()> {
    match path.len() {
        0 => Err(Errno::ENOENT),
        len if len > PATH_MAX => Err(Errno::ENAMETOOLONG),
        _ => Ok(()),
    }
}

struct Walk<'a, 'c> {
    caller: &'a Caller<'c>,
    mounts: Arc<Mounts>,
    at: Location,
    /// The text still to go starts at `position`.
    pending: Cow<'a, [u8]>,
    position: usize,
    links: &'a mut u32,
}

impl Walk<'_, '_> {
    fn run(mut self, follow: Follow) -> Result<Location> {
        loop {
            let Some(name) = self.next_name(self.position) else {
                // A slash at the end (of the path or of a link's text) asks for a directory.
                if self.pending.last() == Some(&b'/') && !self.at.inode().is_directory() {
                    return Err(Errno::ENOTDIR);
                }
                return Ok(self.at);
            };
            if !self.at.inode().is_directory() {
                return Err(Errno::ENOTDIR);
            }
            match &self.pending[name.clone()] {
                b"." => self.position = name.end,
                b".." => self.up(name.end),
                _ => {
                    let names = self.run_of_names(name)?;
                    if !self.enter_mount(&names)
                        && let Some(link) = self.advance(&names, follow)?
                    {
                        return Ok(link);
                    }
                }
            }
        }
    }

    /// The range of the next component at or behind `from`.
    fn next_name(&self, from: usize) -> Option<Range<usize>> {
        let begin = from + self.pending[from..].iter().position(|&byte| byte != b'/')?;
        let len = self.pending[begin..].iter().position(|&byte| byte == b'/');
        Some(begin..len.map_or(self.pending.len(), |len| begin + len))
    }

    /// The components from `first` up to the next `.` or `..`, or as many as go together.
    fn run_of_names(&self, first: Range<usize>) -> Result<ArrayVec<Range<usize>, NAMES_MOST>> {
        let mut names = ArrayVec::new();
        let mut next = Some(first);
        while let Some(name) = next.filter(|_| !names.is_full()) {
            match &self.pending[name.clone()] {
                b"." | b".." => break,
                text if text.len() > NAME_MAX && names.is_empty() => return Err(Errno::ENAMETOOLONG),
                // Whether the names before it exist decides about the error.
                text if text.len() > NAME_MAX => break,
                _ => next = self.next_name(name.end),
            }
            names.push(name);
        }
        Ok(names)
    }

    /// Goes up by walking to the parent's path, which has no links, from the root.
    fn up(&mut self, rest: usize) {
        let path = self.at.path();
        let parent = path.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
        let mut pending = path[..parent].to_vec();
        pending.extend_from_slice(&self.pending[rest..]);
        if pending.is_empty() {
            pending.push(b'/');
        }
        self.at = root_location(&self.mounts);
        self.pending = Cow::Owned(pending);
        self.position = 0;
    }

    /// Goes to the last mount point that the names pass through, if there is one.
    fn enter_mount(&mut self, names: &[Range<usize>]) -> bool {
        if !leads_to_mount(&self.mounts, self.at.path()) {
            return false;
        }
        let mut path = Vec::with_capacity(self.at.path().len() + 1 + self.pending.len());
        path.extend_from_slice(self.at.path());
        let mut found = None;
        for name in names {
            push_name(&mut path, &self.pending[name.clone()]);
            if let Some(mount) = find_mount(&self.mounts, &path) {
                found = Some((mount_location(mount), name.end));
            }
        }
        let Some((location, end)) = found else { return false };
        self.at = location;
        self.position = end;
        true
    }

    /// Lets the file system follow the names. Returns the place when it is a symbolic link to stop at.
    fn advance(&mut self, names: &[Range<usize>], follow: Follow) -> Result<Option<Location>> {
        let left_to_server = self.caller.is_left_to(self.at.inode());
        if !left_to_server {
            access::check(self.caller, self.at.inode(), Access::EXECUTE)?;
        }
        let first_path = self.at.child_path(&self.pending[names[0].clone()]);
        // A directory on the way to a mount may be missing, so it is looked up alone.
        let above_mount = leads_to_mount(&self.mounts, &first_path);
        let alone = above_mount || !left_to_server;
        let names = if alone { &names[..1] } else { names };
        let texts: ArrayVec<&[u8], NAMES_MOST> =
            names.iter().map(|name| &self.pending[name.clone()]).collect();
        let (inode, count) = match self.at.inode().walk(&texts) {
            Ok(walked) => (walked.inode, walked.count.clamp(1, names.len())),
            Err(Errno::ENOENT) if above_mount => (Directory::placeholder(&first_path), 1),
            Err(error) => return Err(error),
        };
        let mut path = first_path;
        texts[1..count].iter().for_each(|text| push_name(&mut path, text));
        if path.len() > DEPTH_MAX {
            return Err(Errno::ENAMETOOLONG);
        }
        let end = names[count - 1].end;
        // For the length of a call, and so not asked for: what takes names away works when memory is short.
        let location = Location { mount: self.at.mount().clone(), inode, path: Arc::from(path) };
        if location.inode().kind() != FileKind::Symlink {
            self.at = location;
            self.position = end;
            return Ok(None);
        }
        if follow == Follow::No && end == self.pending.len() {
            return Ok(Some(location));
        }
        let before = texts[..count - 1].join(&b'/');
        drop(texts);
        self.follow_link(location.inode(), &before, end)?;
        Ok(None)
    }

    /// Replaces a link by its text. `before` are the names between the present place and the link.
    fn follow_link(&mut self, link: &Arc<dyn Inode>, before: &[u8], rest: usize) -> Result<()> {
        *self.links += 1;
        if *self.links > LINKS_MAX {
            return Err(Errno::ELOOP);
        }
        if let Some(target) = link.jump() {
            self.at = target?;
            self.position = rest;
            return Ok(());
        }
        let target = link.readlink()?;
        let mut pending = Vec::with_capacity(before.len() + 1 + target.len() + self.pending.len() - rest);
        match target.first() {
            None => return Err(Errno::ENOENT),
            Some(b'/') => self.at = root_location(&self.mounts),
            Some(_) if before.is_empty() => {}
            Some(_) => {
                pending.extend_from_slice(before);
                pending.push(b'/');
            }
        }
        pending.extend_from_slice(&target);
        pending.extend_from_slice(&self.pending[rest..]);
        if pending.len() > 4 * PATH_MAX {
            return Err(Errno::ENAMETOOLONG);
        }
        self.pending = Cow::Owned(pending);
        self.position = 0;
        Ok(())
    }
}
