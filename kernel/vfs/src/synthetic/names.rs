// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Values by name, in the order of names: what is registered in a directory.
//!
//! Names are compared by their first eight bytes as one number, and as text only where that does not decide.

use alloc::boxed::Box;
use alloc::vec::Vec;

/// Bytes of the beginning of a name.
const BEGINNING: usize = size_of::<u64>();

/// The beginning of a name, as a number that has the same order.
#[inline]
fn beginning(name: &[u8]) -> u64 {
    if let Some(first) = name.first_chunk() {
        return u64::from_be_bytes(*first);
    }
    // A shorter name comes first.
    let bits = name.iter().fold(0, |bits, &byte| bits << 8 | u64::from(byte));
    if name.is_empty() { 0 } else { bits << (64 - 8 * name.len()) }
}

struct Entry<T> {
    beginning: u64,
    name: Box<[u8]>,
    value: T,
}

/// The list.
pub(super) struct Names<T>(Vec<Entry<T>>);

impl<T> Names<T> {
    pub(super) const fn new() -> Self {
        Self(Vec::new())
    }

    pub(super) fn get(&self, name: &[u8]) -> Option<&T> {
        let wanted = beginning(name);
        let first = self.0.partition_point(|entry| entry.beginning < wanted);
        let mut candidates = self.0[first..].iter().take_while(|entry| entry.beginning == wanted);
        let is_it = |entry: &&Entry<T>| {
            entry.name.len() == name.len() && (name.len() <= BEGINNING || *entry.name == *name)
        };
        candidates.find(is_it).map(|entry| &entry.value)
    }

    /// Adds a value, or replaces the one of that name.
    pub(super) fn insert(&mut self, name: &[u8], value: T) {
        let beginning = beginning(name);
        match self.0.binary_search_by(|entry| (entry.beginning, &*entry.name).cmp(&(beginning, name))) {
            Ok(index) => self.0[index].value = value,
            Err(index) => self.0.insert(index, Entry { beginning, name: Box::from(name), value }),
        }
    }

    /// All names with their values, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&[u8], &T)> {
        self.0.iter().map(|entry| (&*entry.name, &entry.value))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn behaves_like_a_map(
            added in proptest::collection::vec("[ab\\x00]{0,10}", 0..40),
            asked in proptest::collection::vec("[ab\\x00]{0,10}", 20),
        ) {
            let (mut names, mut model) = (Names::new(), BTreeMap::new());
            for (index, name) in added.iter().enumerate() {
                names.insert(name.as_bytes(), index);
                model.insert(name.as_bytes(), index);
            }
            for name in added.iter().chain(&asked) {
                prop_assert_eq!(names.get(name.as_bytes()), model.get(name.as_bytes()));
            }
            prop_assert!(names.iter().eq(model.iter().map(|(name, index)| (*name, index))));
        }
    }
}
