// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Models of the lock-free parts, for loom: every order of their steps is tried.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p hadal-event --release --lib model`

use std::sync::Arc;
use std::vec::Vec;

use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use loom::thread;

use crate::broadcast::{Broadcasts, Seen};
use crate::pending::Pending;
use crate::section::Section;
use crate::waiters::{Node, Nodes, WaitList};

struct Array(Vec<Node>);

impl Nodes for Array {
    fn node(&self, thread: u32) -> &Node {
        &self.0[thread as usize]
    }
}

/// Every notification is taken after it was made: by the handler of the interrupt that it sent, or of one that was sent
/// before and comes later.
#[test]
fn notifications_are_not_lost() {
    loom::model(|| {
        let pending = Arc::new(Pending::new());
        let interrupts = Arc::new(AtomicUsize::new(0));
        let runs = Arc::new(AtomicUsize::new(0));
        let senders: Vec<_> = (0..2)
            .map(|event| {
                let (pending, interrupts) = (pending.clone(), interrupts.clone());
                thread::spawn(move || {
                    if pending.set(event % 2) {
                        interrupts.fetch_add(1, Ordering::SeqCst);
                    }
                })
            })
            .collect();
        // The interrupts that have come in by now, as one.
        if interrupts.swap(0, Ordering::SeqCst) > 0 {
            pending.take_each(|_| {
                runs.fetch_add(1, Ordering::Relaxed);
            });
        }
        senders.into_iter().for_each(|sender| sender.join().unwrap());
        if interrupts.swap(0, Ordering::SeqCst) > 0 {
            pending.take_each(|_| {
                runs.fetch_add(1, Ordering::Relaxed);
            });
        }
        assert_eq!(runs.load(Ordering::Relaxed), 2);
    });
}

/// What `Events::unregister` does: no notifier and no handler uses the slot when it is done, and no bit is left for the
/// next registration.
#[test]
fn unregister_leaves_nothing_behind() {
    struct State {
        registered: AtomicBool,
        /// The slot has been given out again: from now on nothing may run for the old event.
        reused: AtomicBool,
        pending: Pending,
        notifier: Section,
        handler: Section,
    }
    loom::model(|| {
        let state = Arc::new(State {
            registered: AtomicBool::new(true),
            reused: AtomicBool::new(false),
            pending: Pending::new(),
            notifier: Section::new(),
            handler: Section::new(),
        });
        let notifier = {
            let state = state.clone();
            thread::spawn(move || {
                let _inside = state.notifier.enter();
                if state.registered.load(Ordering::SeqCst) {
                    state.pending.set(0);
                }
            })
        };
        let handler = {
            let state = state.clone();
            thread::spawn(move || {
                let _inside = state.handler.enter();
                state.pending.take_each(|_| {
                    // A bit that is taken now belongs to the old event.
                    assert!(!state.reused.load(Ordering::SeqCst));
                });
            })
        };
        state.registered.store(false, Ordering::SeqCst);
        for section in [&state.notifier, &state.handler] {
            section.wait_until_left();
        }
        state.pending.clear(0);
        for section in [&state.notifier, &state.handler] {
            section.wait_until_left();
        }
        state.reused.store(true, Ordering::SeqCst);
        notifier.join().unwrap();
        handler.join().unwrap();
        state.pending.take_each(|_| panic!("a bit was left"));
    });
}

/// A thread that waits sees the event, or is woken by it.
#[test]
fn waiters_are_not_lost() {
    loom::model(|| {
        let nodes = Arc::new(Array((0..1).map(|_| Node::new()).collect()));
        let list = Arc::new(WaitList::new());
        let arrived = Arc::new(AtomicUsize::new(0));
        let woken = Arc::new(AtomicBool::new(false));
        let interrupt = {
            let (nodes, list, arrived, woken) = (nodes.clone(), list.clone(), arrived.clone(), woken.clone());
            thread::spawn(move || {
                arrived.fetch_add(1, Ordering::SeqCst);
                list.wake_all(&*nodes, |_| woken.store(true, Ordering::SeqCst));
            })
        };
        list.push(&*nodes, 0);
        let seen = arrived.load(Ordering::SeqCst) > 0;
        interrupt.join().unwrap();
        assert!(seen || woken.load(Ordering::SeqCst));
    });
}

/// A thread that gives up is out of the list, whoever has it in the hands, and another one that waits is woken.
#[test]
fn leaving_a_list_that_is_taken() {
    loom::model(|| {
        let nodes = Arc::new(Array((0..2).map(|_| Node::new()).collect()));
        let list = Arc::new(WaitList::new());
        list.push(&*nodes, 0);
        list.push(&*nodes, 1);
        let woken = Arc::new(AtomicUsize::new(0));
        let interrupt = {
            let (nodes, list, woken) = (nodes.clone(), list.clone(), woken.clone());
            thread::spawn(move || {
                list.wake_all(&*nodes, |thread| {
                    woken.fetch_or(1 << thread, Ordering::SeqCst);
                });
            })
        };
        list.leave(&*nodes, 0, |thread| {
            woken.fetch_or(1 << thread, Ordering::SeqCst);
        });
        // The node is free again: another list may have it.
        WaitList::new().push(&*nodes, 0);
        interrupt.join().unwrap();
        assert_eq!(woken.load(Ordering::SeqCst) & 2, 2);
    });
}

/// Two CPUs broadcast at the same time; each gets the other's, and a third one gets at least one.
#[test]
fn broadcasts_are_not_lost() {
    fn drain(broadcasts: &Broadcasts, seen: &Seen) -> usize {
        let mut taken = 0;
        broadcasts.take_each(seen, |_| taken += 1);
        taken
    }
    loom::model(|| {
        let broadcasts = Arc::new(Broadcasts::new());
        let other = {
            let broadcasts = broadcasts.clone();
            thread::spawn(move || {
                let seen = Seen::new();
                broadcasts.post(0, Some(&seen));
                seen
            })
        };
        let own = Seen::new();
        broadcasts.post(0, Some(&own));
        let mut taken = drain(&broadcasts, &own);
        let seen = other.join().unwrap();
        // The interrupts that the broadcasts send come after them.
        taken += drain(&broadcasts, &own);
        assert_eq!((taken, drain(&broadcasts, &seen)), (1, 1));
    });
}
