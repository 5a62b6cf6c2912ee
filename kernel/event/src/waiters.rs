// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Threads that wait for an event on a CPU: a stack that anybody pushes to, taken whole by the interrupt without a lock.
//!
//! A thread has one [`Node`], by its index, and is in one list at most. Who takes a list wakes all that is in it; those who
//! still wait come back. So a thread that gives up takes the list, too, instead of searching it: rare, and simple.

use crate::atomic::{AtomicBool, AtomicU32, Ordering, in_one_order, relax};

/// The end of a list.
const NIL: u32 = u32::MAX;

/// A thread's place in a list.
pub(crate) struct Node {
    next: AtomicU32,
    /// From the push until whoever has taken the list has passed the node.
    queued: AtomicBool,
}

impl Node {
    pub(crate) fn new() -> Self {
        Self { next: AtomicU32::new(NIL), queued: AtomicBool::new(false) }
    }
}

/// Gives the node of the thread with an index; tests use a plain array.
pub(crate) trait Nodes {
    fn node(&self, thread: u32) -> &Node;
}

/// The threads that wait for one event on one CPU.
pub(crate) struct WaitList(AtomicU32);

impl WaitList {
    pub(crate) fn new() -> Self {
        Self(AtomicU32::new(NIL))
    }

    /// Adds the calling thread, which is in no list. Look at the condition afterwards.
    pub(crate) fn push(&self, nodes: &impl Nodes, thread: u32) {
        let node = nodes.node(thread);
        node.queued.store(true, Ordering::Relaxed);
        let mut head = self.0.load(Ordering::Relaxed);
        loop {
            node.next.store(head, Ordering::Relaxed);
            match self.0.compare_exchange_weak(head, thread, Ordering::SeqCst, Ordering::Relaxed) {
                Ok(_) => return in_one_order(),
                Err(found) => head = found,
            }
        }
    }

    /// Takes all threads out and calls `wake` for each, if there are any. The condition was changed before.
    #[inline]
    pub(crate) fn wake_all(&self, nodes: &impl Nodes, mut wake: impl FnMut(u32)) {
        in_one_order();
        if self.0.load(Ordering::SeqCst) == NIL {
            return;
        }
        let mut thread = self.0.swap(NIL, Ordering::SeqCst);
        while thread != NIL {
            let node = nodes.node(thread);
            let next = node.next.load(Ordering::Relaxed);
            // The node is its thread's again.
            node.queued.store(false, Ordering::Release);
            wake(thread);
            thread = next;
        }
    }

    /// Takes the calling thread out, if it is still in; others that wait are woken and come back. Interrupts are off, so
    /// that nobody who has taken a list is held up.
    pub(crate) fn leave(&self, nodes: &impl Nodes, thread: u32, mut wake: impl FnMut(u32)) {
        while nodes.node(thread).queued.load(Ordering::Acquire) {
            self.wake_all(nodes, |other| {
                if other != thread {
                    wake(other);
                }
            });
            // Else another CPU has the list in its hands.
            relax();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::vec::Vec;

    struct Array(Vec<Node>);
    impl Nodes for Array {
        fn node(&self, thread: u32) -> &Node {
            &self.0[thread as usize]
        }
    }

    #[test]
    fn everybody_is_woken_once_and_a_leaver_wakes_the_others() {
        let nodes = Array((0..4).map(|_| Node::new()).collect());
        let list = WaitList::new();
        (0..3).for_each(|thread| list.push(&nodes, thread));
        let mut woken = Vec::new();
        list.leave(&nodes, 1, |thread| woken.push(thread));
        assert_eq!(woken, [2, 0]);
        list.leave(&nodes, 1, |_| panic!("the list is empty"));
        list.push(&nodes, 3);
        list.wake_all(&nodes, |thread| woken.push(thread));
        list.wake_all(&nodes, |thread| woken.push(thread));
        assert_eq!(woken, [2, 0, 3]);
    }
}
