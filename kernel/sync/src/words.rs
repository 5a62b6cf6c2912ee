// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Threads that wait on words of memory: what futexes and the waits of `hadal/hrt.h` have in common.
//!
//! A word's waiters hang in one of many buckets, by its [`Key`], the most urgent first, of equals the oldest. Looking at the word and joining the bucket
//! happen under the bucket's lock, and so does taking out who is woken, so no wake-up is lost. Waiters are linked through one [`Node`] for
//! each thread, so nothing is allocated, and a thread waits on one word at a time.
//!
//! The lock keeps interrupts off, so wake-ups work from interrupts. Program memory must not fault then: whoever looks at the
//! word under the lock and cannot reads it once before, which brings its page in, and starts over.

#[cfg(not(all(test, loom)))]
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
#[cfg(all(test, loom))]
use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const NIL: u32 = u32::MAX;
/// Waiters that are taken out at once, before they are woken.
const BATCH: usize = 16;

/// Matches every waiter.
pub const ANY: u32 = u32::MAX;

/// What identifies a word: its address, or the object and the offset in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    source: (u64, u64),
    offset: u64,
}

impl Key {
    /// A word that is known by its address.
    pub fn private(address: usize) -> Self {
        Self { source: (u64::MAX, 0), offset: address as u64 }
    }

    /// A word of a shared object.
    pub fn shared(source: (u64, u64), offset: u64) -> Self {
        Self { source, offset }
    }

    fn bucket(&self, count: usize) -> usize {
        let mixed = (self.offset >> 2 ^ self.source.1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 48) as usize % count
    }
}

/// A thread's place among the waiters. All but `bucket` belongs to the lock of the bucket that the node is in.
#[repr(align(64))]
pub struct Node {
    next: AtomicU32,
    previous: AtomicU32,
    /// The bucket plus one, or 0 when the thread does not wait. The thread itself reads it without a lock.
    bucket: AtomicU32,
    key: [AtomicU64; 3],
    bits: AtomicU32,
}

impl Default for Node {
    fn default() -> Self {
        Self {
            next: AtomicU32::new(NIL),
            previous: AtomicU32::new(NIL),
            bucket: AtomicU32::new(0),
            key: [AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0)],
            bits: AtomicU32::new(0),
        }
    }
}

impl Node {
    fn key(&self) -> Key {
        let [first, second, offset] = self.key.each_ref().map(|word| word.load(Ordering::Relaxed));
        Key { source: (first, second), offset }
    }

    fn set_key(&self, key: &Key) {
        let words = [key.source.0, key.source.1, key.offset];
        self.key.iter().zip(words).for_each(|(to, word)| to.store(word, Ordering::Relaxed));
    }

    /// Whether the thread still waits. For the thread itself.
    fn is_waiting(&self) -> bool {
        self.bucket.load(Ordering::Acquire) != 0
    }
}

/// Gives the node of the thread with an index; the model uses a plain array.
pub trait Nodes {
    /// The node of `index`.
    fn node(&self, index: u32) -> &Node;

    /// How urgent the thread is: of two waiters the more urgent one is woken first, of equals the older.
    fn urgency(&self, _index: u32) -> u8 {
        0
    }
}

#[cfg(not(all(test, loom)))]
type Lock<T> = hadal_hal::sync::SpinLock<T>;
#[cfg(all(test, loom))]
type Lock<T> = loom::sync::Mutex<T>;

#[cfg(not(all(test, loom)))]
fn lock<T>(lock: &Lock<T>) -> impl core::ops::DerefMut<Target = T> {
    lock.lock()
}
#[cfg(all(test, loom))]
fn lock<T>(lock: &Lock<T>) -> impl core::ops::DerefMut<Target = T> {
    lock.lock().unwrap()
}

/// The waiters of one bucket, the most urgent first, of equals the oldest.
struct Queue {
    head: u32,
    tail: u32,
}

impl Queue {
    const EMPTY: Self = Self { head: NIL, tail: NIL };

    /// Constant time as long as all are equally urgent.
    fn push(&mut self, nodes: &impl Nodes, index: u32) {
        let urgency = nodes.urgency(index);
        let mut previous = self.tail;
        while previous != NIL && nodes.urgency(previous) < urgency {
            previous = nodes.node(previous).previous.load(Ordering::Relaxed);
        }
        let next = match previous {
            NIL => core::mem::replace(&mut self.head, index),
            before => nodes.node(before).next.swap(index, Ordering::Relaxed),
        };
        match next {
            NIL => self.tail = index,
            next => nodes.node(next).previous.store(index, Ordering::Relaxed),
        }
        let node = nodes.node(index);
        node.next.store(next, Ordering::Relaxed);
        node.previous.store(previous, Ordering::Relaxed);
    }

    fn unlink(&mut self, nodes: &impl Nodes, index: u32) {
        let node = nodes.node(index);
        let (next, previous) = (node.next.load(Ordering::Relaxed), node.previous.load(Ordering::Relaxed));
        match previous {
            NIL => self.head = next,
            previous => nodes.node(previous).next.store(next, Ordering::Relaxed),
        }
        match next {
            NIL => self.tail = previous,
            next => nodes.node(next).previous.store(previous, Ordering::Relaxed),
        }
    }

    /// The first waiter from `from` on whose key and bits fit.
    fn find(&self, nodes: &impl Nodes, from: u32, key: &Key, bits: u32) -> Option<u32> {
        let mut index = from;
        while index != NIL {
            let node = nodes.node(index);
            if node.bits.load(Ordering::Relaxed) & bits != 0 && node.key() == *key {
                return Some(index);
            }
            index = node.next.load(Ordering::Relaxed);
        }
        None
    }

    /// How many waiters from `from` on fit.
    fn count(&self, nodes: &impl Nodes, from: u32, key: &Key, bits: u32) -> usize {
        core::iter::successors(self.find(nodes, from, key, bits), |&index| {
            self.find(nodes, nodes.node(index).next.load(Ordering::Relaxed), key, bits)
        })
        .count()
    }

    /// Takes a waiter out: it does not wait any more.
    fn release(&mut self, nodes: &impl Nodes, index: u32) {
        self.unlink(nodes, index);
        nodes.node(index).bucket.store(0, Ordering::Release);
    }
}

/// The waiters on a set of words, in `N` buckets.
pub struct Words<const N: usize> {
    buckets: [Bucket; N],
}

#[repr(align(64))]
struct Bucket(Lock<Queue>);

impl<const N: usize> Default for Words<N> {
    fn default() -> Self {
        Self::new()
    }
}

/// How many waiters [`Words::requeue`] wakes and moves at most, or has woken and moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Woken.
    pub woken: usize,
    /// Moved to the other word.
    pub moved: usize,
}

impl<const N: usize> Words<N> {
    /// No waiters.
    #[cfg(not(all(test, loom)))]
    pub const fn new() -> Self {
        Self { buckets: [const { Bucket(Lock::new(Queue::EMPTY)) }; N] }
    }

    /// No waiters.
    #[cfg(all(test, loom))]
    pub fn new() -> Self {
        Self { buckets: core::array::from_fn(|_| Bucket(Lock::new(Queue::EMPTY))) }
    }

    fn bucket(&self, key: &Key) -> (u32, &Lock<Queue>) {
        let number = key.bucket(N);
        (number as u32 + 1, &self.buckets[number].0)
    }

    /// The thread `index` becomes a waiter if `look`, under the lock, says so; returns what it said.
    pub fn join<E>(
        &self,
        nodes: &impl Nodes,
        index: u32,
        (key, bits): (&Key, u32),
        look: impl FnOnce() -> Result<bool, E>,
    ) -> Result<bool, E> {
        let (number, bucket) = self.bucket(key);
        let mut queue = lock(bucket);
        let join = look()?;
        if join {
            let node = nodes.node(index);
            node.set_key(key);
            node.bits.store(bits, Ordering::Relaxed);
            node.bucket.store(number, Ordering::Relaxed);
            queue.push(nodes, index);
        }
        Ok(join)
    }

    /// Whether the thread has not been woken since it joined. For the thread itself.
    pub fn is_waiting(&self, nodes: &impl Nodes, index: u32) -> bool {
        nodes.node(index).is_waiting()
    }

    /// Takes a thread out of the bucket it waits in, wherever it was moved to; `false` if it has been woken.
    pub fn leave(&self, nodes: &impl Nodes, index: u32) -> bool {
        let node = nodes.node(index);
        loop {
            let Some(number) = node.bucket.load(Ordering::Acquire).checked_sub(1) else { return false };
            let mut queue = lock(&self.buckets[number as usize].0);
            // A requeue may have moved the thread to another bucket before this one was locked.
            if node.bucket.load(Ordering::Relaxed) == number + 1 {
                queue.release(nodes, index);
                return true;
            }
        }
    }

    /// Takes out up to `count` waiters whose bits meet `bits`, oldest first, and calls `wake` for them, some at a time, without
    /// the lock: a wake-up interrupts another CPU, and what runs there may want the lock at once. Returns how many.
    pub fn wake(
        &self,
        nodes: &impl Nodes,
        (key, bits): (&Key, u32),
        count: usize,
        wake: impl FnMut(&[u32]),
    ) -> usize {
        if count == 1 {
            self.wake_one(nodes, key, bits, wake)
        } else {
            self.wake_many(nodes, key, bits, count, wake)
        }
    }

    fn wake_one(&self, nodes: &impl Nodes, key: &Key, bits: u32, mut wake: impl FnMut(&[u32])) -> usize {
        let mut queue = lock(self.bucket(key).1);
        let Some(index) = queue.find(nodes, queue.head, key, bits) else { return 0 };
        queue.release(nodes, index);
        drop(queue);
        wake(&[index]);
        1
    }

    fn wake_many(
        &self,
        nodes: &impl Nodes,
        key: &Key,
        bits: u32,
        count: usize,
        mut wake: impl FnMut(&[u32]),
    ) -> usize {
        let (mut woken, mut most) = (0, count);
        while woken < most {
            let mut batch = [NIL; BATCH];
            let mut len = 0;
            let mut queue = lock(self.bucket(key).1);
            let mut from = queue.head;
            while len < BATCH.min(most - woken)
                && let Some(index) = queue.find(nodes, from, key, bits)
            {
                from = nodes.node(index).next.load(Ordering::Relaxed);
                queue.release(nodes, index);
                batch[len] = index;
                len += 1;
            }
            if len == BATCH && woken == 0 {
                // Who is woken may come back: not more than wait now.
                most = most.min(BATCH + queue.count(nodes, from, key, bits));
            }
            drop(queue);
            if len > 0 {
                wake(&batch[..len]);
            }
            woken += len;
            if len < BATCH {
                break;
            }
        }
        woken
    }

    /// Shows `decide` the oldest waiter on a word, if any, and whether there are more; it says whether that one is taken
    /// out, and woken by `wake`. For locks that are handed over.
    pub fn hand_over(
        &self,
        nodes: &impl Nodes,
        key: &Key,
        decide: impl FnOnce(Option<u32>, bool) -> bool,
        wake: impl FnOnce(u32),
    ) {
        let mut queue = lock(self.bucket(key).1);
        let heir = queue.find(nodes, queue.head, key, ANY);
        let behind = heir.map_or(NIL, |heir| nodes.node(heir).next.load(Ordering::Relaxed));
        let more = queue.find(nodes, behind, key, ANY).is_some();
        if decide(heir, more)
            && let Some(heir) = heir
        {
            queue.release(nodes, heir);
            wake(heir);
        }
    }

    /// Wakes waiters on the first word and moves others to the second, if `look`, under both locks, says so.
    pub fn requeue<E>(
        &self,
        nodes: &impl Nodes,
        (from, to): (&Key, &Key),
        most: Counts,
        look: impl FnOnce() -> Result<bool, E>,
        mut wake: impl FnMut(u32),
    ) -> Result<Option<Counts>, E> {
        let ((source, _), (target, _)) = (self.bucket(from), self.bucket(to));
        // Both locks at once, the lower bucket's first: a wake-up on `to` must not slip in between.
        let mut low = lock(&self.buckets[source.min(target) as usize - 1].0);
        let mut high = (source != target).then(|| lock(&self.buckets[source.max(target) as usize - 1].0));
        if !look()? {
            return Ok(None);
        }
        let mut done = Counts { woken: 0, moved: 0 };
        let mut at = if source <= target { low.head } else { high.as_ref().map_or(NIL, |high| high.head) };
        while done.woken < most.woken || done.moved < most.moved {
            let (queue, other) = match &mut high {
                None => (&mut *low, None),
                Some(high) if source < target => (&mut *low, Some(&mut **high)),
                Some(high) => (&mut **high, Some(&mut *low)),
            };
            let Some(index) = queue.find(nodes, at, from, ANY) else { break };
            let node = nodes.node(index);
            at = node.next.load(Ordering::Relaxed);
            if done.woken < most.woken {
                queue.release(nodes, index);
                wake(index);
                done.woken += 1;
                continue;
            }
            node.set_key(to);
            if let Some(other) = other {
                queue.unlink(nodes, index);
                other.push(nodes, index);
                node.bucket.store(target, Ordering::Release);
            }
            done.moved += 1;
        }
        Ok(Some(done))
    }
}

#[cfg(test)]
pub(crate) struct Array(pub(crate) std::vec::Vec<Node>);

#[cfg(test)]
impl Nodes for Array {
    fn node(&self, index: u32) -> &Node {
        &self.0[index as usize]
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn key(address: usize) -> Key {
        Key::private(address)
    }

    fn waiting(words: &Words<4>, nodes: &Array, waiters: &[(usize, u32)]) {
        for (index, &(address, bits)) in waiters.iter().enumerate() {
            let joined = words.join(nodes, index as u32, (&key(address), bits), || Ok::<_, ()>(true));
            assert_eq!(joined, Ok(true));
        }
    }

    fn woken(words: &Words<4>, nodes: &Array, address: usize, count: usize, bits: u32) -> Vec<u32> {
        let mut woken = Vec::new();
        words.wake(nodes, (&key(address), bits), count, |batch| woken.extend_from_slice(batch));
        woken
    }

    fn nodes(count: usize) -> Array {
        Array((0..count).map(|_| Node::default()).collect())
    }

    #[test]
    fn waiters_wake_by_age_word_and_bits() {
        let (words, nodes) = (Words::<4>::new(), nodes(5));
        waiting(&words, &nodes, &[(8, 1), (12, 1), (8, 2), (8, 1), (8, 3)]);
        assert_eq!(woken(&words, &nodes, 8, 1, 2), [2]);
        assert_eq!(woken(&words, &nodes, 8, 2, 1), [0, 3]);
        assert!(words.leave(&nodes, 1) && !words.leave(&nodes, 1) && !words.leave(&nodes, 0));
        assert_eq!(woken(&words, &nodes, 12, 9, ANY), []);
        assert_eq!(woken(&words, &nodes, 8, 9, ANY), [4]);
        assert!((0..5).all(|index| !words.is_waiting(&nodes, index)));
    }

    /// Nodes whose thread's urgency is its index modulo 3.
    struct Ranked(Array);

    impl Nodes for Ranked {
        fn node(&self, index: u32) -> &Node {
            self.0.node(index)
        }

        fn urgency(&self, index: u32) -> u8 {
            (index % 3) as u8
        }
    }

    #[test]
    fn the_most_urgent_wake_first_and_equals_by_age() {
        let (words, nodes) = (Words::<4>::new(), Ranked(nodes(7)));
        for index in 0..7 {
            assert_eq!(words.join(&nodes, index, (&key(8), ANY), || Ok::<_, ()>(true)), Ok(true));
        }
        assert!(words.leave(&nodes, 4));
        let mut woken = Vec::new();
        words.wake(&nodes, (&key(8), ANY), 3, |batch| woken.extend_from_slice(batch));
        words.wake(&nodes, (&key(8), ANY), 9, |batch| woken.extend_from_slice(batch));
        assert_eq!(woken, [2, 5, 1, 0, 3, 6]);
    }

    #[test]
    fn a_word_that_differs_is_not_waited_for() {
        let (words, nodes) = (Words::<4>::new(), nodes(1));
        assert_eq!(words.join(&nodes, 0, (&key(8), ANY), || Err(3)), Err(3));
        assert_eq!(words.join(&nodes, 0, (&key(8), ANY), || Ok::<_, ()>(false)), Ok(false));
        assert_eq!(woken(&words, &nodes, 8, 1, ANY), []);
    }

    #[test]
    fn others_move_in_order_between_any_two_words() {
        for to in (4..80).step_by(4).filter(|&to| to != 16) {
            let (words, nodes) = (Words::<4>::new(), nodes(4));
            waiting(&words, &nodes, &[(16, ANY), (16, ANY), (16, ANY), (to, ANY)]);
            let mut first = Vec::new();
            let most = Counts { woken: 1, moved: 1 };
            let look = || Ok::<_, ()>(true);
            let done = words.requeue(&nodes, (&key(16), &key(to)), most, look, |index| first.push(index));
            assert_eq!((done, first), (Ok(Some(most)), std::vec![0]));
            assert_eq!(woken(&words, &nodes, 16, 9, ANY), [2]);
            let mut moved = woken(&words, &nodes, to, 9, ANY);
            moved.sort_unstable();
            assert_eq!(moved, [1, 3]);
        }
    }

    #[test]
    fn a_lock_is_handed_to_the_oldest() {
        let (words, nodes) = (Words::<4>::new(), nodes(2));
        waiting(&words, &nodes, &[(8, ANY), (8, ANY)]);
        for expected in [(Some(0), true), (Some(1), false), (None, false)] {
            let mut seen = None;
            words.hand_over(
                &nodes,
                &key(8),
                |heir, more| {
                    seen = Some((heir, more));
                    true
                },
                |_| {},
            );
            assert_eq!(seen, Some(expected));
        }
    }
}

/// Run with `RUSTFLAGS="--cfg loom" cargo test -p hadal-sync --release --lib model`.
#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::sync::Arc;

    const HERE: u32 = 0;

    /// A thread that waits until the word changes, and one that changes it and wakes: the waiter ends.
    #[test]
    fn model_no_wake_up_is_lost() {
        loom::model(|| {
            let words = Arc::new(Words::<1>::new());
            let nodes = Arc::new(Array((0..1).map(|_| Node::default()).collect()));
            let word = Arc::new(AtomicU32::new(0));
            let waker = {
                let (words, nodes, word) = (words.clone(), nodes.clone(), word.clone());
                loom::thread::spawn(move || {
                    word.store(1, Ordering::Relaxed);
                    words.wake(&*nodes, (&Key::private(8), ANY), 1, |_| {});
                })
            };
            let look = || Ok::<_, ()>(word.load(Ordering::Relaxed) == 0);
            if words.join(&*nodes, HERE, (&Key::private(8), ANY), look) == Ok(true) {
                while words.is_waiting(&*nodes, HERE) {
                    loom::thread::yield_now();
                }
            }
            waker.join().unwrap();
        });
    }

    /// A waiter that gives up while it is moved and woken: it is woken or leaves, never both, and no bucket keeps it.
    #[test]
    fn model_a_waiter_leaves_once() {
        loom::model(|| {
            let words = Arc::new(Words::<2>::new());
            let nodes = Arc::new(Array((0..1).map(|_| Node::default()).collect()));
            let keys = [Key::private(8), Key::private(16)];
            assert!(keys[0].bucket(2) != keys[1].bucket(2));
            let joined = words.join(&*nodes, HERE, (&keys[0], ANY), || Ok::<_, ()>(true));
            assert_eq!(joined, Ok(true));
            let mover = {
                let (words, nodes) = (words.clone(), nodes.clone());
                loom::thread::spawn(move || {
                    let most = Counts { woken: 0, moved: 1 };
                    let look = || Ok::<_, ()>(true);
                    let _ = words.requeue(&*nodes, (&keys[0], &keys[1]), most, look, |_| {});
                    words.wake(&*nodes, (&keys[1], ANY), 1, |_| {})
                })
            };
            let left = words.leave(&*nodes, HERE);
            let woken = mover.join().unwrap();
            assert_eq!(usize::from(left) + woken, 1);
            assert!(!words.is_waiting(&*nodes, HERE));
        });
    }
}
