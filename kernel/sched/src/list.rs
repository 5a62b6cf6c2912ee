// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Lists of threads, linked by index through [`Thread::link`]: the ready list of a CPU and its lock-free inbox.
//!
//! A thread is in at most one list: whoever makes it runnable puts it there, whoever takes it out runs it.

#[cfg(not(loom))]
use core::sync::atomic::{AtomicU32, Ordering};
#[cfg(loom)]
use loom::sync::atomic::{AtomicU32, Ordering};

/// A thread's link: the index of the next one.
pub(crate) type Link = AtomicU32;

/// The end of a list.
pub(crate) const NIL: u32 = u32::MAX;

/// Gives the link word of the thread with an index; tests use a plain array.
pub(crate) trait Links {
    /// The link of `index`.
    fn link(&self, index: u32) -> &Link;
}

/// A first-in, first-out list; its owner's lock protects it.
#[derive(Debug)]
pub(crate) struct Fifo {
    head: u32,
    tail: u32,
    len: usize,
}

impl Fifo {
    pub(crate) const fn new() -> Self {
        Self { head: NIL, tail: NIL, len: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn push(&mut self, links: &impl Links, index: u32) {
        links.link(index).store(NIL, Ordering::Relaxed);
        if self.tail == NIL {
            self.head = index;
        } else {
            links.link(self.tail).store(index, Ordering::Relaxed);
        }
        self.tail = index;
        self.len += 1;
    }

    pub(crate) fn pop(&mut self, links: &impl Links) -> Option<u32> {
        let index = self.head;
        if index == NIL {
            return None;
        }
        self.head = links.link(index).load(Ordering::Relaxed);
        if self.head == NIL {
            self.tail = NIL;
        }
        self.len -= 1;
        Some(index)
    }

    /// Takes the first thread that `fits` out of the list.
    pub(crate) fn take_first(&mut self, links: &impl Links, fits: impl Fn(u32) -> bool) -> Option<u32> {
        for _ in 0..self.len {
            let index = self.pop(links)?;
            if fits(index) {
                // What was rotated to the back returns to its order only after a whole turn; order among threads of
                // equal standing is not promised to a thief.
                return Some(index);
            }
            self.push(links, index);
        }
        None
    }
}

/// A list that any CPU may push to without a lock; its owner takes everything at once, so there is no ABA problem.
#[derive(Debug)]
pub(crate) struct Inbox(AtomicU32);

impl Inbox {
    pub(crate) fn new() -> Self {
        Self(AtomicU32::new(NIL))
    }

    pub(crate) fn push(&self, links: &impl Links, index: u32) {
        let mut head = self.0.load(Ordering::Relaxed);
        loop {
            links.link(index).store(head, Ordering::Relaxed);
            // Sequentially consistent: the owner's "I sleep" and this push must be seen in one order.
            match self.0.compare_exchange_weak(head, index, Ordering::SeqCst, Ordering::Relaxed) {
                Ok(_) => return,
                Err(found) => head = found,
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.load(Ordering::SeqCst) == NIL
    }

    /// Moves everything to the back of `fifo`, oldest first.
    pub(crate) fn drain(&self, links: &impl Links, fifo: &mut Fifo) {
        if self.0.load(Ordering::Relaxed) == NIL {
            return;
        }
        let mut index = self.0.swap(NIL, Ordering::Acquire);
        let mut reversed = NIL;
        while index != NIL {
            let next = links.link(index).swap(reversed, Ordering::Relaxed);
            reversed = index;
            index = next;
        }
        while reversed != NIL {
            let next = links.link(reversed).load(Ordering::Relaxed);
            fifo.push(links, reversed);
            reversed = next;
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{Fifo, Inbox, Links};
    use core::sync::atomic::AtomicU32;
    use std::sync::Arc;
    use std::vec::Vec;

    struct Words(Vec<AtomicU32>);
    impl Links for Words {
        fn link(&self, index: u32) -> &AtomicU32 {
            &self.0[index as usize]
        }
    }
    fn words(count: u32) -> Words {
        Words((0..count).map(|_| AtomicU32::new(0)).collect())
    }
    fn drain(fifo: &mut Fifo, links: &Words) -> Vec<u32> {
        core::iter::from_fn(|| fifo.pop(links)).collect()
    }

    #[test]
    fn fifo_keeps_order() {
        let (links, mut fifo) = (words(5), Fifo::new());
        for index in [3, 0, 4] {
            fifo.push(&links, index);
        }
        assert_eq!(fifo.take_first(&links, |index| index == 0), Some(0));
        assert_eq!(fifo.len(), 2);
        assert_eq!(drain(&mut fifo, &links), [4, 3]);
        assert_eq!(fifo.pop(&links), None);
    }

    #[test]
    fn inbox_drains_oldest_first() {
        let (links, inbox, mut fifo) = (words(4), Inbox::new(), Fifo::new());
        fifo.push(&links, 3);
        for index in 0..3 {
            inbox.push(&links, index);
        }
        inbox.drain(&links, &mut fifo);
        assert!(inbox.is_empty());
        assert_eq!(drain(&mut fifo, &links), [3, 0, 1, 2]);
    }

    #[test]
    fn inbox_loses_nothing_under_contention() {
        const PER_THREAD: u32 = 2000;
        let shared = Arc::new((words(4 * PER_THREAD), Inbox::new()));
        let pushers: Vec<_> = (0..4)
            .map(|thread| {
                let shared = shared.clone();
                std::thread::spawn(move || {
                    for index in thread * PER_THREAD..(thread + 1) * PER_THREAD {
                        shared.1.push(&shared.0, index);
                    }
                })
            })
            .collect();
        let mut seen = Vec::new();
        while seen.len() < 4 * PER_THREAD as usize {
            let mut fifo = Fifo::new();
            shared.1.drain(&shared.0, &mut fifo);
            seen.extend(drain(&mut fifo, &shared.0));
        }
        for pusher in pushers {
            pusher.join().unwrap();
        }
        seen.sort_unstable();
        assert!(seen.into_iter().eq(0..4 * PER_THREAD));
    }
}

/// Run with `RUSTFLAGS="--cfg loom" cargo test -p hadal-sched --release --lib model`.
#[cfg(all(test, loom))]
mod model {
    use super::{Fifo, Inbox, Link, Links};
    use loom::sync::Arc;
    use loom::sync::atomic::{AtomicBool, Ordering};
    use std::vec::Vec;

    struct Words(Vec<Link>);
    impl Links for Words {
        fn link(&self, index: u32) -> &Link {
            &self.0[index as usize]
        }
    }

    /// Two pushers and an owner that drains twice: nothing is lost, nothing comes twice.
    #[test]
    fn model_inbox_keeps_everything() {
        loom::model(|| {
            let shared = Arc::new((Words((0..3).map(|_| Link::new(0)).collect()), Inbox::new()));
            let pushers: Vec<_> = [vec![0], vec![1, 2]]
                .into_iter()
                .map(|indices| {
                    let shared = shared.clone();
                    loom::thread::spawn(move || {
                        indices.into_iter().for_each(|index| shared.1.push(&shared.0, index))
                    })
                })
                .collect();
            let mut fifo = Fifo::new();
            shared.1.drain(&shared.0, &mut fifo);
            for pusher in pushers {
                pusher.join().unwrap();
            }
            shared.1.drain(&shared.0, &mut fifo);
            let mut seen: Vec<u32> = core::iter::from_fn(|| fifo.pop(&shared.0)).collect();
            seen.sort_unstable();
            assert_eq!(seen, [0, 1, 2]);
        });
    }

    /// The owner says that it sleeps and looks once more; the pusher pushes and looks whether it sleeps: one of them sees
    /// the other. Loom weakens sequentially consistent accesses, so the model puts a fence where the code has them.
    #[test]
    fn model_a_sleeper_is_interrupted() {
        loom::model(|| {
            let shared = Arc::new((Words(vec![Link::new(0)]), Inbox::new(), AtomicBool::new(false)));
            let pusher = {
                let shared = shared.clone();
                loom::thread::spawn(move || {
                    shared.1.push(&shared.0, 0);
                    loom::sync::atomic::fence(Ordering::SeqCst);
                    shared.2.load(Ordering::SeqCst)
                })
            };
            shared.2.store(true, Ordering::SeqCst);
            loom::sync::atomic::fence(Ordering::SeqCst);
            let seen = !shared.1.is_empty();
            let interrupted = pusher.join().unwrap();
            assert!(seen || interrupted);
        });
    }
}
