// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pools of slots: stacks of indices that any CPU may push to and pop from without a lock.
//!
//! The head holds the first index and a tag that changes with every push and pop, so that a pop that was overtaken by others
//! (the same index on top again, with another one below) fails and tries again. Records are never freed, so reading the link
//! of one that has gone meanwhile is harmless.

#[cfg(not(all(test, loom)))]
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
#[cfg(all(test, loom))]
use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The link of a record: the one below it in the pool.
pub(crate) type Link = AtomicU32;

const NIL: u32 = u32::MAX;

/// Where records and their links are; the model uses a plain array.
pub(crate) trait Links {
    /// A record.
    type Item: Copy;
    /// The record with an index.
    fn item(&self, index: u32) -> Self::Item;
    /// Its link.
    fn link(&self, item: Self::Item) -> &Link;
}

/// One pool.
pub(crate) struct Pool {
    /// Tag in the high half, first index in the low half.
    head: AtomicU64,
}

const ONE_TAG: u64 = 1 << 32;

/// A head with another index and the next tag.
#[inline(always)]
fn next(head: u64, index: u32) -> u64 {
    (head & !(ONE_TAG - 1)).wrapping_add(ONE_TAG) | u64::from(index)
}

impl Pool {
    /// A pool without slots.
    pub(crate) fn new() -> Self {
        Self { head: AtomicU64::new(NIL.into()) }
    }

    /// Adds a record, which is in no pool, by its index.
    #[inline]
    pub(crate) fn push<L: Links>(&self, links: &L, item: L::Item, index: u32) {
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            links.link(item).store(head as u32, Ordering::Relaxed);
            let new = next(head, index);
            match self.head.compare_exchange_weak(head, new, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(found) => head = found,
            }
        }
    }

    /// Takes the record that was added last.
    #[inline(always)]
    pub(crate) fn pop<L: Links>(&self, links: &L) -> Option<L::Item> {
        let mut head = self.head.load(Ordering::Acquire);
        loop {
            let index = head as u32;
            if index == NIL {
                return None;
            }
            let item = links.item(index);
            let below = links.link(item).load(Ordering::Relaxed);
            match self.head.compare_exchange_weak(
                head,
                next(head, below),
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => return Some(item),
                Err(found) => head = found,
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{Link, Links, NIL, Pool};

    struct Array(Vec<Link>);

    impl Links for Array {
        type Item = u32;
        fn item(&self, index: u32) -> u32 {
            index
        }
        fn link(&self, index: u32) -> &Link {
            &self.0[index as usize]
        }
    }

    #[test]
    fn the_last_one_in_is_the_first_one_out() {
        let links = Array((0..3).map(|_| Link::new(NIL)).collect());
        let pool = Pool::new();
        assert_eq!(pool.pop(&links), None);
        (0..3).for_each(|index| pool.push(&links, index, index));
        assert_eq!([(); 4].map(|()| pool.pop(&links)), [Some(2), Some(1), Some(0), None]);
    }
}

/// Run with `RUSTFLAGS="--cfg loom" cargo test -p hadal-hrt --release --lib model`.
#[cfg(all(test, loom))]
mod model {
    use super::{Link, Links, NIL, Pool};
    use loom::sync::Arc;
    use loom::sync::atomic::{AtomicU32, Ordering};

    struct Array([Link; 2]);

    impl Links for Array {
        type Item = u32;
        fn item(&self, index: u32) -> u32 {
            index
        }
        fn link(&self, index: u32) -> &Link {
            &self.0[index as usize]
        }
    }

    /// Two takers that put back what they took: no index is ever held by both, none is lost.
    #[test]
    fn model_no_slot_is_taken_twice_or_lost() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(4);
        model.check(|| {
            let links = Arc::new(Array([Link::new(NIL), Link::new(NIL)]));
            let pool = Arc::new(Pool::new());
            let held = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
            pool.push(&*links, 0, 0);
            pool.push(&*links, 1, 1);
            let takers: Vec<_> = (0..2)
                .map(|_| {
                    let (links, pool, held) = (links.clone(), pool.clone(), held.clone());
                    loom::thread::spawn(move || {
                        for _ in 0..2 {
                            let index = pool.pop(&*links).expect("one for each");
                            assert_eq!(held[index as usize].swap(1, Ordering::Relaxed), 0);
                            held[index as usize].store(0, Ordering::Relaxed);
                            pool.push(&*links, index, index);
                        }
                    })
                })
                .collect();
            takers.into_iter().for_each(|taker| taker.join().unwrap());
            let all = [pool.pop(&*links), pool.pop(&*links), pool.pop(&*links)];
            assert!(all == [Some(0), Some(1), None] || all == [Some(1), Some(0), None]);
        });
    }
}
