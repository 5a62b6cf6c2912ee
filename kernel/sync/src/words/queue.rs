// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The waiters of one bucket, so that what is done under its lock takes the same time however many there are.
//!
//! Waiters for the same word with the same bits and urgency are a *group*: a list in the order in which they came, whose first
//! node also stands for the group among those of the bucket. Who is looked for is the first of a group; so steps are taken
//! over groups, that is over words that share a bucket, not over waiters.

use super::{Key, NIL, Node, Nodes, Ordering};

/// The waiters of a bucket.
pub(super) struct Queue {
    /// First node of some group.
    groups: u32,
    /// Waiters that ever came, wrapping: their age among groups.
    arrivals: u32,
}

impl Queue {
    pub(super) const EMPTY: Self = Self { groups: NIL, arrivals: 0 };

    /// Adds a waiter with its node, in which key and bits are set, behind its equals.
    #[inline(always)]
    pub(super) fn push(&mut self, nodes: &impl Nodes, (index, node): (u32, &Node), urgency: u8) {
        node.urgency.store(urgency, Ordering::Relaxed);
        node.arrival.store(self.arrivals, Ordering::Relaxed);
        self.arrivals = self.arrivals.wrapping_add(1);
        node.next.store(NIL, Ordering::Relaxed);
        node.previous.store(NIL, Ordering::Relaxed);
        node.last.store(index, Ordering::Relaxed);
        node.len.store(1, Ordering::Relaxed);
        // Most waiters are alone in their bucket.
        if self.groups == NIL {
            node.next_group.store(NIL, Ordering::Relaxed);
            node.previous_group.store(NIL, Ordering::Relaxed);
            self.groups = index;
        } else {
            self.link_to_others(nodes, (index, node), urgency);
        }
    }

    /// Puts a waiter that is a group for itself where it belongs.
    #[inline(never)]
    fn link_to_others(&mut self, nodes: &impl Nodes, (index, node): (u32, &Node), urgency: u8) {
        match self.equals_of(nodes, node, urgency) {
            Some(first) => {
                let group = nodes.node(first);
                let last = group.last.swap(index, Ordering::Relaxed);
                nodes.node(last).next.store(index, Ordering::Relaxed);
                node.previous.store(last, Ordering::Relaxed);
                group.len.store(group.len.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            }
            None => self.link(nodes, index, NIL, self.groups),
        }
    }

    /// The first node of the group of waiters that are like this one.
    fn equals_of(&self, nodes: &impl Nodes, node: &Node, urgency: u8) -> Option<u32> {
        let (key, bits) = (node.key(), node.bits.load(Ordering::Relaxed));
        self.groups(nodes).find(|&first| {
            let first = nodes.node(first);
            first.urgency.load(Ordering::Relaxed) == urgency
                && first.bits.load(Ordering::Relaxed) == bits
                && first.key() == key
        })
    }

    /// The first nodes of the groups.
    fn groups(&self, nodes: &impl Nodes) -> impl Iterator<Item = u32> {
        let some = |index: u32| (index != NIL).then_some(index);
        core::iter::successors(some(self.groups), move |&first| {
            some(nodes.node(first).next_group.load(Ordering::Relaxed))
        })
    }

    fn groups_of(&self, nodes: &impl Nodes, key: &Key, bits: u32) -> impl Iterator<Item = u32> {
        self.groups(nodes).filter(move |&first| nodes.node(first).fits(key, bits))
    }

    /// The waiter to wake first: the most urgent, of equals the oldest.
    pub(super) fn find(&self, nodes: &impl Nodes, key: &Key, bits: u32) -> Option<u32> {
        self.groups_of(nodes, key, bits).reduce(|best, other| {
            let (one, two) = (nodes.node(best), nodes.node(other));
            let urgency = [one, two].map(|node| node.urgency.load(Ordering::Relaxed));
            let [age, other_age] =
                [one, two].map(|node| self.arrivals.wrapping_sub(node.arrival.load(Ordering::Relaxed)));
            if urgency[1] > urgency[0] || urgency[1] == urgency[0] && other_age > age { other } else { best }
        })
    }

    /// How many waiters fit.
    pub(super) fn count(&self, nodes: &impl Nodes, key: &Key, bits: u32) -> usize {
        self.groups_of(nodes, key, bits)
            .map(|first| nodes.node(first).len.load(Ordering::Relaxed) as usize)
            .sum()
    }

    /// Takes a waiter out; it stays one for itself until [`Queue::release`], or waits elsewhere.
    pub(super) fn unlink(&mut self, nodes: &impl Nodes, index: u32) {
        let node = nodes.node(index);
        let (next, previous) = (node.next.load(Ordering::Relaxed), node.previous.load(Ordering::Relaxed));
        if previous == NIL {
            return self.unlink_first(nodes, index, next);
        }
        nodes.node(previous).next.store(next, Ordering::Relaxed);
        if next != NIL {
            nodes.node(next).previous.store(previous, Ordering::Relaxed);
        }
        // Which group this is only its first node knows.
        let first = self.equals_of(nodes, node, node.urgency.load(Ordering::Relaxed));
        let group = nodes.node(first.expect("a group has a first node"));
        group.len.store(group.len.load(Ordering::Relaxed) - 1, Ordering::Relaxed);
        if next == NIL {
            group.last.store(previous, Ordering::Relaxed);
        }
    }

    /// The next one stands for the group, or nobody does.
    fn unlink_first(&mut self, nodes: &impl Nodes, index: u32, next: u32) {
        let node = nodes.node(index);
        let before = node.previous_group.load(Ordering::Relaxed);
        let behind = node.next_group.load(Ordering::Relaxed);
        if next == NIL {
            self.join_groups(nodes, before, behind);
            return;
        }
        let first = nodes.node(next);
        first.previous.store(NIL, Ordering::Relaxed);
        first.last.store(node.last.load(Ordering::Relaxed), Ordering::Relaxed);
        first.len.store(node.len.load(Ordering::Relaxed) - 1, Ordering::Relaxed);
        self.link(nodes, next, before, behind);
    }

    /// Puts the first node of a group between two groups.
    fn link(&mut self, nodes: &impl Nodes, first: u32, before: u32, behind: u32) {
        self.join_groups(nodes, before, first);
        self.join_groups(nodes, first, behind);
    }

    /// Makes one group follow another; [`NIL`] stands for the ends of the list.
    fn join_groups(&mut self, nodes: &impl Nodes, before: u32, behind: u32) {
        match before {
            NIL => self.groups = behind,
            before => nodes.node(before).next_group.store(behind, Ordering::Relaxed),
        }
        if behind != NIL {
            nodes.node(behind).previous_group.store(before, Ordering::Relaxed);
        }
    }

    /// Takes the waiter to wake first out: it does not wait any more.
    #[inline(always)]
    pub(super) fn take(&mut self, nodes: &impl Nodes, key: &Key, bits: u32) -> Option<u32> {
        let first = self.groups;
        if first == NIL {
            return None;
        }
        let node = nodes.node(first);
        // Most waiters are alone in their bucket.
        let is_alone =
            node.next_group.load(Ordering::Relaxed) == NIL && node.next.load(Ordering::Relaxed) == NIL;
        if !is_alone {
            return self.take_from_others(nodes, key, bits);
        }
        if !node.fits(key, bits) {
            return None;
        }
        self.groups = NIL;
        node.bucket.store(0, Ordering::Release);
        Some(first)
    }

    #[inline(never)]
    fn take_from_others(&mut self, nodes: &impl Nodes, key: &Key, bits: u32) -> Option<u32> {
        let index = self.find(nodes, key, bits)?;
        self.release(nodes, index);
        Some(index)
    }

    /// Takes a waiter out: it does not wait any more.
    pub(super) fn release(&mut self, nodes: &impl Nodes, index: u32) {
        self.unlink(nodes, index);
        nodes.node(index).bucket.store(0, Ordering::Release);
    }
}
