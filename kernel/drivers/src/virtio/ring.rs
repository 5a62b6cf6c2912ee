// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The split virtqueue (section 2.7): descriptor table, available ring and used ring in one shared frame.
//!
//! The memory is seen as little-endian 32-bit atomic words, so sharing it with the device needs no `unsafe`: index
//! pairs of 16 bits are written as one word, whose other half the driver owns too or reads only. Each request carries
//! a token of the caller's, which comes back with its completion.

use core::sync::atomic::{AtomicU32, Ordering, fence};

use super::memory::Segment;

/// Most entries of a ring; all parts of a ring of this size fit into one 4 KiB frame.
pub(crate) const MAX_SIZE: u16 = 128;
/// Words in the frame of a ring.
pub(crate) const FRAME_WORDS: usize = 1024;

const DESCRIPTOR_NEXT: u32 = 1;
const DESCRIPTOR_WRITE: u32 = 2;
const AVAILABLE_NO_INTERRUPT: u32 = 1;
const USED_NO_NOTIFY: u32 = 1;

/// Words of one descriptor: address (two), length, flags and next.
const DESCRIPTOR_WORDS: usize = 4;
const USED_ELEMENT_WORDS: usize = 2;
/// Ends the list of free descriptors.
const NIL: u16 = u16::MAX;
/// Token of a descriptor that heads no chain in flight.
const NO_TOKEN: u32 = u32::MAX;

/// A request that the device has finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Completion {
    /// What [`Ring::add`] was given.
    pub(crate) token: u16,
    /// Bytes that the device says it wrote.
    pub(crate) written: u32,
}

/// The driver's end of a virtqueue.
pub(crate) struct Ring {
    words: &'static [AtomicU32],
    size: u16,
    /// The device honours event indices (VIRTIO_F_EVENT_IDX), else the flag words.
    event_index: bool,
    free_head: u16,
    free_count: u16,
    /// Successors of free descriptors, and of descriptors in a chain.
    next: [u16; MAX_SIZE as usize],
    tokens: [u32; MAX_SIZE as usize],
    available_index: u16,
    /// Available index when the device was last looked at for a doorbell.
    announced: u16,
    used_index: u16,
}

impl Ring {
    /// A ring of `size` entries, a power of two up to [`MAX_SIZE`], in [`FRAME_WORDS`] words of zeros.
    pub(crate) fn new(words: &'static [AtomicU32], size: u16, event_index: bool) -> Self {
        assert!(size.is_power_of_two() && size <= MAX_SIZE, "ring size {size}");
        assert!(words.len() >= FRAME_WORDS, "a ring needs one frame");
        let mut next = [NIL; MAX_SIZE as usize];
        for (entry, successor) in next.iter_mut().zip(1..size) {
            *entry = successor;
        }
        let tokens = [NO_TOKEN; MAX_SIZE as usize];
        Self {
            words,
            size,
            event_index,
            free_head: 0,
            free_count: size,
            next,
            tokens,
            available_index: 0,
            announced: 0,
            used_index: 0,
        }
    }

    /// Byte offset of the available ring behind the descriptor table.
    pub(crate) fn available_offset(size: u16) -> usize {
        usize::from(size) * DESCRIPTOR_WORDS * 4
    }

    /// Byte offset of the used ring.
    pub(crate) fn used_offset(size: u16) -> usize {
        // Flags, index, one half-word per entry, the event index; rounded up to a word.
        (Self::available_offset(size) + 6 + 2 * usize::from(size)).next_multiple_of(4)
    }

    fn available(&self) -> usize {
        Self::available_offset(self.size) / 4
    }

    fn used(&self) -> usize {
        Self::used_offset(self.size) / 4
    }

    /// Entries that are not in a chain.
    pub(crate) fn free_count(&self) -> usize {
        usize::from(self.free_count)
    }

    /// Makes a chain of segments available to the device: those it reads first, then those it writes. Returns `false`,
    /// and changes nothing, when too few entries are free.
    pub(crate) fn add(&mut self, segments: &[Segment], token: u16) -> bool {
        if segments.is_empty() || segments.len() > self.free_count() {
            return false;
        }
        let head = self.free_head;
        let mut index = head;
        for (position, segment) in segments.iter().enumerate() {
            let next = self.next[usize::from(index)];
            let mut flags = if segment.is_for_device_writes() { DESCRIPTOR_WRITE } else { 0 };
            if position + 1 < segments.len() {
                flags |= DESCRIPTOR_NEXT | u32::from(next) << 16;
            }
            let word = usize::from(index) * DESCRIPTOR_WORDS;
            self.words[word].store(segment.pa() as u32, Ordering::Relaxed);
            self.words[word + 1].store((segment.pa() >> 32) as u32, Ordering::Relaxed);
            self.words[word + 2].store(segment.len(), Ordering::Relaxed);
            self.words[word + 3].store(flags, Ordering::Relaxed);
            self.free_count -= 1;
            if position + 1 == segments.len() {
                self.next[usize::from(index)] = NIL;
                self.free_head = next;
            } else {
                index = next;
            }
        }
        self.tokens[usize::from(head)] = u32::from(token);
        self.put_available(head);
        true
    }

    fn put_available(&mut self, head: u16) {
        let slot = usize::from(self.available_index % self.size);
        let word = &self.words[self.available() + 1 + slot / 2];
        let shift = slot % 2 * 16;
        let other = word.load(Ordering::Relaxed) & !(0xffff << shift);
        word.store(other | u32::from(head) << shift, Ordering::Relaxed);
        self.available_index = self.available_index.wrapping_add(1);
        let index = &self.words[self.available()];
        let flags = index.load(Ordering::Relaxed) & 0xffff;
        // The device may take the chain from here on.
        index.store(flags | u32::from(self.available_index) << 16, Ordering::Release);
    }

    /// Whether the device wants its doorbell rung for what was added since the last call.
    pub(crate) fn must_notify(&mut self) -> bool {
        let old = core::mem::replace(&mut self.announced, self.available_index);
        if old == self.available_index {
            return false;
        }
        // The index must be visible before the device's wish is read: both sides write, then read.
        fence(Ordering::SeqCst);
        if self.event_index {
            let word = self.used() + 1 + usize::from(self.size) * USED_ELEMENT_WORDS;
            let event = self.words[word].load(Ordering::Relaxed) as u16;
            passed(event, self.available_index, old)
        } else {
            self.words[self.used()].load(Ordering::Relaxed) & USED_NO_NOTIFY == 0
        }
    }

    /// Whether the device has finished a request that was not taken yet.
    pub(crate) fn has_completion(&self) -> bool {
        (self.words[self.used()].load(Ordering::Acquire) >> 16) as u16 != self.used_index
    }

    /// Takes the next finished request and frees its entries.
    pub(crate) fn take_completion(&mut self) -> Option<Completion> {
        while self.has_completion() {
            let slot = usize::from(self.used_index % self.size);
            let word = self.used() + 1 + slot * USED_ELEMENT_WORDS;
            let head = self.words[word].load(Ordering::Relaxed) as usize;
            let written = self.words[word + 1].load(Ordering::Relaxed);
            self.used_index = self.used_index.wrapping_add(1);
            // A device that names a chain it was not given is not believed.
            let Some(token) = self.tokens.get_mut(head) else { continue };
            let token = core::mem::replace(token, NO_TOKEN);
            if token != NO_TOKEN {
                self.free_chain(head as u16);
                return Some(Completion { token: token as u16, written });
            }
        }
        None
    }

    fn free_chain(&mut self, head: u16) {
        let mut index = head;
        loop {
            self.free_count += 1;
            let next = self.next[usize::from(index)];
            if next == NIL {
                break;
            }
            index = next;
        }
        self.next[usize::from(index)] = self.free_head;
        self.free_head = head;
    }

    /// Asks for an interrupt at the next completion. Returns `true` if there is one already, which may have come
    /// without: the caller takes it and asks again.
    pub(crate) fn enable_interrupt(&mut self) -> bool {
        if self.event_index {
            self.set_used_event(self.used_index);
        } else {
            self.set_available_flags(0);
        }
        fence(Ordering::SeqCst);
        self.has_completion()
    }

    /// Asks for no interrupts; the device may send some all the same.
    pub(crate) fn disable_interrupt(&mut self) {
        if self.event_index {
            // As far ahead as it goes; a ring never has that many requests in flight.
            self.set_used_event(self.used_index.wrapping_sub(1));
        } else {
            self.set_available_flags(AVAILABLE_NO_INTERRUPT);
        }
    }

    fn set_used_event(&mut self, index: u16) {
        let word = self.available() + 1 + usize::from(self.size) / 2;
        self.words[word].store(u32::from(index), Ordering::Relaxed);
    }

    fn set_available_flags(&mut self, flags: u32) {
        let word = &self.words[self.available()];
        word.store(flags | u32::from(self.available_index) << 16, Ordering::Relaxed);
    }
}

/// Whether an index that went from `old` to `new` has passed `event` (section 2.7.10).
fn passed(event: u16, new: u16, old: u16) -> bool {
    new.wrapping_sub(event).wrapping_sub(1) < new.wrapping_sub(old)
}

#[cfg(test)]
#[path = "ring_tests.rs"]
mod tests;
