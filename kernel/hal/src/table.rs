// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tables of things that belong to threads and live for ever: made in chunks when an index is first used, and then found
//! without a lock (decision 0004).

use alloc::boxed::Box;
use core::marker::PhantomData;
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::sync::SpinLock;

/// Elements in a chunk.
const CHUNK: usize = 256;
/// Chunks for the most threads that the scheduler makes.
const CHUNKS: usize = 1024;

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

    #[cold]
    fn make(&self, place: &AtomicPtr<[T; CHUNK]>, index: usize, make: fn(u32) -> T) -> &'static [T; CHUNK] {
        let _making = self.making.lock();
        if let Some(chunk) = Self::chunk(place) {
            return chunk;
        }
        let first = (index - index % CHUNK) as u32;
        let elements: Box<[T]> = (first..first + CHUNK as u32).map(make).collect();
        let Ok(elements) = Box::<[T; CHUNK]>::try_from(elements) else {
            unreachable!("as many as in a chunk");
        };
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
        assert_eq!(TABLE.known(511), Some(&511));
        assert_eq!(TABLE.iter().count(), 0, "the first chunk is not there");
        TABLE.get(0, |index| index);
        assert_eq!(TABLE.iter().count(), 512);
    }
}
