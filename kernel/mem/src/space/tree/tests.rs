// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tests of the tree, against a sorted list.

use super::super::PAGE_SIZE;
use super::super::vma::{Backing, Name, Prot, VmaFlags};
use super::node::LEAF;
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

/// Removes the mapping that starts there.
fn remove(tree: &mut MappingTree, start: usize) -> Option<Vma> {
    let end = tree.from(start).next().filter(|vma| vma.start == start)?.end;
    let mut taken = None;
    assert_eq!(tree.take_first(start, end, &mut taken), First::Taken);
    taken
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
            remove(&mut tree, index * 2 * PAGE_SIZE);
        }
        assert_eq!(tree.len(), 20);
        assert!(check(&tree.root) <= 3);
        for index in (0..=20_000).filter(|index| index % 1000 == 1) {
            assert!(remove(&mut tree, index * 2 * PAGE_SIZE).is_some());
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
    (18..18 + 2 * LEAF).rev().for_each(|index| drop(remove(&mut tree, 10 * index)));
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
                    // A range that mostly begins with a mapping, or somewhere.
                    let start = known.filter(|_| operation == 5).map_or(at, |known| known.0);
                    let end = start + 2 * len;
                    let first = model.range(..end).rev().take_while(|(_, to)| **to > start).last();
                    let first = first.map(|(from, to)| (*from, *to));
                    let expected = match first {
                        None => First::None,
                        Some((from, to)) if from < start || end < to => First::SticksOut(from),
                        Some((from, _)) => {
                            model.remove(&from);
                            First::Taken
                        }
                    };
                    let mut taken = None;
                    prop_assert_eq!(tree.take_first(start, end, &mut taken), expected);
                    let taken = taken.map(|vma| (vma.start, vma.end));
                    prop_assert_eq!(taken, first.filter(|_| expected == First::Taken));
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
            for len in [1, 7, 300] {
                let between = tree.between(at, at + len).map(|vma| vma.start);
                let inside = model.iter().filter(|range| *range.1 > at && *range.0 < at + len);
                prop_assert!(between.eq(inside.map(|range| *range.0)));
            }
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
