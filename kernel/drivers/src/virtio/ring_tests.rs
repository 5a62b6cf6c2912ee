// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The ring against a device in the test.

use std::collections::VecDeque;

use super::*;

const SIZE: u16 = 8;

/// The device's end: takes chains in order and finishes those it is told to.
struct Device {
    words: &'static [AtomicU32],
    seen: u16,
    used: u16,
}

impl Device {
    fn half(&self, byte: usize) -> u16 {
        (self.words[byte / 4].load(Ordering::Acquire) >> (byte % 4 * 8)) as u16
    }

    fn pending(&self) -> bool {
        self.half(Ring::available_offset(SIZE) + 2) != self.seen
    }

    fn take(&mut self) -> Option<(u16, Vec<Segment>)> {
        if !self.pending() {
            return None;
        }
        let head = self.half(Ring::available_offset(SIZE) + 4 + 2 * usize::from(self.seen % SIZE));
        self.seen = self.seen.wrapping_add(1);
        let mut chain = Vec::new();
        let mut index = head;
        loop {
            let word = usize::from(index) * 4;
            let read = |offset: usize| self.words[word + offset].load(Ordering::Relaxed);
            let flags = read(3);
            let pa = u64::from(read(0)) | u64::from(read(1)) << 32;
            chain.push(Segment::made_up(pa, read(2), flags & DESCRIPTOR_WRITE != 0));
            if flags & DESCRIPTOR_NEXT == 0 {
                return Some((head, chain));
            }
            index = (flags >> 16) as u16;
        }
    }

    fn finish(&mut self, head: u32, written: u32) {
        let base = Ring::used_offset(SIZE) / 4;
        let slot = base + 1 + 2 * usize::from(self.used % SIZE);
        self.words[slot].store(head, Ordering::Relaxed);
        self.words[slot + 1].store(written, Ordering::Relaxed);
        self.used = self.used.wrapping_add(1);
        self.words[base].store(u32::from(self.used) << 16, Ordering::Release);
    }

    fn set_available_event(&self, index: u16) {
        let word = Ring::used_offset(SIZE) / 4 + 1 + 2 * usize::from(SIZE);
        self.words[word].store(u32::from(index), Ordering::Relaxed);
    }

    fn used_event(&self) -> u16 {
        self.half(Ring::available_offset(SIZE) + 4 + 2 * usize::from(SIZE))
    }
}

fn pair(event_index: bool) -> (Ring, Device) {
    let words: Vec<AtomicU32> = (0..FRAME_WORDS).map(|_| AtomicU32::new(0)).collect();
    let words: &'static [AtomicU32] = words.leak();
    (Ring::new(words, SIZE, event_index), Device { words, seen: 0, used: 0 })
}

fn segment(pa: u64, len: u32, device_writes: bool) -> Segment {
    Segment::made_up(pa, len, device_writes)
}

#[test]
fn the_largest_ring_fits_into_a_frame() {
    let end = Ring::used_offset(MAX_SIZE) + 4 + 8 * usize::from(MAX_SIZE) + 4;
    assert!(end <= FRAME_WORDS * 4, "{end} bytes");
}

#[test]
fn a_chain_arrives_as_it_was_added() {
    let (mut ring, mut device) = pair(true);
    let chain = [segment(0x12_3456_7000, 11, false), segment(0x8000, 4096, true), segment(0xa000, 1, true)];
    assert!(ring.add(&chain, 77));
    assert_eq!(ring.free_count(), 5);
    let (head, seen) = device.take().expect("a chain");
    assert_eq!(seen, chain);
    assert_eq!(ring.take_completion(), None);
    device.finish(u32::from(head), 4097);
    assert_eq!(ring.take_completion(), Some(Completion { token: 77, written: 4097 }));
    assert_eq!(ring.free_count(), 8);
    assert_eq!(ring.take_completion(), None);
}

#[test]
fn a_chain_that_does_not_fit_changes_nothing() {
    let (mut ring, device) = pair(true);
    assert!(!ring.add(&[segment(0, 1, false); 9], 0));
    assert!(!ring.add(&[], 0));
    assert!(ring.add(&[segment(0, 1, false); 6], 0));
    assert!(!ring.add(&[segment(0, 1, false); 3], 0));
    assert_eq!(ring.free_count(), 2);
    assert!(device.pending());
}

#[test]
fn completions_that_were_never_asked_for_are_ignored() {
    let (mut ring, mut device) = pair(true);
    assert!(ring.add(&[segment(0, 1, false), segment(0, 1, true)], 5));
    let (head, _) = device.take().expect("a chain");
    device.finish(4000, 0);
    device.finish(u32::from(head) + 1, 0);
    device.finish(u32::from(head), 9);
    device.finish(u32::from(head), 9);
    assert_eq!(ring.take_completion(), Some(Completion { token: 5, written: 9 }));
    assert_eq!(ring.take_completion(), None);
    assert_eq!(ring.free_count(), 8);
}

#[test]
fn doorbells_follow_the_event_index() {
    let (mut ring, mut device) = pair(true);
    assert!(!ring.must_notify());
    ring.add(&[segment(0, 1, false)], 0);
    assert!(ring.must_notify(), "the device waits for the first entry");
    ring.add(&[segment(0, 1, false)], 1);
    assert!(!ring.must_notify(), "the device has not come that far");
    device.take();
    device.take();
    device.set_available_event(device.seen);
    ring.add(&[segment(0, 1, false)], 2);
    assert!(ring.must_notify());
    assert!(!ring.must_notify());
}

#[test]
fn doorbells_follow_the_flag_without_event_index() {
    let (mut ring, device) = pair(false);
    ring.add(&[segment(0, 1, false)], 0);
    assert!(ring.must_notify());
    device.words[Ring::used_offset(SIZE) / 4].store(USED_NO_NOTIFY, Ordering::Relaxed);
    ring.add(&[segment(0, 1, false)], 0);
    assert!(!ring.must_notify());
}

#[test]
fn interrupts_are_asked_for_by_event_index_or_flag() {
    let (mut ring, mut device) = pair(true);
    assert!(!ring.enable_interrupt());
    assert_eq!(device.used_event(), 0);
    ring.disable_interrupt();
    assert_eq!(device.used_event(), u16::MAX);
    ring.add(&[segment(0, 1, false)], 0);
    let (head, _) = device.take().expect("a chain");
    device.finish(u32::from(head), 0);
    assert!(ring.enable_interrupt(), "one has come meanwhile");

    let (mut ring, device) = pair(false);
    ring.add(&[segment(0, 1, false)], 0);
    ring.disable_interrupt();
    assert_eq!(device.half(Ring::available_offset(SIZE)), 1);
    assert!(!ring.enable_interrupt());
    assert_eq!(device.half(Ring::available_offset(SIZE)), 0);
    assert!(device.pending(), "the index is kept");
}

#[test]
fn event_distance_wraps() {
    assert!(passed(0xffff, 0, 0xffff));
    assert!(passed(0, 1, 0xfffe));
    assert!(!passed(5, 5, 3));
    assert!(!passed(2, 5, 3));
}

/// Chains of many lengths, finished out of order, over several turns of the indices.
#[test]
fn nothing_is_lost_over_many_turns() {
    let (mut ring, mut device) = pair(true);
    let mut flight: VecDeque<(u16, u32)> = VecDeque::new();
    let mut expected = std::collections::BTreeSet::new();
    let mut random = 12345_u32;
    for token in 0..u16::MAX {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let len = (random >> 16) as usize % 3 + 1;
        while !ring.add(&vec![segment(u64::from(token), 1, true); len], token) {
            let position = (random >> 8) as usize % flight.len();
            let (head, written) = flight.remove(position).expect("something is in flight");
            device.finish(u32::from(head), written);
            let done = ring.take_completion().expect("the one that was finished");
            assert_eq!(u32::from(done.token), done.written);
            assert!(expected.remove(&done.token));
        }
        expected.insert(token);
        let (head, chain) = device.take().expect("the chain just added");
        assert_eq!(chain.len(), len);
        flight.push_back((head, u32::from(token)));
    }
    assert_eq!(expected.len(), flight.len());
}
