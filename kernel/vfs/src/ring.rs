// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Bytes in the order in which they came: what is in a pipe.

use alloc::vec::Vec;

use hadal_hal::memory::fallible;

/// Bytes that a ring begins with.
const FIRST_CAPACITY: usize = 64;

/// A queue of bytes, which takes and gives many at a time.
pub(crate) struct Ring {
    /// As many as a power of two, or none.
    bytes: Vec<u8>,
    /// Where the first one is.
    start: usize,
    len: usize,
}

impl Ring {
    pub(crate) const fn new() -> Self {
        Self { bytes: Vec::new(), start: 0, len: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes that it has memory for.
    pub(crate) fn capacity(&self) -> usize {
        self.bytes.len()
    }

    /// Makes sure that so many bytes more have memory.
    #[inline]
    pub(crate) fn make_room(&mut self, additional: usize) -> fallible::Result<()> {
        if self.capacity() - self.len >= additional { Ok(()) } else { self.grow(additional) }
    }

    #[cold]
    fn grow(&mut self, additional: usize) -> fallible::Result<()> {
        let wanted = self.len.checked_add(additional).and_then(usize::checked_next_power_of_two);
        let mut bytes = fallible::filled(0, wanted.ok_or(fallible::OutOfMemory)?.max(FIRST_CAPACITY))?;
        let len = self.pop(&mut bytes);
        *self = Self { bytes, start: 0, len };
        Ok(())
    }

    /// Adds bytes behind the others: as many as have memory.
    #[inline]
    pub(crate) fn push(&mut self, data: &[u8]) {
        let capacity = self.capacity();
        let data = &data[..data.len().min(capacity - self.len)];
        if data.is_empty() {
            return;
        }
        let at = (self.start + self.len) & (capacity - 1);
        let (now, later) = data.split_at(data.len().min(capacity - at));
        self.bytes[at..at + now.len()].copy_from_slice(now);
        if !later.is_empty() {
            self.bytes[..later.len()].copy_from_slice(later);
        }
        self.len += data.len();
    }

    /// Takes bytes from the front: as many as there are, or the buffer has room for. Returns how many.
    #[inline]
    pub(crate) fn pop(&mut self, buffer: &mut [u8]) -> usize {
        let count = buffer.len().min(self.len);
        if count == 0 {
            return 0;
        }
        let capacity = self.capacity();
        let (now, later) = buffer[..count].split_at_mut(count.min(capacity - self.start));
        now.copy_from_slice(&self.bytes[self.start..self.start + now.len()]);
        if !later.is_empty() {
            later.copy_from_slice(&self.bytes[..later.len()]);
        }
        self.len -= count;
        // An empty one begins anew, so that what follows is in one piece.
        self.start = if self.len == 0 { 0 } else { (self.start + count) & (capacity - 1) };
        count
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn behaves_like_a_queue(steps in proptest::collection::vec((any::<bool>(), 0..300_usize), 0..100)) {
            let (mut ring, mut model) = (Ring::new(), VecDeque::new());
            let mut next = 0_u8;
            for (pushes, count) in steps {
                if pushes {
                    let data: Vec<u8> = (0..count).map(|index| next.wrapping_add(index as u8)).collect();
                    next = next.wrapping_add(count as u8);
                    prop_assert_eq!(ring.make_room(count), Ok(()));
                    ring.push(&data);
                    model.extend(data);
                } else {
                    let mut buffer = vec![0; count];
                    let taken = ring.pop(&mut buffer);
                    prop_assert_eq!(taken, count.min(model.len()));
                    prop_assert!(buffer[..taken].iter().copied().eq(model.drain(..taken)));
                }
                prop_assert_eq!((ring.len(), ring.is_empty()), (model.len(), model.is_empty()));
                prop_assert!(ring.capacity() == 0 || ring.capacity().is_power_of_two());
            }
        }
    }

    #[test]
    fn nothing_is_added_without_memory() {
        let mut ring = Ring::new();
        ring.push(b"x");
        assert_eq!((ring.len(), ring.capacity()), (0, 0));
        ring.make_room(1).unwrap();
        ring.push(&[7; 100]);
        assert_eq!(ring.len(), FIRST_CAPACITY);
        assert_eq!(ring.make_room(usize::MAX), Err(fallible::OutOfMemory));
        assert_eq!(ring.pop(&mut []), 0);
    }
}
