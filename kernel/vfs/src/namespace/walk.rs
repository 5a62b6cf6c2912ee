// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Path resolution.
//!
//! The walk keeps a place and the text still to go. Names up to the next `.` or `..` are handed to a file server
//! together, which follows all of them in one exchange. A symbolic link or a `..` rewrites the text and the walk goes
//! on, which keeps it free of recursion.

use alloc::borrow::Cow;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

use arrayvec::ArrayVec;
use smallvec::SmallVec;

use super::access::{self, Caller};
use super::mount_table::{MountTable, Point};
use super::{LINKS_MAX, Location, Mount, NAME_MAX, Namespace, PATH_MAX, push_name};
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

/// Bytes of a path that a walk takes no memory for.
const SHORT: usize = 128;

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
        let at = if path[0] == b'/' { Place::root(&mounts) } else { Place::of(&mounts, start.clone()) };
        let (pending, grown) = (Cow::Borrowed(path), SmallVec::new());
        Walk { caller, mounts: &mounts, at, grown, pending, position: 0, links }.run(follow)
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

/// Where a walk is, with the canonical path of that place as a location has it.
struct Place<'a> {
    mount: Arc<Mount>,
    inode: Arc<dyn Inode>,
    path: Arc<[u8]>,
    /// What the mount table has on this path.
    point: Option<&'a Point>,
}

impl<'a> Place<'a> {
    fn root(mounts: &'a MountTable) -> Self {
        let (point, mount) = mounts.root();
        Self::on(mount, point)
    }

    /// Where a mount leads.
    fn on(mount: &Arc<Mount>, point: &'a Point) -> Self {
        let (mount, inode, path) = (mount.clone(), mount.root.clone(), mount.path.clone());
        Self { mount, inode, path, point: Some(point) }
    }

    fn of(mounts: &'a MountTable, location: Location) -> Self {
        let point = mounts.point(location.path());
        let Location { mount, inode, path } = location;
        Self { mount, inode, path, point }
    }
}

struct Walk<'a, 'c> {
    caller: &'a Caller<'c>,
    mounts: &'a MountTable,
    at: Place<'a>,
    /// The canonical path of the place if the walk has grown it; else it is empty. Not part of the place, which is moved
    /// often.
    grown: SmallVec<[u8; SHORT]>,
    /// The text still to go starts at `position`.
    pending: Cow<'a, [u8]>,
    position: usize,
    links: &'a mut u32,
}

impl<'a> Walk<'a, '_> {
    fn run(&mut self, follow: Follow) -> Result<Location> {
        loop {
            let Some(name) = self.next_name(self.position) else {
                // A slash at the end (of the path or of a link's text) asks for a directory.
                if self.pending.last() == Some(&b'/') && !self.at.inode.is_directory() {
                    return Err(Errno::ENOTDIR);
                }
                return Ok(self.location());
            };
            if !self.at.inode.is_directory() {
                return Err(Errno::ENOTDIR);
            }
            match &self.pending[name.clone()] {
                b"." => self.position = name.end,
                b".." => self.up(name.end),
                text if text.len() > NAME_MAX => return Err(Errno::ENAMETOOLONG),
                _ => {
                    if !self.enter_mount(name.clone()) && self.advance(name, follow)? {
                        return Ok(self.location());
                    }
                }
            }
        }
    }

    /// The canonical path of the place.
    fn path(&self) -> &[u8] {
        if self.grown.is_empty() { &self.at.path } else { &self.grown }
    }

    /// Adds a name to it.
    fn push(&mut self, name: Range<usize>) {
        if self.grown.is_empty() {
            self.grown.extend_from_slice(&self.at.path);
        }
        if self.grown.last() != Some(&b'/') {
            self.grown.push(b'/');
        }
        self.grown.extend_from_slice(&self.pending[name]);
    }

    fn go_to(&mut self, place: Place<'a>) {
        self.at = place;
        self.grown.clear();
    }

    /// For the length of a call, and so memory is not asked for: what takes names away works when it is short.
    fn location(&self) -> Location {
        let path = if self.grown.is_empty() { self.at.path.clone() } else { Arc::from(&self.grown[..]) };
        Location { mount: self.at.mount.clone(), inode: self.at.inode.clone(), path }
    }

    /// The range of the next component at or behind `from`.
    fn next_name(&self, from: usize) -> Option<Range<usize>> {
        let begin = from + self.pending[from..].iter().position(|&byte| byte != b'/')?;
        let len = self.pending[begin..].iter().position(|&byte| byte == b'/');
        Some(begin..len.map_or(self.pending.len(), |len| begin + len))
    }

    /// The name behind another one, unless it is `.` or `..`, or too long: whether the names before it exist decides
    /// about the error.
    fn name_behind(&self, name: &Range<usize>) -> Option<Range<usize>> {
        self.next_name(name.end).filter(|next| {
            let text = &self.pending[next.clone()];
            text != b"." && text != b".." && text.len() <= NAME_MAX
        })
    }

    /// Goes up by walking to the parent's path, which has no links, from the root.
    fn up(&mut self, rest: usize) {
        let path = self.path();
        let parent = path.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
        let mut pending = path[..parent].to_vec();
        pending.extend_from_slice(&self.pending[rest..]);
        if pending.is_empty() {
            pending.push(b'/');
        }
        self.go_to(Place::root(self.mounts));
        self.pending = Cow::Owned(pending);
        self.position = 0;
    }

    /// Goes to the last mount point that this name and those behind it pass through, if there is one.
    fn enter_mount(&mut self, first: Range<usize>) -> bool {
        let (mut point, mut next, mut found) = (self.at.point, Some(first), None);
        while let Some(name) = next.take() {
            point = point.and_then(|point| point.child(&self.pending[name.clone()]));
            let Some(point) = point else { break };
            if let Some(mount) = point.mount() {
                found = Some((Place::on(mount, point), name.end));
            }
            next = self.name_behind(&name);
        }
        let Some((place, end)) = found else { return false };
        self.go_to(place);
        self.position = end;
        true
    }

    /// Lets the file system follow the name, and a server those behind it, too. True when the place is a symbolic link to
    /// stop at.
    fn advance(&mut self, first: Range<usize>, follow: Follow) -> Result<bool> {
        let left_to_server = self.caller.is_left_to(&self.at.inode);
        if !left_to_server {
            access::check(self.caller, &self.at.inode, Access::EXECUTE)?;
        }
        let point = self.at.point.and_then(|point| point.child(&self.pending[first.clone()]));
        // A directory on the way to a mount may be missing, so it is looked up alone.
        let above_mount = point.is_some_and(Point::leads_further);
        let mut names: ArrayVec<Range<usize>, NAMES_MOST> = ArrayVec::new();
        let mut next = Some(first);
        while let Some(name) = next.filter(|_| !names.is_full()) {
            next = if above_mount || !left_to_server { None } else { self.name_behind(&name) };
            names.push(name);
        }
        let texts: ArrayVec<&[u8], NAMES_MOST> =
            names.iter().map(|name| &self.pending[name.clone()]).collect();
        let (inode, count) = match self.at.inode.walk(&texts) {
            Ok(walked) => (walked.inode, walked.count.clamp(1, names.len())),
            Err(Errno::ENOENT) if above_mount => {
                let mut path = self.path().to_vec();
                push_name(&mut path, texts[0]);
                (Directory::placeholder(&path), 1)
            }
            Err(error) => return Err(error),
        };
        let end = names[count - 1].end;
        let is_link = inode.kind() == FileKind::Symlink;
        if is_link && !(follow == Follow::No && end == self.pending.len()) {
            let before = texts[..count - 1].join(&b'/');
            drop(texts);
            return self.follow_link(&inode, &before, end).map(|()| false);
        }
        drop(texts);
        names[..count].iter().for_each(|name| self.push(name.clone()));
        if self.grown.len() > DEPTH_MAX {
            return Err(Errno::ENAMETOOLONG);
        }
        self.at.inode = inode;
        // Names behind the first are followed together only where no mount is.
        self.at.point = point.filter(|_| count == 1);
        self.position = end;
        Ok(is_link)
    }

    /// Replaces a link by its text. `before` are the names between the present place and the link.
    fn follow_link(&mut self, link: &Arc<dyn Inode>, before: &[u8], rest: usize) -> Result<()> {
        *self.links += 1;
        if *self.links > LINKS_MAX {
            return Err(Errno::ELOOP);
        }
        if let Some(target) = link.jump() {
            self.go_to(Place::of(self.mounts, target?));
            self.position = rest;
            return Ok(());
        }
        let target = link.readlink()?;
        let mut pending = Vec::with_capacity(before.len() + 1 + target.len() + self.pending.len() - rest);
        match target.first() {
            None => return Err(Errno::ENOENT),
            Some(b'/') => self.go_to(Place::root(self.mounts)),
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
