// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Threads that wait on words of memory: what futexes and the waits of `hadal/hrt.h` have in common.
//!
//! A word's waiters hang in one of many buckets, by its [`Key`], the most urgent first, of equals the oldest. Looking at the
//! word and joining the bucket happen under the bucket's lock, and so does taking out who is woken, so no wake-up is lost.
//! Waiters are linked through one [`Node`] for each thread, so nothing is allocated, and a thread waits on one word at a
//! time.
//!
//! The lock keeps interrupts off, so wake-ups work from interrupts. Program memory must not fault then: [`with_word`].

use alloc::boxed::Box;
#[cfg(not(all(test, loom)))]
use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
#[cfg(all(test, loom))]
use loom::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use hadal_hal::memory::fallible::{self, OutOfMemory};

pub use program::{BadWord, check_word, with_word};
use queue::Queue;

mod program;
mod queue;

const NIL: u32 = u32::MAX;
/// Waiters that are taken out or moved at once, before the lock is released and they are woken.
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
    #[inline]
    pub fn private(address: usize) -> Self {
        Self { source: (u64::MAX, 0), offset: address as u64 }
    }

    /// A word of a shared object.
    pub fn shared(source: (u64, u64), offset: u64) -> Self {
        Self { source, offset }
    }

    /// Whether it is known by its address.
    #[inline]
    pub fn is_private(&self) -> bool {
        self.source.0 == u64::MAX
    }

    #[inline]
    fn bucket(&self, count: usize) -> usize {
        let mixed = (self.offset >> 2 ^ self.source.1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 48) as usize % count
    }
}

/// A thread's place among the waiters. All but `bucket` belongs to the lock of the bucket that the node is in.
#[repr(align(64))]
pub struct Node {
    /// Neighbours among the equals of its group (`queue.rs`).
    next: AtomicU32,
    previous: AtomicU32,
    /// Neighbours of its group, the last of the group, and how many there are: if the node is the first.
    next_group: AtomicU32,
    previous_group: AtomicU32,
    last: AtomicU32,
    len: AtomicU32,
    /// The bucket plus one, or 0 when the thread does not wait. The thread itself reads it without a lock.
    bucket: AtomicU32,
    bits: AtomicU32,
    key: [AtomicU64; 3],
    arrival: AtomicU32,
    urgency: AtomicU8,
}

impl Default for Node {
    fn default() -> Self {
        let link = || AtomicU32::new(NIL);
        Self {
            next: link(),
            previous: link(),
            next_group: link(),
            previous_group: link(),
            last: link(),
            len: AtomicU32::new(0),
            bucket: AtomicU32::new(0),
            bits: AtomicU32::new(0),
            key: [AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0)],
            arrival: AtomicU32::new(0),
            urgency: AtomicU8::new(0),
        }
    }
}

impl Node {
    fn key(&self) -> Key {
        let [first, second, offset] = self.key.each_ref().map(|word| word.load(Ordering::Relaxed));
        Key { source: (first, second), offset }
    }

    /// Whether the waiter is for this word, and one of its bits is among these.
    fn fits(&self, key: &Key, bits: u32) -> bool {
        self.bits.load(Ordering::Relaxed) & bits != 0 && self.key() == *key
    }

    fn set_key(&self, key: &Key) {
        let words = [key.source.0, key.source.1, key.offset];
        self.key.iter().zip(words).for_each(|(to, word)| to.store(word, Ordering::Relaxed));
    }

    /// Whether the thread still waits. For the thread itself.
    #[inline]
    pub fn is_waiting(&self) -> bool {
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

    /// The same of the calling thread, `index`.
    #[inline]
    fn own_urgency(&self, index: u32) -> u8 {
        self.urgency(index)
    }
}

#[cfg(not(all(test, loom)))]
use hadal_hal::sync::{Rank, SpinLock as Lock, SpinLockGuard as Guard};
#[cfg(all(test, loom))]
use loom::sync::{Mutex as Lock, MutexGuard as Guard};

#[cfg(not(all(test, loom)))]
#[cfg_attr(debug_assertions, track_caller)]
fn lock<T>(lock: &Lock<T>) -> Guard<'_, T> {
    lock.lock()
}
#[cfg(all(test, loom))]
fn lock<T>(lock: &Lock<T>) -> Guard<'_, T> {
    lock.lock().unwrap()
}

/// The waiters on a set of words, in `N` buckets, which are many bytes and live for ever.
pub struct Words<const N: usize> {
    buckets: &'static [Bucket; N],
}

/// Some of the waiters.
#[repr(align(64))]
pub struct Bucket(Lock<Queue>);

impl Bucket {
    /// No waiters.
    #[cfg(not(all(test, loom)))]
    #[expect(clippy::new_without_default, reason = "only a table of them is of use")]
    pub const fn new() -> Self {
        Self(Lock::ranked(Rank::WaitWords, Queue::EMPTY))
    }

    #[cfg(all(test, loom))]
    fn new() -> Self {
        Self(Lock::new(Queue::EMPTY))
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
    /// Those who wait in these buckets.
    pub const fn new(buckets: &'static [Bucket; N]) -> Self {
        Self { buckets }
    }

    /// No waiters; the memory is never freed. The buckets are made where they stay: together they are too large for a kernel stack.
    pub fn allocate() -> Result<Self, OutOfMemory> {
        let buckets = fallible::collected((0..N).map(|_| Bucket::new()))?.into_boxed_slice();
        let Ok(buckets) = Box::<[Bucket; N]>::try_from(buckets) else { unreachable!("there are as many") };
        Ok(Self { buckets: Box::leak(buckets) })
    }

    /// Its buckets, of which [`Words::new`] makes the same words.
    pub fn buckets(&self) -> &'static [Bucket; N] {
        self.buckets
    }

    #[inline]
    fn bucket(&self, key: &Key) -> (u32, &Lock<Queue>) {
        let number = key.bucket(N);
        (number as u32 + 1, &self.buckets[number].0)
    }

    /// The calling thread, `index`, becomes a waiter if `look`, under the lock, says so; returns what it said.
    #[inline(always)]
    pub fn join<E>(
        &self,
        nodes: &impl Nodes,
        index: u32,
        (key, bits): (&Key, u32),
        look: impl FnOnce() -> Result<bool, E>,
    ) -> Result<bool, E> {
        self.join_by(nodes, (index, nodes.node(index)), (key, bits), look)
    }

    /// [`Words::join`] for who has the thread's node.
    #[inline(always)]
    pub fn join_by<E>(
        &self,
        nodes: &impl Nodes,
        (index, node): (u32, &Node),
        (key, bits): (&Key, u32),
        look: impl FnOnce() -> Result<bool, E>,
    ) -> Result<bool, E> {
        let (number, bucket) = self.bucket(key);
        let mut queue = lock(bucket);
        let join = look()?;
        if join {
            node.set_key(key);
            node.bits.store(bits, Ordering::Relaxed);
            node.bucket.store(number, Ordering::Relaxed);
            queue.push(nodes, (index, node), nodes.own_urgency(index));
        }
        Ok(join)
    }

    /// Whether the thread has not been woken since it joined. For the thread itself.
    #[inline]
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
    #[inline(always)]
    pub fn wake(
        &self,
        nodes: &impl Nodes,
        (key, bits): (&Key, u32),
        count: usize,
        mut wake: impl FnMut(&[u32]),
    ) -> usize {
        if count != 1 {
            return self.wake_many(nodes, key, bits, count, wake);
        }
        let Some(index) = self.take_one(nodes, (key, bits)) else { return 0 };
        wake(&[index]);
        1
    }

    /// Takes out the waiter to wake first of those whose bits meet `bits`: the caller wakes it.
    #[inline(always)]
    pub fn take_one(&self, nodes: &impl Nodes, (key, bits): (&Key, u32)) -> Option<u32> {
        lock(self.bucket(key).1).take(nodes, key, bits)
    }

    #[inline(never)]
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
            let mut batch = Batch::new();
            let mut queue = lock(self.bucket(key).1);
            while batch.len < BATCH.min(most - woken)
                && let Some(index) = queue.take(nodes, key, bits)
            {
                batch.push(index);
            }
            if batch.len == BATCH && woken == 0 {
                // Who is woken may come back: not more than wait now.
                most = most.min(BATCH + queue.count(nodes, key, bits));
            }
            drop(queue);
            if batch.len > 0 {
                wake(batch.indices());
            }
            woken += batch.len;
            if batch.len < BATCH {
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
        let first = queue.find(nodes, key, ANY);
        let more = queue.count(nodes, key, ANY) > 1;
        if decide(first, more)
            && let Some(first) = first
        {
            queue.release(nodes, first);
            wake(first);
        }
    }

    /// Wakes waiters on the first word and moves others to the second, if `look`, under both locks, says so.
    ///
    /// That is done for some at a time, and in between the locks are released and the woken ones get their interrupts. So the
    /// whole is not one step for others: a wake-up on the first word that comes in between reaches who has not been moved
    /// yet, as if it had come before, and one on the second word who has been, as if it had come behind.
    pub fn requeue<E>(
        &self,
        nodes: &impl Nodes,
        (from, to): (&Key, &Key),
        most: Counts,
        look: impl FnOnce() -> Result<bool, E>,
        mut wake: impl FnMut(&[u32]),
    ) -> Result<Option<Counts>, E> {
        let (mut done, mut left) = (Counts { woken: 0, moved: 0 }, usize::MAX);
        let mut look = Some(look);
        while left > 0 && (done.woken < most.woken || done.moved < most.moved) {
            let mut batch = Batch::new();
            let mut pair = Pair::lock(self, from, to);
            if let Some(look) = look.take() {
                if !look()? {
                    return Ok(None);
                }
                // Whoever comes meanwhile is not meant.
                left = pair.source().count(nodes, from, ANY);
            }
            for _ in 0..BATCH.min(left) {
                let Some(index) = pair.source().find(nodes, from, ANY) else { break };
                if done.woken < most.woken {
                    pair.source().release(nodes, index);
                    batch.push(index);
                    done.woken += 1;
                } else if done.moved < most.moved {
                    pair.source().unlink(nodes, index);
                    let node = nodes.node(index);
                    node.set_key(to);
                    pair.target().push(nodes, (index, node), nodes.urgency(index));
                    node.bucket.store(self.bucket(to).0, Ordering::Release);
                    done.moved += 1;
                } else {
                    break;
                }
            }
            left = left.saturating_sub(BATCH);
            drop(pair);
            if batch.len > 0 {
                wake(batch.indices());
            }
        }
        Ok(Some(done))
    }
}

/// Threads that are woken when no lock is held.
struct Batch {
    indices: [u32; BATCH],
    len: usize,
}

impl Batch {
    fn new() -> Self {
        Self { indices: [NIL; BATCH], len: 0 }
    }

    fn push(&mut self, index: u32) {
        self.indices[self.len] = index;
        self.len += 1;
    }

    fn indices(&self) -> &[u32] {
        &self.indices[..self.len]
    }
}

/// The buckets of two words, locked, perhaps the same one: a wake-up on the second word must not slip in between.
///
/// Fields are dropped in their order, and the lock that was taken first brings back the interrupts, so it goes last.
struct Pair<G> {
    high: Option<G>,
    low: G,
    source_is_low: bool,
}

impl<'a> Pair<Guard<'a, Queue>> {
    fn lock<const N: usize>(words: &'a Words<N>, from: &Key, to: &Key) -> Self {
        let (source, target) = (from.bucket(N), to.bucket(N));
        // The lower bucket's first.
        let low = lock(&words.buckets[source.min(target)].0);
        let high = (source != target).then(|| lock(&words.buckets[source.max(target)].0));
        Self { high, low, source_is_low: source <= target }
    }

    fn source(&mut self) -> &mut Queue {
        match &mut self.high {
            Some(high) if !self.source_is_low => high,
            _ => &mut self.low,
        }
    }

    fn target(&mut self) -> &mut Queue {
        match &mut self.high {
            Some(high) if self.source_is_low => high,
            _ => &mut self.low,
        }
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
mod tests;

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
            let words = Arc::new(Words::<1>::allocate().unwrap());
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
            let words = Arc::new(Words::<2>::allocate().unwrap());
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
