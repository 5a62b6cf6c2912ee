// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The ready threads of one CPU, by priority: a ring for each level, and a bitmap of the levels that have one.
//!
//! Only the owner touches it, with interrupts off; what other CPUs want goes through its inbox and its list of reviews. The
//! running thread stays in the ring of its level and *is* the ring's beginning: so giving the CPU to the next one of a level
//! changes nothing here at all. What a level's word points to matters only while the running thread is of another level.
//! Every operation takes constant time.

use hadal_hal::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use hadal_hal::threads::link::AtomicRef;

use crate::audit;
use crate::thread::{PRIORITIES, Params, Thread};
use crate::transition::Event;

/// Nobody else looks.
const RELAXED: Ordering = Ordering::Relaxed;

/// Where a thread is in a ring; belongs to the CPU that has claimed the thread.
pub(crate) struct Place {
    /// `None` for the only thread of its level and for one in no ring.
    next: AtomicRef<Thread>,
    /// Valid if there is a next one.
    previous: AtomicRef<Thread>,
    level: AtomicU8,
    /// It counts among [`Levels::movable`].
    movable: AtomicBool,
}

/// The level of a thread in no ring: above all others, so that no ready thread precedes a running one that is not here.
pub(crate) const NOWHERE: u8 = u8::MAX;

impl Place {
    pub(crate) fn new() -> Self {
        Self {
            next: AtomicRef::none(),
            previous: AtomicRef::none(),
            level: AtomicU8::new(NOWHERE),
            movable: AtomicBool::new(false),
        }
    }

    /// The level, or [`NOWHERE`].
    #[inline(always)]
    pub(crate) fn level(&self) -> u8 {
        self.level.load(RELAXED)
    }

    /// Whether another CPU may have it.
    pub(crate) fn is_movable(&self) -> bool {
        self.movable.load(RELAXED)
    }

    /// The thread after this one, if it is not alone.
    #[inline(always)]
    pub(crate) fn next(&self) -> Option<&'static Thread> {
        self.next.load(RELAXED)
    }
}

/// The rings.
pub(crate) struct Levels {
    any: [AtomicRef<Thread>; PRIORITIES as usize],
    occupied: AtomicU64,
    len: AtomicU32,
    movable: AtomicU32,
}

impl Levels {
    pub(crate) fn new() -> Self {
        Self {
            any: core::array::from_fn(|_| AtomicRef::none()),
            occupied: AtomicU64::new(0),
            len: AtomicU32::new(0),
            movable: AtomicU32::new(0),
        }
    }

    /// Threads in all rings, the running one included. Other CPUs may ask, too.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.len.load(RELAXED) as usize
    }

    /// How many of them other CPUs may have, were they not running.
    pub(crate) fn movable(&self) -> usize {
        self.movable.load(RELAXED) as usize
    }

    /// The highest level with a thread.
    #[inline(always)]
    pub(crate) fn top(&self) -> Option<u8> {
        let occupied = self.occupied.load(RELAXED);
        (occupied != 0).then(|| 63 - occupied.leading_zeros() as u8)
    }

    /// The beginning of a level's ring when the running thread is of another one.
    #[inline(always)]
    pub(crate) fn first(&self, level: u8) -> Option<&'static Thread> {
        self.any[usize::from(level) % self.any.len()].load(RELAXED)
    }

    /// The thread to run when the running one is in no ring.
    #[inline(always)]
    pub(crate) fn best(&self) -> Option<&'static Thread> {
        self.first(self.top()?)
    }

    /// Makes a thread of some ring its beginning, for the time when the running thread is of another level.
    pub(crate) fn set_first(&self, thread: &'static Thread) {
        self.any[usize::from(thread.place.level()) % self.any.len()].store(Some(thread), RELAXED);
    }

    /// Puts a thread with these parameters at the end of its level. `running` is the CPU's thread.
    #[inline(always)]
    pub(crate) fn insert(&self, thread: &'static Thread, params: Params, running: &'static Thread) {
        let level = params.priority();
        let word = &self.any[usize::from(level) % self.any.len()];
        let any = word.load(RELAXED);
        let first = if running.place.level() == level { Some(running) } else { any };
        let place = &thread.place;
        place.level.store(level, RELAXED);
        audit::saw(thread.id(), Event::Inserted);
        self.len.store(self.len.load(RELAXED) + 1, RELAXED);
        if thread.may_move(params) {
            place.movable.store(true, RELAXED);
            self.movable.store(self.movable.load(RELAXED) + 1, RELAXED);
        }
        let Some(first) = first else {
            word.store(Some(thread), RELAXED);
            self.occupied.store(self.occupied.load(RELAXED) | 1 << (level % PRIORITIES), RELAXED);
            return;
        };
        let last = if first.place.next().is_some() { first.place.previous.load(RELAXED) } else { None };
        let last = last.unwrap_or(first);
        place.next.store(Some(first), RELAXED);
        place.previous.store(Some(last), RELAXED);
        last.place.next.store(Some(thread), RELAXED);
        first.place.previous.store(Some(thread), RELAXED);
    }

    /// Takes the running thread out of the ring of its level and returns the next one of its level, which begins with that one then.
    #[inline(always)]
    pub(crate) fn remove_running(&self, thread: &'static Thread, level: u8) -> Option<&'static Thread> {
        let next = thread.place.next();
        self.any[usize::from(level) % self.any.len()].store(next, RELAXED);
        self.unlink(thread, level, next);
        next
    }

    /// Puts a thread with these parameters that is in no ring into the place of the running one of its level, which is in no ring
    /// afterwards.
    #[inline(always)]
    pub(crate) fn replace_running(&self, thread: &'static Thread, next: &'static Thread, params: Params) {
        let level = params.priority();
        let (old, new) = (&thread.place, &next.place);
        self.any[usize::from(level) % self.any.len()].store(Some(next), RELAXED);
        new.level.store(level, RELAXED);
        old.level.store(NOWHERE, RELAXED);
        audit::saw(next.id(), Event::Inserted);
        audit::saw(thread.id(), Event::Removed);
        let (left, came) = (old.is_movable(), next.may_move(params));
        if left | came {
            old.movable.store(false, RELAXED);
            new.movable.store(came, RELAXED);
            self.movable.store(self.movable.load(RELAXED) - u32::from(left) + u32::from(came), RELAXED);
        }
        let Some(behind) = old.next() else { return };
        let before = old.previous.load(RELAXED).unwrap_or(behind);
        new.next.store(Some(behind), RELAXED);
        new.previous.store(Some(before), RELAXED);
        before.place.next.store(Some(next), RELAXED);
        behind.place.previous.store(Some(next), RELAXED);
        old.next.store(None, RELAXED);
    }

    /// Takes another thread out of its ring.
    pub(crate) fn remove(&self, thread: &'static Thread) {
        let word = &self.any[usize::from(thread.place.level()) % self.any.len()];
        let next = thread.place.next();
        if word.points_to(thread, RELAXED) {
            word.store(next, RELAXED);
        }
        self.unlink(thread, thread.place.level(), next);
    }

    /// Makes a thread the next after the running one of its level.
    pub(crate) fn move_behind(&self, thread: &'static Thread, running: &'static Thread) {
        let (Some(second), Some(before), Some(after)) =
            (running.place.next(), thread.place.previous.load(RELAXED), thread.place.next())
        else {
            return;
        };
        if core::ptr::eq(second, thread) {
            return;
        }
        before.place.next.store(Some(after), RELAXED);
        after.place.previous.store(Some(before), RELAXED);
        running.place.next.store(Some(thread), RELAXED);
        thread.place.previous.store(Some(running), RELAXED);
        thread.place.next.store(Some(second), RELAXED);
        second.place.previous.store(Some(thread), RELAXED);
    }

    #[inline(always)]
    fn unlink(&self, thread: &'static Thread, level: u8, next: Option<&'static Thread>) {
        let place = &thread.place;
        place.level.store(NOWHERE, RELAXED);
        audit::saw(thread.id(), Event::Removed);
        self.len.store(self.len.load(RELAXED) - 1, RELAXED);
        if place.is_movable() {
            place.movable.store(false, RELAXED);
            self.movable.store(self.movable.load(RELAXED) - 1, RELAXED);
        }
        let Some(next) = next else {
            self.occupied.store(self.occupied.load(RELAXED) & !(1 << (level % PRIORITIES)), RELAXED);
            return;
        };
        place.next.store(None, RELAXED);
        if place.previous.points_to(next, RELAXED) {
            next.place.next.store(None, RELAXED);
        } else if let Some(previous) = place.previous.load(RELAXED) {
            previous.place.next.store(Some(next), RELAXED);
            next.place.previous.store(Some(previous), RELAXED);
        }
    }

    /// The threads that wait, urgent ones first, at most `limit` of each level; `running` is the CPU's thread.
    pub(crate) fn waiting(
        &self,
        running: &'static Thread,
        limit: usize,
    ) -> impl Iterator<Item = &'static Thread> {
        (0..PRIORITIES).rev().flat_map(move |level| {
            let here = running.place.level() == level;
            let first = if here { running.place.next() } else { self.first(level) };
            let mut at = first;
            core::iter::from_fn(move || {
                let thread = at?;
                let end = if here { Some(running) } else { first };
                at = thread.place.next().filter(|next| end.is_none_or(|end| !core::ptr::eq(*next, end)));
                Some(thread)
            })
            .take(limit)
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{Levels, NOWHERE};
    use crate::thread::{Params, Policy, Thread};
    use std::vec::Vec;

    fn of(level: u8) -> Params {
        Params::new(level, Policy::RoundRobin, true)
    }

    fn turn(levels: &Levels, from: &'static Thread) -> Vec<u32> {
        let first = levels.first(from.place.level()).unwrap();
        let mut seen = vec![first.id()];
        let mut at = first;
        while let Some(next) = at.place.next().filter(|next| next.id() != first.id()) {
            seen.push(next.id());
            at = next;
        }
        seen
    }

    #[test]
    fn a_ring_keeps_its_order() {
        let (levels, idle) = (Levels::new(), Thread::leak(99));
        let threads: Vec<_> = (0..4).map(Thread::leak).collect();
        threads.iter().for_each(|thread| levels.insert(thread, of(7), idle));
        assert_eq!(turn(&levels, threads[0]), [0, 1, 2, 3]);
        assert_eq!((levels.len(), levels.top()), (4, Some(7)));
        // Thread 2 runs: what comes now waits for a whole turn, up to before it.
        let late = Thread::leak(4);
        levels.insert(late, of(7), threads[2]);
        assert_eq!(turn(&levels, threads[0]), [0, 1, 4, 2, 3]);
        assert!(levels.waiting(threads[2], 9).map(Thread::id).eq([3, 0, 1, 4]));
        levels.remove(threads[1]);
        levels.remove(threads[0]);
        assert_eq!(turn(&levels, threads[2]), [4, 2, 3]);
        for thread in [threads[3], threads[2], late] {
            levels.remove(thread);
            assert_eq!((thread.place.level(), thread.place.next().is_none()), (NOWHERE, true));
        }
        assert_eq!((levels.len(), levels.top()), (0, None));
    }

    #[test]
    fn the_highest_level_comes_first() {
        let (levels, idle) = (Levels::new(), Thread::leak(99));
        let threads: Vec<_> = (0..3).map(Thread::leak).collect();
        for (thread, level) in threads.iter().zip([0, 31, 16]) {
            levels.insert(thread, of(level), idle);
        }
        assert_eq!(levels.top(), Some(31));
        assert!(levels.waiting(idle, 9).map(Thread::id).eq([1, 2, 0]));
        levels.remove(threads[1]);
        assert_eq!(levels.top(), Some(16));
        assert_eq!(levels.first(16).map(Thread::id), Some(2));
    }

    #[test]
    fn a_thread_moves_to_the_front() {
        let (levels, idle) = (Levels::new(), Thread::leak(99));
        let threads: Vec<_> = (0..4).map(Thread::leak).collect();
        threads.iter().for_each(|thread| levels.insert(thread, of(7), idle));
        for (moved, order) in [(3, [0, 3, 1, 2]), (3, [0, 3, 1, 2]), (1, [0, 1, 3, 2]), (2, [0, 2, 1, 3])] {
            levels.move_behind(threads[moved], threads[0]);
            assert_eq!(turn(&levels, threads[0]), order);
        }
        levels.remove_running(threads[0], 7);
        assert_eq!(turn(&levels, threads[2]), [2, 1, 3]);
        // Two in a ring are next to each other.
        levels.remove(threads[3]);
        levels.move_behind(threads[1], threads[2]);
        assert_eq!(turn(&levels, threads[2]), [2, 1]);
    }

    #[test]
    fn a_preempted_thread_is_first_again() {
        let (levels, idle) = (Levels::new(), Thread::leak(99));
        let threads: Vec<_> = (0..3).map(Thread::leak).collect();
        threads.iter().for_each(|thread| levels.insert(thread, of(5), idle));
        levels.set_first(threads[2]);
        assert_eq!(turn(&levels, threads[0]), [2, 0, 1]);
    }

    /// A CPU that runs one of the threads in a ring, or none of them.
    struct Plain {
        rings: Vec<Vec<u32>>,
        running: Option<u32>,
    }

    impl Plain {
        fn ring_of(&mut self, thread: u32) -> Option<&mut Vec<u32>> {
            self.rings.iter_mut().find(|ring| ring.contains(&thread))
        }

        /// The running thread's ring begins with it.
        fn turn(&mut self) {
            if let Some(running) = self.running
                && let Some(ring) = self.ring_of(running)
            {
                let at = ring.iter().position(|&other| other == running).unwrap();
                ring.rotate_left(at);
            }
        }

        fn waiting(&self) -> Vec<u32> {
            let all = self.rings.iter().rev().flatten().copied();
            all.filter(|&thread| Some(thread) != self.running).collect()
        }
    }

    proptest::proptest! {
        /// Rings and plain queues agree after any sequence of insertions, removals and switches.
        #[test]
        fn rings_are_queues(steps in proptest::collection::vec((0u8..5, 0u32..6, 0u8..3), 1..60)) {
            let (levels, idle) = (Levels::new(), Thread::leak(99));
            let threads: Vec<_> = (0..6).map(Thread::leak).collect();
            let mut plain = Plain { rings: vec![Vec::new(); 3], running: None };
            for (step, index, level) in steps {
                let thread = threads[index as usize];
                let is_in = plain.ring_of(index).is_some();
                let running = plain.running.map_or(idle, |running| threads[running as usize]);
                match step {
                    0 | 1 if !is_in => {
                        levels.insert(thread, of(level), running);
                        plain.rings[usize::from(level)].push(index);
                    }
                    2 if is_in && plain.running != Some(index) => {
                        levels.remove(thread);
                        plain.ring_of(index).unwrap().retain(|&other| other != index);
                    }
                    3 => {
                        // The best one gets the CPU; the running one is first of its level, or leaves it.
                        if let Some(running) = plain.running.take() {
                            let thread = threads[running as usize];
                            let next = levels.remove_running(thread, thread.place.level());
                            let ring = plain.ring_of(running).unwrap();
                            ring.retain(|&other| other != running);
                            proptest::prop_assert_eq!(next.map(Thread::id), ring.first().copied());
                        }
                        plain.running = levels.best().map(Thread::id);
                        plain.turn();
                    }
                    4 => {
                        if let Some(next) = running.place.next() {
                            plain.running = Some(next.id());
                            plain.turn();
                        }
                    }
                    _ => {}
                }
                let running = plain.running.map_or(idle, |running| threads[running as usize]);
                let seen: Vec<u32> = levels.waiting(running, 9).map(Thread::id).collect();
                proptest::prop_assert_eq!(seen, plain.waiting());
                let len = plain.rings.iter().map(Vec::len).sum::<usize>();
                proptest::prop_assert_eq!(levels.len(), len);
                let top = plain.rings.iter().rposition(|ring| !ring.is_empty());
                proptest::prop_assert_eq!(levels.top().map(usize::from), top);
            }
        }
    }
}
