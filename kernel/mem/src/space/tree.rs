// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Mappings by address, and the gaps between them: a B+ tree whose inner nodes know the extent of each child and the largest gap
//! in it. One way from the root finds a mapping, its two neighbours, or the highest gap of a size.
//!
//! A node that loses entries is joined with the one beside it when both are half of one, so that the tree of a program that has
//! unmapped nearly everything is small again.

use alloc::boxed::Box;
use core::ops::ControlFlow;

use arrayvec::ArrayVec;

use super::vma::Vma;

/// Mappings in a leaf.
const LEAF: usize = 16;
/// Children of an inner node.
const INNER: usize = 32;

/// Mappings that do not overlap.
pub(super) struct MappingTree {
    root: Node,
    extent: Extent,
    len: usize,
}

enum Node {
    Leaf(Box<ArrayVec<Vma, LEAF>>),
    Inner(Box<ArrayVec<Child, INNER>>),
}

struct Child {
    extent: Extent,
    node: Node,
}

/// From the first mapping's start to the last one's end, with the largest gap between two.
#[derive(Clone, Copy, Debug, Default)]
struct Extent {
    start: usize,
    end: usize,
    gap: usize,
    /// What no other gap exceeds: while the largest one shrinks and grows, as where new mappings go below the last
    /// one, the others need no look.
    others: usize,
}

/// What a look at a gap decides: go on, or end with a place or without.
pub(super) type Look = ControlFlow<Option<usize>>;

impl MappingTree {
    pub(super) fn new() -> Self {
        Self { root: Node::Leaf(Box::default()), extent: Extent::default(), len: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The mappings that end above `addr`, in order.
    pub(super) fn from(&self, addr: usize) -> Iter<'_> {
        Iter { tree: self, at: addr, rest: &[] }
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

    /// Removes the mapping that starts at `start`.
    pub(super) fn remove(&mut self, start: usize) -> Option<Vma> {
        let removed = self.root.remove(&mut self.extent, start)?;
        self.len -= 1;
        while let Node::Inner(children) = &mut self.root
            && children.len() == 1
            && let Some(only) = children.pop()
        {
            (self.root, self.extent) = (only.node, only.extent);
        }
        Some(removed)
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

fn look_at(start: usize, end: usize, len: usize, look: &mut dyn FnMut(usize, usize) -> Look) -> Look {
    if end.saturating_sub(start) >= len { look(start, end) } else { Look::Continue(()) }
}

/// An entry of a node: mappings without a gap inside, or children.
trait Entry {
    fn start(&self) -> usize;
    fn end(&self) -> usize;
    fn gap(&self) -> usize;
}

impl Entry for Vma {
    fn start(&self) -> usize {
        self.start
    }
    fn end(&self) -> usize {
        self.end
    }
    fn gap(&self) -> usize {
        0
    }
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

/// The largest gap in and between entries, and the next one.
fn largest_gaps<T: Entry>(entries: &[T]) -> (usize, usize) {
    let Some((first, others)) = entries.split_first() else { return (0, 0) };
    let (mut most, mut next, mut end) = (first.gap(), 0, first.end());
    for entry in others {
        for gap in [entry.start() - end, entry.gap()] {
            next = next.max(gap.min(most));
            most = most.max(gap);
        }
        end = entry.end();
    }
    (most, next)
}

/// The largest gap in an entry and beside it, and the next one.
#[inline]
fn gaps_around<T: Entry>(entries: &[T], index: usize) -> (usize, usize) {
    let Some(entry) = entries.get(index) else { return (0, 0) };
    let above = entries.get(index + 1).map_or(0, |next| next.start() - entry.end());
    let below = gap_below(entries, index);
    let beside = above.max(below);
    (entry.gap().max(beside), entry.gap().min(beside).max(above.min(below)))
}

/// The gap between an entry and the one before it.
#[inline]
fn gap_below<T: Entry>(entries: &[T], index: usize) -> usize {
    match (entries.get(index.wrapping_sub(1)), entries.get(index)) {
        (Some(below), Some(entry)) => entry.start() - below.end(),
        _ => 0,
    }
}

fn extent_of<T: Entry>(entries: &[T]) -> Extent {
    let bounds = entries.first().zip(entries.last());
    let (start, end) = bounds.map_or((0, 0), |(first, last)| (first.start(), last.end()));
    let (gap, others) = largest_gaps(entries);
    Extent { start, end, gap, others }
}

impl Extent {
    /// Brings the extent of entries up to date after a change in which gaps of up to `before` have become others of up to
    /// `after`, and all but one of them up to `next`.
    #[inline]
    fn update<T: Entry>(&mut self, entries: &[T], before: usize, (after, next): (usize, usize)) {
        if before < self.gap {
            // The largest one is still there.
            self.others = self.others.max(after.min(self.gap)).max(next);
            self.gap = self.gap.max(after);
        } else if after >= self.others {
            (self.gap, self.others) = (after, self.others.max(next));
        } else {
            (self.gap, self.others) = largest_gaps(entries);
        }
        if let (Some(first), Some(last)) = (entries.first(), entries.last()) {
            (self.start, self.end) = (first.start(), last.end());
        }
    }
}

impl Node {
    fn len(&self) -> usize {
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

    fn extent(&self) -> Extent {
        match self {
            Self::Leaf(mappings) => extent_of(mappings),
            Self::Inner(children) => extent_of(children),
        }
    }

    fn first(&self) -> Option<&Vma> {
        match self {
            Self::Leaf(mappings) => mappings.first(),
            Self::Inner(children) => children.first()?.node.first(),
        }
    }

    /// The rest of a leaf, from the first mapping on that ends above `addr`.
    fn ending_above(&self, addr: usize) -> Option<&[Vma]> {
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
    fn insert(&mut self, extent: &mut Extent, vma: Vma) -> Option<Child> {
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
    fn insert_inside(&mut self, extent: &mut Extent, vma: Vma) -> Result<usize, Vma> {
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

    fn remove(&mut self, extent: &mut Extent, start: usize) -> Option<Vma> {
        match self {
            Self::Leaf(mappings) => {
                let index = mappings.binary_search_by_key(&start, |vma| vma.start).ok()?;
                let (before, _) = gaps_around(mappings, index);
                let removed = mappings.remove(index);
                extent.update(mappings, before, (gap_below(mappings, index), 0));
                Some(removed)
            }
            Self::Inner(children) => {
                let index = children.partition_point(|child| child.extent.start <= start).checked_sub(1)?;
                let (before, _) = gaps_around(children, index);
                let child = &mut children[index];
                let removed = child.node.remove(&mut child.extent, start)?;
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
                Some(removed)
            }
        }
    }

    fn change<R>(
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
    fn look_below(&self, ceiling: usize, len: usize, look: &mut dyn FnMut(usize, usize) -> Look) -> Look {
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

/// Mappings in order.
pub(super) struct Iter<'a> {
    tree: &'a MappingTree,
    /// Where the mappings so far end.
    at: usize,
    /// What is left of a leaf.
    rest: &'a [Vma],
}

impl<'a> Iterator for Iter<'a> {
    type Item = &'a Vma;

    fn next(&mut self) -> Option<&'a Vma> {
        if self.rest.is_empty() {
            self.rest = self.tree.root.ending_above(self.at)?;
        }
        let (vma, rest) = self.rest.split_first()?;
        (self.at, self.rest) = (vma.end, rest);
        Some(vma)
    }
}

#[cfg(test)]
mod tests {
    use super::super::PAGE_SIZE;
    use super::super::vma::{Backing, Name, Prot, VmaFlags};
    use super::*;
    use alloc::collections::BTreeMap;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn vma(start: usize, end: usize) -> Vma {
        Vma {
            start,
            end,
            prot: Prot::READ,
            max_prot: Prot::all(),
            flags: VmaFlags::empty(),
            backing: Backing::Anonymous,
            name: Name::None,
            policy: None,
        }
    }

    fn check_extent(node: &Node, known: Extent) {
        let Extent { start, end, gap, others } = node.extent();
        assert_eq!((start, end, gap), (known.start, known.end, known.gap));
        assert!(others <= known.others);
    }

    /// The depth of a node; nodes are not empty, and extents are true.
    fn check(node: &Node) -> usize {
        assert!(node.len() > 0);
        let Node::Inner(children) = node else { return 1 };
        let depths: Vec<_> = children.iter().map(|child| check(&child.node)).collect();
        assert!(depths.iter().all(|depth| *depth == depths[0]));
        for child in children.iter() {
            check_extent(&child.node, child.extent);
        }
        depths[0] + 1
    }

    #[test]
    fn a_tree_that_is_emptied_is_small_again() {
        for descending in [false, true] {
            let mut tree = MappingTree::new();
            for index in 0..20_000 {
                let start = PAGE_SIZE * 2 * if descending { 20_000 - index } else { index };
                tree.insert(vma(start, start + PAGE_SIZE));
            }
            assert!(check(&tree.root) <= 5);
            for index in (0..=20_000).filter(|index| index % 1000 != 1) {
                tree.remove(index * 2 * PAGE_SIZE);
            }
            assert_eq!(tree.len(), 20);
            assert!(check(&tree.root) <= 3);
            for index in (0..=20_000).filter(|index| index % 1000 == 1) {
                assert!(tree.remove(index * 2 * PAGE_SIZE).is_some());
            }
            assert_eq!((tree.len(), tree.root.len()), (0, 0));
        }
    }

    /// What is known of the gaps in the one child that is left is more than the root knew.
    #[test]
    fn a_root_that_goes_leaves_what_its_child_knows() {
        let mut tree = MappingTree::new();
        // Gaps of 100 and 50 in the lower leaf, then a long row without gaps.
        for (start, end) in [(0, 10), (110, 120), (170, 180)] {
            tree.insert(vma(start, end));
        }
        (18..18 + 2 * LEAF).for_each(|index| tree.insert(vma(10 * index, 10 * index + 10)));
        (18..18 + 2 * LEAF).rev().for_each(|index| drop(tree.remove(10 * index)));
        assert!(matches!(tree.root, Node::Leaf(_)));
        // The largest gap is filled but for a little: the other one is the largest now.
        tree.insert(vma(20, 110));
        check_extent(&tree.root, tree.extent);
        assert_eq!(tree.highest_gap(0, 180, 40, &mut |start, _| Look::Break(Some(start))), Some(120));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]
        #[test]
        fn a_tree_is_like_a_sorted_list(
            operations in proptest::collection::vec((0u8..8, 0usize..2000, 1usize..9), 1..1500),
        ) {
            let mut tree = MappingTree::new();
            let mut model = BTreeMap::<usize, usize>::new();
            for (operation, at, len) in operations {
                // Those that take away are about one that is there.
                let known = model.range(at..).next().map(|(start, end)| (*start, *end));
                match operation {
                    0..5 => {
                        let below = model.range(..=at).next_back().map_or(0, |(_, end)| *end);
                        if below <= at && known.is_none_or(|known| at + len <= known.0) {
                            // What touches another would be joined with it (`map.rs` tests that).
                            let touches = below == at || known.is_some_and(|known| known.0 == at + len);
                            let new = vma(at, at + len);
                            let left = if touches { Some(new) } else { tree.insert_inside(new).err() };
                            left.into_iter().for_each(|new| tree.insert(new));
                            model.insert(at, at + len);
                        }
                    }
                    5..7 => {
                        if let Some((start, end)) = known {
                            prop_assert_eq!(tree.remove(start).map(|vma| vma.end), Some(end));
                            model.remove(&start);
                        }
                        prop_assert!(tree.remove(at).is_none());
                    }
                    _ => {
                        if let Some((start, end)) = known.filter(|known| known.1 - known.0 > len) {
                            prop_assert_eq!(tree.change(start, |vma| vma.end -= len), Some(()));
                            model.insert(start, end - len);
                        }
                    }
                }
                prop_assert_eq!(tree.len(), model.len());
                if tree.len() > 0 {
                    check_extent(&tree.root, tree.extent);
                }
            }
            if tree.len() > 0 {
                check(&tree.root);
            }
            let ranges: Vec<_> = tree.from(0).map(|vma| (vma.start, vma.end)).collect();
            prop_assert!(ranges.iter().copied().eq(model.iter().map(|(start, end)| (*start, *end))));
            for at in 0..2010 {
                let (below, above) = tree.around(at);
                prop_assert_eq!(below.map(|vma| vma.start), model.range(..at).next_back().map(|range| *range.0));
                prop_assert_eq!(above.map(|vma| vma.start), model.range(at..).next().map(|range| *range.0));
                let from = tree.from(at).next().map(|vma| vma.start);
                prop_assert_eq!(from, model.iter().find(|range| *range.1 > at).map(|range| *range.0));
            }
            for (ceiling, len) in [(2010, 1), (2010, 5), (1000, 1), (700, 3), (5, 2)] {
                let mut gaps = Vec::new();
                tree.highest_gap(0, ceiling, len, &mut |start, end| {
                    gaps.push((start, end));
                    Look::Continue(())
                });
                let starts = ranges.iter().rev().map(|range| range.1).chain([0]);
                let ends = [ceiling].into_iter().chain(ranges.iter().rev().map(|range| range.0.min(ceiling)));
                let all = starts.zip(ends).filter(|(start, end)| start + len <= *end);
                prop_assert!(gaps.into_iter().eq(all));
            }
        }
    }
}
