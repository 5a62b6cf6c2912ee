// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tables of things that belong to threads and live for ever: made in chunks when an index is first used, and then found
//! without a lock (decision 0004).

use alloc::boxed::Box;
use core::marker::PhantomData;
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::memory::fallible;
use crate::sync::SpinLock;

/// Elements in a chunk: few, because they are made with interrupts off.
const CHUNK: usize = 64;
/// Chunks for the most threads that the scheduler makes.
const CHUNKS: usize = 4096;

/// A table by thread index. Elements whose size is a power of two are found by a shift.
pub struct ThreadTable<T: 'static> {
    /// Null until somebody needs the chunk.
    chunks: [AtomicPtr<[T; CHUNK]>; CHUNKS],
    /// An interrupt may be the first to ask for an element, also one that comes while its CPU makes others.
    making: SpinLock<()>,
    elements: PhantomData<&'static T>,
}

impl<T: Sync> Default for ThreadTable<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Sync> ThreadTable<T> {
    /// A table without elements.
    pub const fn new() -> Self {
        let chunks = [const { AtomicPtr::new(core::ptr::null_mut()) }; CHUNKS];
        Self { chunks, making: SpinLock::new(()), elements: PhantomData }
    }

    #[inline(always)]
    fn chunk(place: &AtomicPtr<[T; CHUNK]>) -> Option<&'static [T; CHUNK]> {
        // SAFETY: null, or what `make` has leaked, of which there are only shared references.
        unsafe { place.load(Ordering::Acquire).cast_const().as_ref() }
    }

    /// The element of a thread; `make` gets the indices of new ones. An index beyond the table stands for a lower one. From
    /// any context but a non-maskable interrupt.
    #[inline]
    pub fn get(&self, index: u32, make: fn(u32) -> T) -> &'static T {
        let index = index as usize;
        let place = &self.chunks[index / CHUNK % CHUNKS];
        let chunk = match Self::chunk(place) {
            Some(chunk) => chunk,
            None => self.make(place, index, make),
        };
        &chunk[index % CHUNK]
    }

    /// Makes the elements around an index, if they are not there; false when memory is out. [`ThreadTable::get`] of them
    /// needs no memory then.
    pub fn prepare(&self, index: u32, make: fn(u32) -> T) -> bool {
        let index = index as usize;
        let place = &self.chunks[index / CHUNK % CHUNKS];
        if Self::chunk(place).is_some() {
            return true;
        }
        let Some(elements) = Self::elements(index, make) else { return false };
        let _making = self.making.lock();
        // What another CPU has made meanwhile stays.
        if Self::chunk(place).is_none() {
            place.store(Box::leak(elements), Ordering::Release);
        }
        true
    }

    fn elements(index: usize, make: fn(u32) -> T) -> Option<Box<[T; CHUNK]>> {
        let first = (index - index % CHUNK) as u32;
        let elements = fallible::collected((first..first + CHUNK as u32).map(make)).ok()?;
        elements.into_boxed_slice().try_into().ok()
    }

    #[cold]
    fn make(&self, place: &AtomicPtr<[T; CHUNK]>, index: usize, make: fn(u32) -> T) -> &'static [T; CHUNK] {
        let _making = self.making.lock();
        if let Some(chunk) = Self::chunk(place) {
            return chunk;
        }
        // Every thread's elements are prepared before it is made (`hadal_sched::on_new_threads`).
        let elements =
            Self::elements(index, make).expect("the machine starts with memory for its first threads");
        let chunk = Box::leak(elements);
        place.store(chunk, Ordering::Release);
        chunk
    }

    /// The element with an index, if its chunk has been made.
    #[inline]
    pub fn known(&self, index: u32) -> Option<&'static T> {
        let index = index as usize;
        let chunk = Self::chunk(self.chunks.get(index / CHUNK)?)?;
        Some(&chunk[index % CHUNK])
    }

    /// All elements made so far, up to the first chunk that is not.
    pub fn iter(&self) -> impl Iterator<Item = &'static T> {
        self.chunks.iter().map_while(Self::chunk).flat_map(|chunk| chunk.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::ThreadTable;

    #[test]
    fn elements_are_made_once_and_stay() {
        static TABLE: ThreadTable<u32> = ThreadTable::new();
        assert!(TABLE.known(300).is_none() && TABLE.known(u32::MAX).is_none());
        let first = TABLE.get(300, |index| index);
        assert_eq!(*first, 300);
        assert!(core::ptr::eq(first, TABLE.get(300, |_| 0)));
        assert_eq!(TABLE.known(319), Some(&319));
        assert_eq!(TABLE.iter().count(), 0, "the first chunk is not there");
        TABLE.get(0, |index| index);
        assert_eq!(TABLE.iter().count(), 64);
    }
}
