// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A bit for each CPU, that any CPU sets, clears and takes.

use alloc::boxed::Box;

use hadal_hal::sync::atomic::{AtomicU64, Ordering};
use spin::Once;

use crate::thread::Thread;

/// A set of CPUs; empty, and staying so, before [`CpuBits::init`].
pub(crate) struct CpuBits(Once<Box<[AtomicU64]>>);

impl CpuBits {
    pub(crate) const fn new() -> Self {
        Self(Once::new())
    }

    /// Makes room for so many CPUs.
    pub(crate) fn init(&self, cpu_count: usize) {
        self.0.call_once(|| (0..cpu_count.div_ceil(64)).map(|_| AtomicU64::new(0)).collect());
    }

    #[inline]
    fn words(&self) -> &[AtomicU64] {
        self.0.get().map_or(&[], |words| words)
    }

    #[inline]
    fn word(&self, cpu: usize) -> Option<(&AtomicU64, u64)> {
        self.words().get(cpu / 64).map(|word| (word, 1 << (cpu % 64)))
    }

    pub(crate) fn set(&self, cpu: usize) {
        if let Some((word, bit)) = self.word(cpu) {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }

    #[inline]
    pub(crate) fn has(&self, cpu: usize) -> bool {
        self.word(cpu).is_some_and(|(word, bit)| word.load(Ordering::Relaxed) & bit != 0)
    }

    pub(crate) fn len(&self) -> usize {
        self.words().iter().map(|word| word.load(Ordering::Relaxed).count_ones() as usize).sum()
    }

    /// Whether there is none, as far as one look can tell: where there are more than 64 CPUs it cannot.
    #[inline]
    pub(crate) fn is_seen_empty(&self) -> bool {
        matches!(self.words(), [word] if word.load(Ordering::Relaxed) == 0)
    }

    /// Takes a CPU out; whether it was in. Of several that try, one does.
    #[inline]
    pub(crate) fn take(&self, cpu: usize) -> bool {
        self.word(cpu).is_some_and(|(word, bit)| {
            word.load(Ordering::Relaxed) & bit != 0 && word.fetch_and(!bit, Ordering::Relaxed) & bit != 0
        })
    }

    /// Takes a CPU on which the thread may run, the first of a word that begins near `start`.
    pub(crate) fn take_for(&self, thread: &Thread, start: usize) -> Option<usize> {
        let words = self.words();
        let mut index = start / 64;
        for _ in 0..words.len() {
            let mut members = words.get(index)?.load(Ordering::Relaxed);
            if members != 0 {
                members &= thread.allowed_word(index);
            }
            // One that was in a moment ago is seldom taken by somebody else meanwhile.
            while members != 0 {
                let cpu = index * 64 + members.trailing_zeros() as usize;
                if self.take(cpu) {
                    return Some(cpu);
                }
                members &= members - 1;
            }
            index = if index + 1 == words.len() { 0 } else { index + 1 };
        }
        None
    }

    /// Takes a CPU out of the word of `start`, the next from there; in constant time.
    pub(crate) fn take_near(&self, start: usize) -> Option<usize> {
        let word = start / 64;
        let members = self.words().get(word)?.load(Ordering::Relaxed);
        if members == 0 {
            return None;
        }
        let turned = members.rotate_right(start as u32 % 64).trailing_zeros() as usize;
        let cpu = word * 64 + (start + turned) % 64;
        self.take(cpu).then_some(cpu)
    }
}

#[cfg(test)]
mod tests {
    use super::CpuBits;
    use crate::thread::Thread;

    fn set_of(members: &[usize]) -> CpuBits {
        let set = CpuBits::new();
        set.init(200);
        members.iter().for_each(|&cpu| set.set(cpu));
        set
    }

    #[test]
    fn a_member_is_taken_once() {
        let set = set_of(&[3, 64, 199]);
        assert!(set.has(64) && !set.has(65));
        assert!(set.take(64) && !set.take(64) && !set.has(64));
        assert_eq!(set.len(), 2);
    }

    #[test]
    fn one_word_is_seen_to_be_empty() {
        let set = CpuBits::new();
        set.init(64);
        assert!(set.is_seen_empty());
        set.set(63);
        assert!(!set.is_seen_empty() && !set_of(&[]).is_seen_empty());
    }

    #[test]
    fn the_next_of_a_word_is_near() {
        let set = set_of(&[3, 10, 70]);
        assert_eq!(set.take_near(4), Some(10));
        assert_eq!(set.take_near(4), Some(3));
        assert_eq!(set.take_near(4), None);
        assert_eq!(set.take_near(64), Some(70));
    }

    #[test]
    fn a_thread_gets_members_of_every_word() {
        let set = set_of(&[5, 150]);
        let thread = Thread::leak(1);
        assert_eq!(set.take_for(thread, 64), Some(150));
        assert_eq!(set.take_for(thread, 64), Some(5));
        assert_eq!(set.take_for(thread, 64), None);
    }

    #[test]
    fn before_it_has_room_a_set_is_empty() {
        let set = CpuBits::new();
        set.set(0);
        assert!(!set.has(0) && !set.take(0) && set.take_near(0).is_none() && set.len() == 0);
    }
}
