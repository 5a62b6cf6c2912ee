// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Nodes of the tree: what one way from the root does at each level.

use alloc::boxed::Box;
use core::ops::ControlFlow;

use arrayvec::ArrayVec;

use super::super::vma::Vma;
use super::extent::{Entry, Extent, extent_of, gap_below, gaps_around};

/// Mappings in a leaf.
pub(super) const LEAF: usize = 16;
/// Children of an inner node.
const INNER: usize = 32;

pub(super) enum Node {
    Leaf(Box<ArrayVec<Vma, LEAF>>),
    Inner(Box<ArrayVec<Child, INNER>>),
}

pub(super) struct Child {
    pub(super) extent: Extent,
    pub(super) node: Node,
}

/// The first mapping of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum First {
    /// There is none.
    None,
    /// It was in the range, and is in the tree no more.
    Taken,
    /// It starts there, and has a part outside of the range.
    SticksOut(usize),
}

/// What a look at a gap decides: go on, or end with a place or without.
pub(in super::super) type Look = ControlFlow<Option<usize>>;

pub(super) fn look_at(
    start: usize,
    end: usize,
    len: usize,
    look: &mut dyn FnMut(usize, usize) -> Look,
) -> Look {
    if end.saturating_sub(start) >= len { look(start, end) } else { Look::Continue(()) }
}

impl Entry for Child {
    fn start(&self) -> usize {
        self.extent.start
    }
    fn end(&self) -> usize {
        self.extent.end
    }
    fn gap(&self) -> usize {
        self.extent.gap
    }
}

impl Node {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Leaf(mappings) => mappings.len(),
            Self::Inner(children) => children.len(),
        }
    }

    /// Whether it could be half of a half full node.
    fn is_low(&self) -> bool {
        match self {
            Self::Leaf(mappings) => mappings.len() <= LEAF / 4,
            Self::Inner(children) => children.len() <= INNER / 4,
        }
    }

    pub(super) fn extent(&self) -> Extent {
        match self {
            Self::Leaf(mappings) => extent_of(mappings),
            Self::Inner(children) => extent_of(children),
        }
    }

    pub(super) fn first(&self) -> Option<&Vma> {
        match self {
            Self::Leaf(mappings) => mappings.first(),
            Self::Inner(children) => children.first()?.node.first(),
        }
    }

    /// The rest of a leaf, from the first mapping on that ends above `addr`.
    pub(super) fn ending_above(&self, addr: usize) -> Option<&[Vma]> {
        let mut node = self;
        loop {
            match node {
                Self::Leaf(mappings) => {
                    return mappings.get(mappings.partition_point(|vma| vma.end <= addr)..);
                }
                Self::Inner(children) => {
                    let index = children.partition_point(|child| child.extent.end <= addr);
                    node = &children.get(index)?.node;
                }
            }
        }
    }

    /// Returns what has no room in this node of that extent: one that follows it.
    pub(super) fn insert(&mut self, extent: &mut Extent, vma: Vma) -> Option<Child> {
        match self {
            Self::Leaf(mappings) => {
                let index = mappings.partition_point(|other| other.start < vma.start);
                let before = gap_below(mappings, index);
                match insert_at(mappings, index, vma) {
                    None => extent.update(mappings, before, gaps_around(mappings, index)),
                    Some(upper) => {
                        *extent = extent_of(mappings);
                        return Some(Child::new(Self::Leaf(upper)));
                    }
                }
            }
            Self::Inner(children) => {
                let index =
                    children.partition_point(|child| child.extent.start < vma.start).saturating_sub(1);
                let (before, _) = gaps_around(children, index);
                let child = &mut children[index];
                match child.node.insert(&mut child.extent, vma) {
                    None => extent.update(children, before, gaps_around(children, index)),
                    Some(upper) => {
                        let upper = insert_at(children, index + 1, upper);
                        *extent = extent_of(children);
                        return upper.map(|upper| Child::new(Self::Inner(upper)));
                    }
                }
            }
        }
        None
    }

    /// Returns by how many mappings there are more.
    pub(super) fn insert_inside(&mut self, extent: &mut Extent, vma: Vma) -> Result<usize, Vma> {
        match self {
            Self::Leaf(mappings) => {
                let index = mappings.partition_point(|other| other.start < vma.start);
                if index == 0 || index == mappings.len() || mappings.is_full() {
                    return Err(vma);
                }
                let before = gap_below(mappings, index);
                match (mappings[index - 1].continues_in(&vma), vma.continues_in(&mappings[index])) {
                    (false, false) => {
                        mappings.insert(index, vma);
                        extent.update(mappings, before, gaps_around(mappings, index));
                        return Ok(1);
                    }
                    (true, false) => mappings[index - 1].end = vma.end,
                    (false, true) => {
                        let above = &mut mappings[index];
                        *above = Vma { end: above.end, ..vma };
                    }
                    // Two become one, and the leaf may be too small then.
                    (true, true) => return Err(vma),
                }
                extent.update(mappings, before, (gap_below(mappings, index), 0));
                Ok(0)
            }
            Self::Inner(children) => {
                let index =
                    children.partition_point(|child| child.extent.start < vma.start).saturating_sub(1);
                let (before, _) = gaps_around(children, index);
                let child = &mut children[index];
                let more = child.node.insert_inside(&mut child.extent, vma)?;
                extent.update(children, before, gaps_around(children, index));
                Ok(more)
            }
        }
    }

    /// Looks for the first mapping that has a part in `start..end`, and moves it to `taken` unless it sticks out.
    pub(super) fn take_first(
        &mut self,
        extent: &mut Extent,
        start: usize,
        end: usize,
        taken: &mut Option<Vma>,
    ) -> First {
        match self {
            Self::Leaf(mappings) => {
                let index = mappings.partition_point(|vma| vma.end <= start);
                match mappings.get(index) {
                    Some(vma) if vma.start < end => {
                        if vma.start < start || end < vma.end {
                            return First::SticksOut(vma.start);
                        }
                    }
                    _ => return First::None,
                }
                let (before, _) = gaps_around(mappings, index);
                *taken = mappings.pop_at(index);
                extent.update(mappings, before, (gap_below(mappings, index), 0));
            }
            Self::Inner(children) => {
                let index = children.partition_point(|child| child.extent.end <= start);
                let (before, _) = gaps_around(children, index);
                let Some(child) = children.get_mut(index) else { return First::None };
                let first = child.node.take_first(&mut child.extent, start, end, taken);
                if first != First::Taken {
                    return first;
                }
                if child.node.len() == 0 {
                    children.remove(index);
                    extent.update(children, before, (gap_below(children, index), 0));
                } else {
                    let is_low = child.node.is_low();
                    extent.update(children, before, gaps_around(children, index));
                    if is_low {
                        join_at(children, index);
                        join_at(children, index.saturating_sub(1));
                    }
                }
            }
        }
        First::Taken
    }

    pub(super) fn change<R>(
        &mut self,
        extent: &mut Extent,
        start: usize,
        change: impl FnOnce(&mut Vma) -> R,
    ) -> Option<R> {
        match self {
            Self::Leaf(mappings) => {
                let index = mappings.binary_search_by_key(&start, |vma| vma.start).ok()?;
                let (before, _) = gaps_around(mappings, index);
                let result = change(&mut mappings[index]);
                extent.update(mappings, before, gaps_around(mappings, index));
                Some(result)
            }
            Self::Inner(children) => {
                let index = children.partition_point(|child| child.extent.start <= start).checked_sub(1)?;
                let (before, _) = gaps_around(children, index);
                let child = &mut children[index];
                let result = child.node.change(&mut child.extent, start, change);
                extent.update(children, before, gaps_around(children, index));
                result
            }
        }
    }

    /// Looks at the gaps between the mappings, as far as they are below `ceiling`.
    pub(super) fn look_below(
        &self,
        ceiling: usize,
        len: usize,
        look: &mut dyn FnMut(usize, usize) -> Look,
    ) -> Look {
        match self {
            Self::Leaf(mappings) => {
                let mut upper = mappings.len().min(mappings.partition_point(|vma| vma.end < ceiling) + 1);
                while upper > 1 {
                    upper -= 1;
                    let (start, end) = (mappings[upper - 1].end, mappings[upper].start);
                    if end - start >= len {
                        look_at(start, end.min(ceiling), len, look)?;
                    }
                }
            }
            Self::Inner(children) => {
                let (lower, upper) =
                    children.split_at(children.partition_point(|child| child.extent.start < ceiling));
                // What is above the last one is not between two.
                let mut above = upper.first().map_or(0, |child| child.extent.start);
                for child in lower.iter().rev() {
                    let Extent { start, end, gap, .. } = child.extent;
                    let beside = core::mem::replace(&mut above, start).saturating_sub(end);
                    if beside.max(gap) < len {
                        continue;
                    }
                    look_at(end, (end + beside).min(ceiling), len, look)?;
                    if gap >= len {
                        child.node.look_below(ceiling, len, look)?;
                    }
                }
            }
        }
        Look::Continue(())
    }
}

impl Child {
    fn new(node: Node) -> Self {
        Self { extent: node.extent(), node }
    }
}

/// Inserts an element. What has no room any more comes back as a list of its own that follows: the larger part of the full list
/// where elements come in at one place, as new mappings do below the last one.
fn insert_at<T, const N: usize>(
    list: &mut ArrayVec<T, N>,
    index: usize,
    item: T,
) -> Option<Box<ArrayVec<T, N>>> {
    if !list.is_full() {
        list.insert(index, item);
        return None;
    }
    let cut = index.clamp(N / 4, N - N / 4);
    let mut upper = Box::<ArrayVec<T, N>>::default();
    upper.extend(list.drain(cut..));
    match index.checked_sub(cut) {
        Some(index) if index > 0 => upper.insert(index, item),
        _ => list.insert(index, item),
    }
    Some(upper)
}

/// Joins a child with the next if both together are half full.
fn join_at(children: &mut ArrayVec<Child, INNER>, index: usize) {
    let Some([lower, upper]) = children.get_mut(index..index + 2) else { return };
    match (&mut lower.node, &mut upper.node) {
        (Node::Leaf(lower), Node::Leaf(upper)) if lower.len() + upper.len() <= LEAF / 2 => {
            lower.extend(upper.drain(..));
        }
        (Node::Inner(lower), Node::Inner(upper)) if lower.len() + upper.len() <= INNER / 2 => {
            lower.extend(upper.drain(..));
        }
        _ => return,
    }
    lower.extent = lower.node.extent();
    children.remove(index + 1);
}
