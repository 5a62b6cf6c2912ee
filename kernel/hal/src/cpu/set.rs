// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sets of CPUs, sized by the machine.

use alloc::boxed::Box;
use alloc::vec;

/// A set of CPU ids below a capacity that is fixed when the set is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuSet {
    words: Box<[u64]>,
}

impl CpuSet {
    /// An empty set with room for CPUs `0..capacity`.
    pub fn new_empty(capacity: usize) -> Self {
        Self { words: vec![0; capacity.div_ceil(64).max(1)].into_boxed_slice() }
    }

    /// The set of CPUs `0..count`.
    pub fn first(count: usize) -> Self {
        let mut set = Self::new_empty(count);
        for cpu in 0..count {
            set.insert(cpu);
        }
        set
    }

    /// Adds a CPU; one beyond the capacity is ignored.
    pub fn insert(&mut self, cpu: usize) {
        if let Some(word) = self.words.get_mut(cpu / 64) {
            *word |= 1 << (cpu % 64);
        }
    }

    /// Removes a CPU.
    pub fn remove(&mut self, cpu: usize) {
        if let Some(word) = self.words.get_mut(cpu / 64) {
            *word &= !(1 << (cpu % 64));
        }
    }

    /// Whether the CPU is in the set.
    pub fn contains(&self, cpu: usize) -> bool {
        self.words.get(cpu / 64).is_some_and(|word| word >> (cpu % 64) & 1 == 1)
    }

    /// The CPUs from `64 * index` on, as bits.
    pub fn word(&self, index: usize) -> u64 {
        self.words.get(index).copied().unwrap_or(0)
    }

    /// Whether the set has no CPU.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    /// Number of CPUs in the set.
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The CPUs in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.words.len() * 64).filter(|&cpu| self.contains(cpu))
    }

    /// The CPUs that are in both sets, with this set's capacity.
    pub fn intersection(&self, other: &Self) -> Self {
        let mut set = self.clone();
        for (index, word) in set.words.iter_mut().enumerate() {
            *word &= other.words.get(index).copied().unwrap_or(0);
        }
        set
    }

    /// Reads a little-endian bit mask of any length, as Linux passes it; bits beyond `capacity` are dropped.
    pub fn from_bytes(bytes: &[u8], capacity: usize) -> Self {
        let mut set = Self::new_empty(capacity);
        for cpu in 0..capacity.min(bytes.len() * 8) {
            if bytes[cpu / 8] >> (cpu % 8) & 1 == 1 {
                set.insert(cpu);
            }
        }
        set
    }

    /// The set as a little-endian bit mask, a multiple of eight bytes long.
    pub fn to_bytes(&self) -> Box<[u8]> {
        self.words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::CpuSet;

    #[test]
    fn holds_cpus_beyond_one_word() {
        let mut set = CpuSet::new_empty(200);
        for cpu in [0, 63, 64, 199] {
            set.insert(cpu);
        }
        assert_eq!(set.iter().collect::<alloc::vec::Vec<_>>(), [0, 63, 64, 199]);
        set.remove(64);
        assert!(!set.contains(64) && set.len() == 3);
        assert_eq!(CpuSet::from_bytes(&set.to_bytes(), 200), set);
    }

    #[test]
    fn drops_bits_beyond_the_machine() {
        assert_eq!(CpuSet::from_bytes(&[0xff; 16], 5).len(), 5);
        assert!(CpuSet::from_bytes(&[], 5).is_empty());
    }
}
