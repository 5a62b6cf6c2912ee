// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A queue of pending timers: which deadline comes first, and what to do then.
//!
//! One exists per CPU, behind that CPU's lock; it knows nothing of hardware. Every operation is logarithmic
//! in the number of pending timers. Memory is allocated only when there are more of them than ever before.

use alloc::vec::Vec;

/// Names a timer until it expires or is cancelled; never names another one afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TimerId {
    slot: u32,
    generation: u32,
}

impl TimerId {
    /// Bits of a generation: one bit is left for those who keep names of several kinds.
    pub const GENERATIONS: u32 = u32::MAX >> 1;

    /// Slot and generation, for names that are kept outside.
    pub fn parts(self) -> (u32, u32) {
        (self.slot, self.generation)
    }

    /// The name with these parts; it need not name a timer.
    pub fn from_parts(slot: u32, generation: u32) -> Self {
        Self { slot, generation }
    }
}

/// A slot holds one pending timer or is free.
#[derive(Debug)]
struct Slot<T> {
    /// Advanced when the slot is freed, so that old names stop working.
    generation: u32,
    pending: Option<Pending<T>>,
}

#[derive(Debug)]
struct Pending<T> {
    payload: T,
    /// Index of this timer's key in the heap.
    heap_index: u32,
}

/// Orders timers by deadline, those with the same one by age.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    deadline_ns: u64,
    sequence: u64,
    slot: u32,
}

/// Pending timers with a payload each.
#[derive(Debug)]
pub struct TimerQueue<T> {
    /// A binary heap: no key is greater than the two at twice its index plus one and two.
    heap: Vec<Key>,
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
    sequence: u64,
}

impl<T> TimerQueue<T> {
    /// A queue without timers and without memory.
    pub const fn new() -> Self {
        Self { heap: Vec::new(), slots: Vec::new(), free: Vec::new(), sequence: 0 }
    }

    /// Number of pending timers.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether no timer is pending.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// The earliest deadline.
    pub fn next_deadline_ns(&self) -> Option<u64> {
        self.heap.first().map(|key| key.deadline_ns)
    }

    /// Makes room for this many timers in all, so that adding them allocates nothing; false when memory is
    /// out.
    pub fn reserve(&mut self, timers: usize) -> bool {
        let missing = |length: usize| timers.saturating_sub(length);
        self.heap.try_reserve(missing(self.heap.len())).is_ok()
            && self.slots.try_reserve(missing(self.slots.len())).is_ok()
            && self.free.try_reserve(missing(self.free.len())).is_ok()
    }

    /// Adds a timer; gives the payload back when memory is out.
    pub fn insert(&mut self, deadline_ns: u64, payload: T) -> Result<TimerId, T> {
        let Some(slot) = self.take_slot() else { return Err(payload) };
        let heap_index = self.heap.len() as u32;
        self.heap.push(Key { deadline_ns, sequence: self.sequence, slot });
        self.sequence += 1;
        let entry = &mut self.slots[slot as usize];
        entry.pending = Some(Pending { payload, heap_index });
        let id = TimerId { slot, generation: entry.generation };
        self.sift_up(heap_index as usize);
        Ok(id)
    }

    /// Removes a timer before it expires; `None` when it already has, or was cancelled.
    pub fn cancel(&mut self, id: TimerId) -> Option<T> {
        self.cancel_if(id, |_| true)
    }

    /// The same, if the payload is as wanted.
    pub fn cancel_if(&mut self, id: TimerId, wanted: impl FnOnce(&T) -> bool) -> Option<T> {
        let slot = self.slots.get(id.slot as usize).filter(|slot| slot.generation == id.generation)?;
        let pending = slot.pending.as_ref().filter(|pending| wanted(&pending.payload))?;
        let heap_index = pending.heap_index;
        self.remove(heap_index as usize).map(|(_, payload)| payload)
    }

    /// Removes and returns the earliest timer if its deadline has been reached; call until there is none.
    pub fn pop_expired(&mut self, now_ns: u64) -> Option<(TimerId, T)> {
        self.heap.first().filter(|key| key.deadline_ns <= now_ns)?;
        self.remove(0)
    }

    /// A free slot, with room in the heap for its key and in the free list for its return.
    fn take_slot(&mut self) -> Option<u32> {
        self.heap.try_reserve(1).ok()?;
        if let Some(slot) = self.free.pop() {
            return Some(slot);
        }
        let slot = u32::try_from(self.slots.len()).ok()?;
        self.slots.try_reserve(1).ok()?;
        self.free.try_reserve(self.slots.len() + 1).ok()?;
        self.slots.push(Slot { generation: 0, pending: None });
        Some(slot)
    }

    fn remove(&mut self, heap_index: usize) -> Option<(TimerId, T)> {
        let removed = self.heap.swap_remove(heap_index);
        if heap_index < self.heap.len() {
            // The last key took the place: it belongs further down or, coming from another branch, further
            // up.
            self.note_index(heap_index);
            self.sift_down(heap_index);
            self.sift_up(heap_index);
        }
        let slot = &mut self.slots[removed.slot as usize];
        let id = TimerId { slot: removed.slot, generation: slot.generation };
        slot.generation = slot.generation.wrapping_add(1) & TimerId::GENERATIONS;
        self.free.push(removed.slot);
        slot.pending.take().map(|pending| (id, pending.payload))
    }

    fn sift_up(&mut self, mut index: usize) {
        while index > 0 {
            let parent = (index - 1) / 2;
            if self.heap[parent] <= self.heap[index] {
                break;
            }
            self.swap(index, parent);
            index = parent;
        }
    }

    fn sift_down(&mut self, mut index: usize) {
        loop {
            let children = [2 * index + 1, 2 * index + 2];
            let smallest = children
                .into_iter()
                .filter(|&child| child < self.heap.len())
                .min_by_key(|&child| self.heap[child]);
            match smallest {
                Some(child) if self.heap[child] < self.heap[index] => {
                    self.swap(index, child);
                    index = child;
                }
                _ => return,
            }
        }
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.heap.swap(a, b);
        self.note_index(a);
        self.note_index(b);
    }

    fn note_index(&mut self, heap_index: usize) {
        let slot = self.heap[heap_index].slot;
        if let Some(pending) = &mut self.slots[slot as usize].pending {
            pending.heap_index = heap_index as u32;
        }
    }
}

impl<T> Default for TimerQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn expires_in_order_and_first_come_first_served() {
        let mut queue = TimerQueue::new();
        for (deadline, name) in [(30, "c"), (10, "a1"), (20, "b"), (10, "a2"), (10, "a3")] {
            queue.insert(deadline, name).unwrap();
        }
        assert_eq!(queue.next_deadline_ns(), Some(10));
        assert_eq!(queue.pop_expired(9), None);
        let mut expired = Vec::new();
        while let Some((_, name)) = queue.pop_expired(20) {
            expired.push(name);
        }
        assert_eq!(expired, ["a1", "a2", "a3", "b"]);
        assert_eq!((queue.len(), queue.next_deadline_ns()), (1, Some(30)));
    }

    #[test]
    fn old_names_do_not_work() {
        let mut queue = TimerQueue::new();
        let first = queue.insert(1, 'x').unwrap();
        assert_eq!(queue.cancel(first), Some('x'));
        assert_eq!(queue.cancel(first), None);
        let second = queue.insert(2, 'y').unwrap();
        assert_ne!(first, second);
        assert_eq!(queue.cancel(first), None);
        assert_eq!(queue.pop_expired(2), Some((second, 'y')));
        assert_eq!(queue.cancel(second), None);
        assert!(queue.is_empty());
        let third = queue.insert(3, 'z').unwrap();
        let (slot, generation) = third.parts();
        assert_eq!(queue.cancel(TimerId::from_parts(slot, generation + 1)), None);
        assert_eq!(queue.cancel_if(third, |&name| name == 'y'), None);
        assert_eq!(queue.cancel(TimerId::from_parts(slot, generation)), Some('z'));
    }

    #[test]
    fn reserved_room_is_not_left() {
        let mut queue = TimerQueue::new();
        assert!(queue.reserve(100));
        let room = (queue.heap.capacity(), queue.slots.capacity(), queue.free.capacity());
        for round in 0..10 {
            let ids: Vec<_> = (0..100).map(|n| queue.insert(n ^ round, n).unwrap()).collect();
            ids.into_iter().for_each(|id| assert!(queue.cancel(id).is_some()));
        }
        assert_eq!(room, (queue.heap.capacity(), queue.slots.capacity(), queue.free.capacity()));
    }

    #[derive(Debug, Clone)]
    enum Action {
        Insert(u64),
        Cancel(usize),
        Expire(u64),
    }

    fn action() -> impl Strategy<Value = Action> {
        prop_oneof![
            4 => (0_u64..100).prop_map(Action::Insert),
            2 => any::<usize>().prop_map(Action::Cancel),
            1 => (0_u64..30).prop_map(Action::Expire),
        ]
    }

    proptest! {
        #[test]
        fn behaves_like_a_sorted_map(actions in proptest::collection::vec(action(), 1..400)) {
            let mut queue = TimerQueue::new();
            // Deadline and age to the name; the payload is the age.
            let mut model = BTreeMap::new();
            let (mut now, mut age) = (0, 0_u64);
            let mut ids = Vec::new();
            for action in actions {
                match action {
                    Action::Insert(after) => {
                        let id = queue.insert(now + after, age).unwrap();
                        model.insert((now + after, age), id);
                        ids.push((id, now + after, age));
                        age += 1;
                    }
                    Action::Cancel(choice) if !ids.is_empty() => {
                        let (id, deadline, payload) = ids[choice % ids.len()];
                        let expected = model.remove(&(deadline, payload)).map(|_| payload);
                        prop_assert_eq!(queue.cancel(id), expected);
                    }
                    Action::Cancel(_) => {}
                    Action::Expire(after) => {
                        now += after;
                        while let Some((id, payload)) = queue.pop_expired(now) {
                            let ((deadline, first), name) = model.pop_first().unwrap();
                            prop_assert!(deadline <= now);
                            prop_assert_eq!((first, name), (payload, id));
                        }
                    }
                }
                let earliest = model.first_key_value().map(|((deadline, _), _)| *deadline);
                prop_assert_eq!(queue.next_deadline_ns(), earliest);
                prop_assert_eq!(queue.len(), model.len());
            }
        }
    }
}
