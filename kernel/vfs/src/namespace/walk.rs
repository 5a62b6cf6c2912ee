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
use super::{LINKS_MAX, Location, Mount, NAME_MAX, Namespace, PATH_MAX, slash};
use crate::errno::{Errno, Result};
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

    /// As [`Namespace::resolve`], when the way there does not matter.
    pub fn resolve_inode(
        &self,
        caller: &Caller<'_>,
        start: &Location,
        path: &[u8],
        follow: Follow,
    ) -> Result<Arc<dyn Inode>> {
        check_path(path)?;
        let mounts = self.mounts();
        let mut links = 0;
        let mut walk = Walk::new(caller, &mounts, start, path, &mut links);
        walk.run(follow)?;
        Ok(walk.take_inode())
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
        let mut walk = Walk::new(caller, &mounts, start, path, links);
        walk.run(follow)?;
        Ok(walk.take_location())
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

/// Where the steps of a walk begin.
enum Base<'a> {
    Mount(&'a Arc<Mount>),
    Place(&'a Location),
    /// Where a magic link led.
    Jumped(Location),
}

impl Base<'_> {
    fn mount(&self) -> &Arc<Mount> {
        match self {
            Self::Mount(mount) => mount,
            Self::Place(place) => &place.mount,
            Self::Jumped(place) => &place.mount,
        }
    }

    fn inode(&self) -> &Arc<dyn Inode> {
        match self {
            Self::Mount(mount) => &mount.root,
            Self::Place(place) => &place.inode,
            Self::Jumped(place) => &place.inode,
        }
    }

    fn path(&self) -> &Arc<[u8]> {
        match self {
            Self::Mount(mount) => &mount.path,
            Self::Place(place) => &place.path,
            Self::Jumped(place) => &place.path,
        }
    }
}

struct Walk<'a, 'c> {
    caller: &'a Caller<'c>,
    mounts: &'a MountTable,
    base: Base<'a>,
    /// The present place, if it is not the base.
    inode: Option<Arc<dyn Inode>>,
    is_directory: bool,
    /// What the mount table has on the path of the place.
    point: Option<&'a Point>,
    /// The canonical path of the place is that of the base, or `grown` if that is not empty, and then the names of
    /// `followed`. So nothing is copied as long as names follow each other in the text.
    grown: SmallVec<[u8; SHORT]>,
    /// Names in the text with one slash between them.
    followed: Range<usize>,
    /// The text still to go starts at `position`.
    pending: Cow<'a, [u8]>,
    position: usize,
    links: &'a mut u32,
}

impl<'a, 'c> Walk<'a, 'c> {
    fn new(
        caller: &'a Caller<'c>,
        mounts: &'a MountTable,
        start: &'a Location,
        path: &'a [u8],
        links: &'a mut u32,
    ) -> Self {
        let (base, point) = if path[0] == b'/' {
            let (point, mount) = mounts.root();
            (Base::Mount(mount), Some(point))
        } else {
            (Base::Place(start), mounts.point(start.path()))
        };
        Self {
            is_directory: base.inode().is_directory(),
            caller,
            mounts,
            base,
            inode: None,
            point,
            grown: SmallVec::new(),
            followed: 0..0,
            pending: Cow::Borrowed(path),
            position: 0,
            links,
        }
    }

    fn run(&mut self, follow: Follow) -> Result<()> {
        loop {
            let Some(name) = self.next_name(self.position) else {
                // A slash at the end (of the path or of a link's text) asks for a directory.
                let is_wrong = self.pending.last() == Some(&b'/') && !self.is_directory;
                return if is_wrong { Err(Errno::ENOTDIR) } else { Ok(()) };
            };
            if !self.is_directory {
                return Err(Errno::ENOTDIR);
            }
            match &self.pending[name.clone()] {
                b"." => self.position = name.end,
                b".." => self.up(name.end),
                text if text.len() > NAME_MAX => return Err(Errno::ENAMETOOLONG),
                text => {
                    let point = self.point.and_then(|point| point.child(text));
                    let entered = point.is_some_and(|point| self.enter_mount(point, name.end));
                    if !entered && self.advance(name, point, follow)? {
                        return Ok(());
                    }
                }
            }
        }
    }

    fn inode(&self) -> &Arc<dyn Inode> {
        self.inode.as_ref().unwrap_or_else(|| self.base.inode())
    }

    /// Brings the whole path of the place together.
    fn gather_path(&mut self) {
        if self.grown.is_empty() {
            self.grown.extend_from_slice(self.base.path());
        }
        if !self.followed.is_empty() {
            if self.grown.last() != Some(&b'/') {
                self.grown.push(b'/');
            }
            self.grown.extend_from_slice(&self.pending[self.followed.clone()]);
            self.followed = 0..0;
        }
    }

    /// Adds a name of the text to the path.
    fn push(&mut self, name: &Range<usize>) {
        if !self.followed.is_empty() && name.start == self.followed.end + 1 {
            self.followed.end = name.end;
            return;
        }
        if !self.followed.is_empty() {
            self.gather_path();
        }
        self.followed = name.clone();
    }

    /// Bytes of the path, or one more.
    fn path_len(&self) -> usize {
        let before = if self.grown.is_empty() { self.base.path().len() } else { self.grown.len() };
        before + 1 + self.followed.len()
    }

    fn go_to(&mut self, base: Base<'a>, point: Option<&'a Point>) {
        self.is_directory = base.inode().is_directory();
        (self.base, self.inode, self.point) = (base, None, point);
        self.grown.clear();
        self.followed = 0..0;
    }

    fn go_to_root(&mut self) {
        let (point, mount) = self.mounts.root();
        self.go_to(Base::Mount(mount), Some(point));
    }

    /// The inode of the place, where the walk ends.
    fn take_inode(&mut self) -> Arc<dyn Inode> {
        self.inode.take().unwrap_or_else(|| self.base.inode().clone())
    }

    /// The place, where the walk ends. For the length of a call, and so memory is not asked for: what takes names away
    /// works when it is short.
    fn take_location(&mut self) -> Location {
        let path = if self.grown.is_empty() && self.followed.is_empty() {
            self.base.path().clone()
        } else if self.text_is_path() {
            Arc::from(&self.pending[..self.followed.end])
        } else {
            self.gather_path();
            Arc::from(&self.grown[..])
        };
        Location { mount: self.base.mount().clone(), path, inode: self.take_inode() }
    }

    /// Whether the text up to where the walk is is the path of the place, as it mostly is for an absolute path.
    fn text_is_path(&self) -> bool {
        let Some(before) = self.followed.start.checked_sub(1).map(|end| &self.pending[..end]) else {
            return false;
        };
        // One slash only, where the base is the root.
        let base = if **self.base.path() == *b"/" { &[] } else { &**self.base.path() };
        self.grown.is_empty() && *before == *base
    }

    /// The range of the next component at or behind `from`.
    fn next_name(&self, from: usize) -> Option<Range<usize>> {
        let text = &*self.pending;
        let begin = from + text.get(from..)?.iter().position(|&byte| byte != b'/')?;
        Some(begin..slash::next(text, begin))
    }

    /// The name behind the one that ends at `end`, unless it is `.` or `..`, or too long: whether the names before it exist
    /// decides about the error.
    fn name_behind(&self, end: usize) -> Option<Range<usize>> {
        self.next_name(end).filter(|next| {
            let text = &self.pending[next.clone()];
            text != b"." && text != b".." && text.len() <= NAME_MAX
        })
    }

    /// Goes up by walking to the parent's path, which has no links, from the root.
    fn up(&mut self, rest: usize) {
        self.gather_path();
        let parent = self.grown.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
        let mut pending = self.grown[..parent].to_vec();
        pending.extend_from_slice(&self.pending[rest..]);
        if pending.is_empty() {
            pending.push(b'/');
        }
        self.go_to_root();
        self.pending = Cow::Owned(pending);
        self.position = 0;
    }

    /// Goes to the last mount point that the name of `point`, which ends at `end`, and those behind it pass through, if
    /// there is one.
    fn enter_mount(&mut self, mut point: &'a Point, mut end: usize) -> bool {
        let mut found = None;
        loop {
            if let Some(mount) = point.mount() {
                found = Some((mount, point, end));
            }
            if !point.leads_further() {
                break;
            }
            let Some(name) = self.name_behind(end) else { break };
            let Some(child) = point.child(&self.pending[name.clone()]) else { break };
            (point, end) = (child, name.end);
        }
        let Some((mount, point, end)) = found else { return false };
        self.go_to(Base::Mount(mount), Some(point));
        self.position = end;
        true
    }

    /// Lets the file system follow the name, and a server those behind it, too; `point` is what the mount table has on
    /// the name. True when the place is a symbolic link to stop at.
    fn advance(&mut self, name: Range<usize>, point: Option<&'a Point>, follow: Follow) -> Result<bool> {
        let here = self.inode();
        let left_to_server = self.caller.is_left_to(here);
        if !left_to_server {
            access::check_search(self.caller, here)?;
        }
        if left_to_server && point.is_none() {
            return self.advance_on_server(name, follow);
        }
        // A directory on the way to a mount may be missing, so it is looked up alone.
        let inode = match here.lookup(&self.pending[name.clone()]) {
            Err(Errno::ENOENT) if point.is_some_and(Point::leads_further) => {
                self.push(&name);
                self.gather_path();
                let placeholder = Directory::placeholder(&self.grown);
                return self.arrive(placeholder, FileKind::Directory, point, name.end).map(|()| false);
            }
            found => found?,
        };
        let kind = inode.kind();
        let is_link = kind == FileKind::Symlink;
        if is_link && !(follow == Follow::No && name.end == self.pending.len()) {
            return self.follow_link(&inode, name.start, name).map(|()| false);
        }
        self.push(&name);
        self.arrive(inode, kind, point, name.end)?;
        Ok(is_link)
    }

    /// As [`Walk::advance`] where a server follows as many names as it can, and no mount is on the way.
    fn advance_on_server(&mut self, first: Range<usize>, follow: Follow) -> Result<bool> {
        let mut names: ArrayVec<Range<usize>, NAMES_MOST> = ArrayVec::new();
        let mut next = Some(first);
        while let Some(name) = next.filter(|_| !names.is_full()) {
            next = self.name_behind(name.end);
            names.push(name);
        }
        let texts: ArrayVec<&[u8], NAMES_MOST> =
            names.iter().map(|name| &self.pending[name.clone()]).collect();
        let walked = self.inode().walk(&texts)?;
        let count = walked.count.clamp(1, names.len());
        let (end, kind) = (names[count - 1].end, walked.inode.kind());
        let is_link = kind == FileKind::Symlink;
        if is_link && !(follow == Follow::No && end == self.pending.len()) {
            drop(texts);
            return self.follow_link(&walked.inode, names[0].start, names[count - 1].clone()).map(|()| false);
        }
        drop(texts);
        names[..count].iter().for_each(|name| self.push(name));
        self.arrive(walked.inode, kind, None, end)?;
        Ok(is_link)
    }

    /// Makes an inode the place; its names are in the path already.
    fn arrive(
        &mut self,
        inode: Arc<dyn Inode>,
        kind: FileKind,
        point: Option<&'a Point>,
        end: usize,
    ) -> Result<()> {
        if self.path_len() > DEPTH_MAX {
            return Err(Errno::ENAMETOOLONG);
        }
        (self.inode, self.is_directory) = (Some(inode), kind == FileKind::Directory);
        (self.point, self.position) = (point, end);
        Ok(())
    }

    /// Puts the text of a link in the place of its name. `first` is where the names between the present place and the link
    /// begin. What is before stays in the text: the path of the place may be made of it.
    fn follow_link(&mut self, link: &Arc<dyn Inode>, first: usize, name: Range<usize>) -> Result<()> {
        *self.links += 1;
        if *self.links > LINKS_MAX {
            return Err(Errno::ELOOP);
        }
        if let Some(target) = link.jump() {
            let target = target?;
            let point = self.mounts.point(target.path());
            self.go_to(Base::Jumped(target), point);
            self.position = name.end;
            return Ok(());
        }
        let target = link.readlink()?;
        let (before, position) = match target.first() {
            None => return Err(Errno::ENOENT),
            Some(b'/') => {
                self.go_to_root();
                (0, 0)
            }
            Some(_) => (name.start, first),
        };
        let mut pending = Vec::with_capacity(before + target.len() + self.pending.len() - name.end);
        pending.extend_from_slice(&self.pending[..before]);
        pending.extend_from_slice(&target);
        pending.extend_from_slice(&self.pending[name.end..]);
        if pending.len() - position > 4 * PATH_MAX {
            return Err(Errno::ENAMETOOLONG);
        }
        self.pending = Cow::Owned(pending);
        self.position = position;
        Ok(())
    }
}
