// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The ids of a process's live threads: a bit for each. Ids are small and used again, so the words are few, and a thread comes
//! and goes without memory being asked for.

use alloc::vec::Vec;

use hadal_hal::memory::fallible::{self, OutOfMemory};

const WORD_BITS: u32 = u64::BITS;

/// A set of thread ids.
#[derive(Debug, Default)]
pub(crate) struct ThreadSet {
    words: Vec<u64>,
    len: usize,
}

/// Where the bit of an id is.
#[inline]
fn place(tid: u32) -> (usize, u64) {
    ((tid / WORD_BITS) as usize, 1 << (tid % WORD_BITS))
}

impl ThreadSet {
    pub(crate) const fn new() -> Self {
        Self { words: Vec::new(), len: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether an id can be inserted as it is.
    #[inline]
    pub(crate) fn has_room_for(&self, tid: u32) -> bool {
        place(tid).0 < self.words.len()
    }

    /// Memory with which there is room for an id. It is asked for while the set is not locked, and takes at least twice as many.
    pub(crate) fn room_for(tid: u32) -> Result<Vec<u64>, OutOfMemory> {
        let words = (place(tid).0 + 1).next_power_of_two();
        let mut room = fallible::room_for(words)?;
        room.resize(words, 0);
        Ok(room)
    }

    /// Makes the set use that memory, if it is more than what it has; gives back what it does not need.
    pub(crate) fn grow(&mut self, mut room: Vec<u64>) -> Vec<u64> {
        if room.len() <= self.words.len() {
            return room;
        }
        room[..self.words.len()].copy_from_slice(&self.words);
        core::mem::replace(&mut self.words, room)
    }

    /// Inserts an id that there is room for.
    #[inline]
    pub(crate) fn insert(&mut self, tid: u32) {
        let (index, bit) = place(tid);
        let word = &mut self.words[index];
        self.len += usize::from(*word & bit == 0);
        *word |= bit;
    }

    #[inline]
    pub(crate) fn remove(&mut self, tid: u32) {
        let (index, bit) = place(tid);
        if let Some(word) = self.words.get_mut(index)
            && *word & bit != 0
        {
            *word &= !bit;
            self.len -= 1;
        }
    }

    pub(crate) fn contains(&self, tid: u32) -> bool {
        let (index, bit) = place(tid);
        self.words.get(index).is_some_and(|word| word & bit != 0)
    }

    /// The ids from one on, ascending.
    pub(crate) fn from(&self, tid: u32) -> impl Iterator<Item = u32> {
        let (first, bit) = place(tid);
        let words = self.words.get(first..).unwrap_or_default();
        words.iter().zip(first as u32..).flat_map(move |(&word, index)| {
            // Of the first word those below are left out.
            let mut left = if index == first as u32 { word & bit.wrapping_neg() } else { word };
            core::iter::from_fn(move || {
                let lowest = (left != 0).then(|| left.trailing_zeros())?;
                left &= left - 1;
                Some(index * WORD_BITS + lowest)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::ThreadSet;

    proptest! {
        #[test]
        fn it_holds_what_was_inserted(
            operations in proptest::collection::vec((any::<bool>(), 1u32..400), 1..200),
            from in 0u32..700,
        ) {
            let (mut set, mut model) = (ThreadSet::new(), BTreeSet::new());
            for (insert, tid) in operations {
                if insert {
                    if !set.has_room_for(tid) {
                        set.grow(ThreadSet::room_for(tid).unwrap());
                    }
                    set.insert(tid);
                    model.insert(tid);
                } else {
                    set.remove(tid);
                    model.remove(&tid);
                }
                prop_assert_eq!((set.len(), set.is_empty()), (model.len(), model.is_empty()));
                prop_assert_eq!(set.contains(tid), insert);
            }
            prop_assert!(set.from(0).eq(model.iter().copied()));
            prop_assert!(set.from(from).eq(model.range(from..).copied()));
        }
    }

    #[test]
    fn memory_that_is_not_needed_comes_back() {
        let mut set = ThreadSet::new();
        assert!(!set.has_room_for(0) && !set.contains(70) && set.from(70).next().is_none());
        set.remove(70);
        assert!(set.grow(ThreadSet::room_for(200).unwrap()).is_empty());
        set.insert(200);
        assert!(set.has_room_for(255) && !set.has_room_for(256));
        // Somebody else was faster.
        assert_eq!(set.grow(ThreadSet::room_for(100).unwrap()).len(), 2);
        assert_eq!(set.grow(ThreadSet::room_for(300).unwrap()).len(), 4);
        assert_eq!(set.from(0).collect::<Vec<_>>(), [200]);
    }
}
