// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is mounted where: a list, and a tree by names, which a walk goes down beside the file systems.
//!
//! So it knows at each step whether a mount is there or further on, whatever the number of mounts, without comparing paths.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::{Mount, names_of};

/// All mounts of a namespace.
#[derive(Clone)]
pub struct MountTable {
    /// In the order they were made.
    list: Vec<Arc<Mount>>,
    root: Point,
}

/// The end of a path that a mount is on, or that leads to one.
#[derive(Clone, Default)]
pub(super) struct Point {
    /// The last mount on exactly this path, which hides earlier ones.
    mount: Option<Arc<Mount>>,
    below: Vec<(Name, Point)>,
}

/// A name of a path.
#[derive(Clone)]
struct Name {
    sketch: usize,
    text: Box<[u8]>,
}

impl Name {
    fn new(text: &[u8]) -> Self {
        Self { sketch: Self::sketch(text), text: Box::from(text) }
    }

    /// Length and first byte: most names differ in it, and to compare it takes less than a comparison of memory.
    fn sketch(text: &[u8]) -> usize {
        text.len() << 8 | text.first().map_or(0, |&first| usize::from(first))
    }
}

impl Point {
    /// The mount on exactly this path.
    pub(super) fn mount(&self) -> Option<&Arc<Mount>> {
        self.mount.as_ref()
    }

    /// Whether some mount lies below the path, so that it is a directory whatever the file system says.
    pub(super) fn leads_further(&self) -> bool {
        !self.below.is_empty()
    }

    /// The path with one name more, if that is or leads to a mount.
    pub(super) fn child(&self, name: &[u8]) -> Option<&Self> {
        let index = self.index(name)?;
        Some(&self.below[index].1)
    }

    fn child_made(&mut self, name: &[u8]) -> &mut Self {
        let index = self.index(name).unwrap_or_else(|| {
            self.below.push((Name::new(name), Self::default()));
            self.below.len() - 1
        });
        &mut self.below[index].1
    }

    #[inline]
    fn index(&self, name: &[u8]) -> Option<usize> {
        let sketch = Name::sketch(name);
        self.below.iter().position(|(own, _)| own.sketch == sketch && *own.text == *name)
    }
}

impl MountTable {
    /// A table with the first mount, on `/`.
    pub(super) fn new(mount: Arc<Mount>) -> Self {
        let root = Point { mount: Some(mount.clone()), below: Vec::new() };
        Self { list: alloc::vec![mount], root }
    }

    /// Adds a mount, on a canonical path.
    pub(super) fn add(&mut self, mount: Arc<Mount>) {
        let point = names_of(&mount.path).fold(&mut self.root, Point::child_made);
        point.mount = Some(mount.clone());
        self.list.push(mount);
    }

    /// The mounts, in the order they were made.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Mount>> {
        self.list.iter()
    }

    /// The first mount, or the one on `/` that hides it.
    pub(super) fn root(&self) -> (&Point, &Arc<Mount>) {
        (&self.root, self.root.mount.as_ref().unwrap_or(&self.list[0]))
    }

    /// What is known of a canonical path, if it is or leads to a mount.
    pub(super) fn point(&self, path: &[u8]) -> Option<&Point> {
        // Places outside every file system have labels instead of paths.
        let names = path.first().filter(|&&first| first == b'/').map(|_| names_of(path))?;
        let mut point = &self.root;
        for name in names {
            point = point.child(name)?;
        }
        Some(point)
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::String;

    use proptest::prelude::*;

    use super::super::is_below;
    use super::*;
    use crate::flags::MountFlags;
    use crate::synthetic::Directory;

    fn mount(id: u32, path: &str) -> Arc<Mount> {
        Arc::new(Mount {
            id,
            path: Arc::from(path.as_bytes()),
            root: Directory::placeholder(b""),
            flags: MountFlags::empty(),
            kind: String::new(),
            source: String::new(),
        })
    }

    /// Paths that often are the same, or lead to each other.
    fn paths() -> impl Strategy<Value = String> {
        "(/(a|b|ab)){1,4}"
    }

    proptest! {
        #[test]
        fn the_tree_knows_what_the_list_does(
            mounts in proptest::collection::vec(paths(), 0..12),
            asked in proptest::collection::vec(paths(), 20),
        ) {
            let mut table = MountTable::new(mount(1, "/"));
            for (index, path) in mounts.iter().enumerate() {
                table.add(mount(index as u32 + 2, path));
            }
            for path in asked.iter().map(String::as_str).chain(["/"]) {
                let last = table.iter().filter(|mount| *mount.path == *path.as_bytes()).last();
                let further = table.iter().any(|mount| is_below(&mount.path, path.as_bytes()));
                let point = table.point(path.as_bytes());
                prop_assert_eq!(point.and_then(Point::mount).map(|mount| mount.id), last.map(|mount| mount.id));
                prop_assert_eq!(point.is_some_and(Point::leads_further), further);
                prop_assert_eq!(point.is_some(), last.is_some() || further);
            }
            prop_assert!(table.point(b"pipe:[7]").is_none());
        }
    }
}
