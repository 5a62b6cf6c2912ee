// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a higher layer keeps of a thing of a lower one, one load away: a link in the thing, which does not know the type.
//!
//! The link has a word for the reference and one for the key; [`Companions`] has the key ([`super::type_key`]), or
//! [`LastingCompanions`] for links that are set once.

use core::sync::atomic::{AtomicUsize, Ordering};

use super::type_key::TypeKey;

/// The link, in a thing that lives for ever.
#[derive(Debug, Default)]
pub struct Companion {
    key: AtomicUsize,
    thing: AtomicUsize,
}

/// The key to the links of companions of type `T`: a static of its own.
pub struct Companions<T: 'static> {
    key: TypeKey<T>,
}

/// The same for companions that stay: whoever has the key needs not look for a reference.
pub struct LastingCompanions<T: 'static> {
    key: TypeKey<T>,
}

/// In the place of a key while a lasting companion is being set. No static is there.
const BEING_SET: usize = usize::MAX;

impl Companion {
    /// A link that nobody uses yet.
    pub const fn new() -> Self {
        Self { key: AtomicUsize::new(0), thing: AtomicUsize::new(0) }
    }
}

impl<T: Sync> Default for Companions<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Sync> Companions<T> {
    /// A key that no link has yet.
    pub const fn new() -> Self {
        Self { key: TypeKey::new() }
    }

    /// What the link leads to, if it has this key and leads anywhere.
    #[inline(always)]
    pub fn get(&'static self, link: &Companion) -> Option<&'static T> {
        let thing = link.thing.load(Ordering::Acquire) as *const T;
        // SAFETY: where the key is ours, null or what `set` made of a `&'static T`: a key never changes.
        if self.key.fits(&link.key, Ordering::Relaxed) { unsafe { thing.as_ref() } } else { None }
    }

    /// Makes the link lead to `thing`, or nowhere.
    ///
    /// # Panics
    /// If the link has another key.
    pub fn set(&'static self, link: &Companion, thing: Option<&'static T>) {
        let key = self.key.address();
        let taken = link.key.compare_exchange(0, key, Ordering::Relaxed, Ordering::Relaxed);
        assert!(taken.is_ok() || taken == Err(key), "a link has one key");
        let thing = thing.map_or(core::ptr::null(), core::ptr::from_ref);
        link.thing.store(thing as usize, Ordering::Release);
    }
}

impl<T: Sync> Default for LastingCompanions<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Sync> LastingCompanions<T> {
    /// A key that no link has yet.
    pub const fn new() -> Self {
        Self { key: TypeKey::new() }
    }

    /// What the link leads to if it has this key, or what `otherwise` finds. An `Option` would be compared with null once more.
    #[inline(always)]
    pub fn get_or(&'static self, link: &Companion, otherwise: impl FnOnce() -> &'static T) -> &'static T {
        if !self.key.fits(&link.key, Ordering::Acquire) {
            return otherwise();
        }
        let thing = link.thing.load(Ordering::Relaxed) as *const T;
        // SAFETY: the key is ours, which `set` gives a link when a `&'static T` is in it, for good.
        unsafe { &*thing }
    }

    /// Makes the link lead to `thing` for ever. The first call for a link decides; one at the same time may return before that
    /// can be seen.
    ///
    /// # Panics
    /// If the link has another key.
    pub fn set(&'static self, link: &Companion, thing: &'static T) {
        match link.key.compare_exchange(0, BEING_SET, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => {
                link.thing.store(core::ptr::from_ref(thing) as usize, Ordering::Relaxed);
                link.key.store(self.key.address(), Ordering::Release);
            }
            Err(key) => assert!(key == BEING_SET || key == self.key.address(), "a link has one key"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Companion, Companions, LastingCompanions};

    #[test]
    fn a_lasting_companion_is_set_once() {
        static FIRST: LastingCompanions<u32> = LastingCompanions::new();
        static SECOND: LastingCompanions<u64> = LastingCompanions::new();
        let link = Companion::new();
        assert_eq!(FIRST.get_or(&link, || &0), &0);
        FIRST.set(&link, &7);
        FIRST.set(&link, &8);
        assert_eq!((FIRST.get_or(&link, || &0), SECOND.get_or(&link, || &1)), (&7, &1));
    }

    #[test]
    #[should_panic(expected = "one key")]
    fn a_lasting_companion_has_one_type() {
        static FIRST: LastingCompanions<u32> = LastingCompanions::new();
        static SECOND: Companions<u64> = Companions::new();
        let link = Companion::new();
        FIRST.set(&link, &7);
        SECOND.set(&link, Some(&8));
    }

    #[test]
    fn only_its_key_opens_a_link() {
        static FIRST: Companions<u32> = Companions::new();
        static SECOND: Companions<u64> = Companions::new();
        let link = Companion::new();
        assert_eq!(FIRST.get(&link), None);
        FIRST.set(&link, Some(&7));
        assert_eq!((FIRST.get(&link), SECOND.get(&link)), (Some(&7), None));
        FIRST.set(&link, None);
        assert_eq!(FIRST.get(&link), None);
    }

    #[test]
    #[should_panic(expected = "one key")]
    fn types_cannot_be_confused() {
        static FIRST: Companions<u32> = Companions::new();
        static SECOND: Companions<u64> = Companions::new();
        let link = Companion::new();
        FIRST.set(&link, Some(&7));
        SECOND.set(&link, Some(&8));
    }
}
