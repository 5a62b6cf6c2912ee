// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Mappings by address, and the gaps between them: a B+ tree whose inner nodes know the extent of each child and the largest gap
//! in it. One way from the root finds a mapping, its two neighbours, or the highest gap of a size.
//!
//! A node that has lost most of its entries is joined with one beside it if both together are half full, so that the tree of a
//! program that has unmapped nearly everything is small again.

mod extent;
mod node;
#[cfg(test)]
mod tests;

use alloc::boxed::Box;

use super::vma::Vma;
use extent::{Extent, extent_of};
use node::{Child, Node, look_at};
pub(super) use node::{First, Look};

/// Mappings that do not overlap.
pub(super) struct MappingTree {
    root: Node,
    extent: Extent,
    len: usize,
}

impl MappingTree {
    pub(super) fn new() -> Self {
        Self { root: Node::Leaf(Box::default()), extent: Extent::default(), len: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The mappings that end above `addr`, in order.
    pub(super) fn from(&self, addr: usize) -> Iter<'_> {
        self.between(addr, usize::MAX)
    }

    /// The mappings that have a part in `start..end`, in order.
    #[inline]
    pub(super) fn between(&self, start: usize, end: usize) -> Iter<'_> {
        Iter { tree: self, at: start, end, rest: &[] }
    }

    /// The first mapping that ends above `addr`.
    #[inline]
    pub(super) fn first_above(&self, addr: usize) -> Option<&Vma> {
        self.root.ending_above(addr)?.first()
    }

    /// The mappings of one leaf that end above `addr`, in order; empty only if no mapping does.
    #[inline]
    pub(super) fn leaf_above(&self, addr: usize) -> &[Vma] {
        self.root.ending_above(addr).unwrap_or_default()
    }

    /// The last mapping that starts below `addr`, and the first that does not.
    pub(super) fn around(&self, addr: usize) -> (Option<&Vma>, Option<&Vma>) {
        let (mut node, mut above) = (&self.root, None);
        loop {
            match node {
                Node::Inner(children) => {
                    let index = children.partition_point(|child| child.extent.start < addr);
                    above = children.get(index).map(|child| &child.node).or(above);
                    node = &children[index.saturating_sub(1)].node;
                }
                Node::Leaf(mappings) => {
                    let index = mappings.partition_point(|vma| vma.start < addr);
                    let below = index.checked_sub(1).map(|index| &mappings[index]);
                    return (below, mappings.get(index).or_else(|| above?.first()));
                }
            }
        }
    }

    /// Adds a mapping where there is none.
    pub(super) fn insert(&mut self, vma: Vma) {
        self.len += 1;
        if let Some(upper) = self.root.insert(&mut self.extent, vma) {
            let lower = core::mem::replace(&mut self.root, Node::Inner(Box::default()));
            if let Node::Inner(children) = &mut self.root {
                children.extend([Child { extent: self.extent, node: lower }, upper]);
                self.extent = extent_of(children);
            }
        }
    }

    /// The same, joining it with a neighbour that is alike, if that takes no look beyond one leaf; else gives it back.
    pub(super) fn insert_inside(&mut self, vma: Vma) -> Result<(), Vma> {
        self.len += self.root.insert_inside(&mut self.extent, vma)?;
        Ok(())
    }

    /// Looks for the first mapping that has a part in `start..end`, and moves it to `taken` unless it sticks out.
    pub(super) fn take_first(&mut self, start: usize, end: usize, taken: &mut Option<Vma>) -> First {
        let first = self.root.take_first(&mut self.extent, start, end, taken);
        if first == First::Taken {
            self.len -= 1;
            while let Node::Inner(children) = &mut self.root
                && children.len() == 1
                && let Some(only) = children.pop()
            {
                (self.root, self.extent) = (only.node, only.extent);
            }
        }
        first
    }

    /// Changes the mapping that starts at `start`, which stays between its neighbours.
    pub(super) fn change<R>(&mut self, start: usize, change: impl FnOnce(&mut Vma) -> R) -> Option<R> {
        self.root.change(&mut self.extent, start, change)
    }

    /// Looks at the gaps of at least `len` bytes in `floor..ceiling`, from the highest down, until one look decides.
    pub(super) fn highest_gap(
        &self,
        floor: usize,
        ceiling: usize,
        len: usize,
        look: &mut dyn FnMut(usize, usize) -> Look,
    ) -> Option<usize> {
        let extent = match self.len {
            0 => Extent { start: ceiling, end: ceiling, ..Extent::default() },
            _ => self.extent,
        };
        let mut search = || {
            look_at(extent.end, ceiling, len, look)?;
            if extent.gap >= len {
                self.root.look_below(ceiling, len, look)?;
            }
            look_at(floor, extent.start.min(ceiling), len, look)
        };
        search().break_value().flatten()
    }
}

/// Mappings in order.
pub(super) struct Iter<'a> {
    tree: &'a MappingTree,
    /// Where the mappings so far end.
    at: usize,
    /// Where those that are wanted have to start before.
    end: usize,
    /// What is left of a leaf.
    rest: &'a [Vma],
}

impl<'a> Iterator for Iter<'a> {
    type Item = &'a Vma;

    fn next(&mut self) -> Option<&'a Vma> {
        if self.at >= self.end {
            return None;
        }
        if self.rest.is_empty() {
            self.rest = self.tree.root.ending_above(self.at)?;
        }
        let (vma, rest) = self.rest.split_first()?;
        (self.at, self.rest) = (vma.end, rest);
        (vma.start < self.end).then_some(vma)
    }
}
