// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The objects of one kind: by id, which is an index and a sequence number, and by key.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use core::ops::Bound;

use hadal_hal::memory::fallible::{self, ArcRoom};
use hadal_hal::sync::{Rank, SpinLock};

use super::{CREATE, EXCLUSIVE, PRIVATE};
use crate::{Errno, Result};

/// Bits of an id that are the index.
const INDEX_BITS: u32 = 15;
/// Indices that there are (`IPCMNI`).
pub(crate) const INDICES: usize = 1 << INDEX_BITS;
const WORD_BITS: usize = u64::BITS as usize;

/// Where an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) key: i32,
    pub(crate) index: u32,
    /// So that a used index soon gives another id.
    pub(crate) sequence: u16,
}

impl Place {
    pub(crate) fn id(self) -> i32 {
        i32::from(self.sequence) << INDEX_BITS | self.index as i32
    }
}

/// The objects of one kind.
pub(crate) struct Table<T> {
    inner: SpinLock<Inner<T>>,
    /// How many there may be.
    most: usize,
}

struct Inner<T> {
    /// By index.
    objects: BTreeMap<u32, (Place, Arc<T>)>,
    /// Indices by key.
    keys: BTreeMap<i32, u32>,
    /// A bit for each index that is in use.
    used: [u64; INDICES / WORD_BITS],
    /// Objects that were made.
    made: u16,
}

impl<T> Inner<T> {
    fn of_key(&self, key: i32) -> Option<&(Place, Arc<T>)> {
        self.objects.get(self.keys.get(&key)?)
    }

    /// Takes the lowest free index for an object.
    fn take_place(&mut self, key: i32) -> Option<Place> {
        let (word, bits) = self.used.iter_mut().enumerate().find(|(_, bits)| **bits != u64::MAX)?;
        let bit = bits.trailing_ones() as usize;
        *bits |= 1 << bit;
        let place = Place { key, index: (word * WORD_BITS + bit) as u32, sequence: self.made };
        self.made = self.made.wrapping_add(1);
        Some(place)
    }
}

impl<T> Table<T> {
    /// An empty table for at most so many objects.
    pub(crate) const fn new(most: usize) -> Self {
        assert!(most <= INDICES);
        let inner = Inner {
            objects: BTreeMap::new(),
            keys: BTreeMap::new(),
            used: [0; INDICES / WORD_BITS],
            made: 0,
        };
        Self { inner: SpinLock::ranked(Rank::Files, inner), most }
    }

    /// The object with an id; `EINVAL` if there is none.
    pub(crate) fn get(&self, id: i32) -> Result<Arc<T>> {
        let inner = self.inner.lock();
        let found = inner.objects.get(&index_of(id)).filter(|(place, _)| place.id() == id);
        found.map(|(_, object)| object.clone()).ok_or(Errno::EINVAL)
    }

    /// The object with an index and its id; `EINVAL` if there is none.
    pub(crate) fn at(&self, index: i32) -> Result<(i32, Arc<T>)> {
        let index = u32::try_from(index).map_err(|_| Errno::EINVAL)?;
        let inner = self.inner.lock();
        inner.objects.get(&index).map(|(place, object)| (place.id(), object.clone())).ok_or(Errno::EINVAL)
    }

    /// All objects, by index. The table is locked only between one and the next.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (i32, Arc<T>)> {
        let mut from = Bound::Unbounded;
        core::iter::from_fn(move || {
            let inner = self.inner.lock();
            let (&index, (place, object)) = inner.objects.range((from, Bound::Unbounded)).next()?;
            from = Bound::Excluded(index);
            Some((place.id(), object.clone()))
        })
    }

    /// How many there are, and the highest index; 0 if there are none.
    pub(crate) fn extent(&self) -> (usize, usize) {
        let inner = self.inner.lock();
        let last = inner.objects.last_key_value().map_or(0, |(&index, _)| index as usize);
        (inner.objects.len(), last)
    }

    /// What `shmget` and its relatives do: the object with a key, which `check` looks at, or one made in its place. What `make`
    /// returns makes it when its place is known. Returns its id.
    pub(crate) fn find_or_make<M: FnOnce(Place) -> T>(
        &self,
        key: i32,
        flags: i32,
        check: impl Fn(&T) -> Result<()>,
        make: impl Fn() -> Result<M>,
    ) -> Result<i32> {
        loop {
            if let Some((place, object)) = self.find(key, flags)? {
                check(&object)?;
                return Ok(place.id());
            }
            let (room, value) = (fallible::arc_room()?, make()?);
            let mut inner = self.inner.lock();
            // Another caller may have been faster.
            if inner.of_key(key).is_none() {
                return self.insert(&mut inner, key, room, value);
            }
        }
    }

    /// The object with a key, or none if there is to be a new one.
    fn find(&self, key: i32, flags: i32) -> Result<Option<(Place, Arc<T>)>> {
        let found = self.inner.lock().of_key(key).cloned();
        match found {
            Some(_) if flags & (CREATE | EXCLUSIVE) == CREATE | EXCLUSIVE => Err(Errno::EEXIST),
            None if key != PRIVATE && flags & CREATE == 0 => Err(Errno::ENOENT),
            found => Ok(found),
        }
    }

    fn insert<M: FnOnce(Place) -> T>(
        &self,
        inner: &mut Inner<T>,
        key: i32,
        room: ArcRoom<T>,
        value: M,
    ) -> Result<i32> {
        if inner.objects.len() >= self.most {
            return Err(Errno::ENOSPC);
        }
        fallible::admit(2 * fallible::SMALL_BYTES)?;
        let place = inner.take_place(key).ok_or(Errno::ENOSPC)?;
        inner.objects.insert(place.index, (place, room.fill(value(place))));
        if key != PRIVATE {
            inner.keys.insert(key, place.index);
        }
        Ok(place.id())
    }

    /// The object with an id is not found by its key any more.
    pub(crate) fn forget_key(&self, id: i32) {
        let mut inner = self.inner.lock();
        let Inner { objects, keys, .. } = &mut *inner;
        if let Some((place, _)) = objects.get_mut(&index_of(id)).filter(|(place, _)| place.id() == id)
            && place.key != PRIVATE
        {
            keys.remove(&place.key);
            place.key = PRIVATE;
        }
    }

    /// Takes the object with an id out of the table.
    pub(crate) fn remove(&self, id: i32) {
        let removed = {
            let mut inner = self.inner.lock();
            let index = index_of(id);
            if inner.objects.get(&index).is_none_or(|(place, _)| place.id() != id) {
                return;
            }
            let removed = inner.objects.remove(&index);
            if let Some((Place { key, .. }, _)) = &removed
                && *key != PRIVATE
            {
                inner.keys.remove(key);
            }
            inner.used[index as usize / WORD_BITS] &= !(1 << (index as usize % WORD_BITS));
            removed
        };
        // With no lock held: it may have much memory.
        drop(removed);
    }
}

fn index_of(id: i32) -> u32 {
    id as u32 % INDICES as u32
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    fn get(table: &Table<Place>, key: i32, flags: i32) -> Result<i32> {
        table.find_or_make(key, flags, |_| Ok(()), || Ok(|place| place))
    }

    #[test]
    fn keys_find_what_was_made_with_them() {
        let table = Table::new(3);
        assert_eq!(get(&table, 5, 0), Err(Errno::ENOENT));
        let id = get(&table, 5, CREATE).unwrap();
        assert_eq!(get(&table, 5, CREATE), Ok(id));
        assert_eq!(get(&table, 5, EXCLUSIVE), Ok(id));
        assert_eq!(get(&table, 5, CREATE | EXCLUSIVE), Err(Errno::EEXIST));
        let private = get(&table, PRIVATE, 0).unwrap();
        assert_ne!(get(&table, PRIVATE, EXCLUSIVE), Ok(private));
        assert_eq!(get(&table, 6, CREATE), Err(Errno::ENOSPC));
        assert_eq!(table.get(id).map(|place| place.key), Ok(5));
        table.forget_key(id);
        assert_eq!(get(&table, 5, 0), Err(Errno::ENOENT));
        assert!(table.get(id).is_ok());
        table.remove(id);
        table.remove(id);
        assert_eq!(table.get(id), Err(Errno::EINVAL));
    }

    #[test]
    fn a_used_index_gives_another_id() {
        let table = Table::new(INDICES);
        let ids: Vec<i32> = (1..=200).map(|key| get(&table, key, CREATE).unwrap()).collect();
        assert_eq!(table.extent(), (200, 199));
        table.remove(ids[70]);
        let again = get(&table, 71, CREATE).unwrap();
        assert_ne!(again, ids[70]);
        assert_eq!(index_of(again), index_of(ids[70]));
        assert_eq!(table.get(ids[70]), Err(Errno::EINVAL));
        assert_eq!(table.at(70).map(|(id, _)| id), Ok(again));
        assert_eq!(
            (table.at(200), table.at(-1), table.get(-1)),
            (Err(Errno::EINVAL), Err(Errno::EINVAL), Err(Errno::EINVAL))
        );
        assert_eq!(
            table.iter().map(|(_, place)| place.index).collect::<Vec<_>>(),
            (0..200).collect::<Vec<_>>()
        );
    }

    #[test]
    fn ids_are_never_negative() {
        for sequence in [0, 1, 0x7fff, 0x8000, u16::MAX] {
            let id = Place { key: 1, index: 0x7fff, sequence }.id();
            assert!(id >= 0);
            assert_eq!((id as u32 >> INDEX_BITS, index_of(id)), (u32::from(sequence), 0x7fff));
        }
    }
}
