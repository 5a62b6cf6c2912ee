// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a higher layer keeps of a thing of a lower one, one load away: a link in the thing, which does not know the type.
//!
//! The link has a word for the reference and one for the key; [`Companions`] has the key ([`super::type_key`]). Where the link
//! leads nowhere the key is marked, so that one comparison tells both whose link it is and that there is something.

use core::sync::atomic::{AtomicUsize, Ordering};

use super::type_key::TypeKey;

/// The link, in a thing that lives for ever.
#[derive(Debug, Default)]
pub struct Companion {
    /// 0, the address of the key, or that with [`NOWHERE`].
    key: AtomicUsize,
    /// A reference once the key is not 0 and not marked; it is never null again.
    thing: AtomicUsize,
}

/// The key to the links of companions of type `T`: a static of its own.
pub struct Companions<T: 'static> {
    key: TypeKey<T>,
}

/// Marks the key of a link that leads nowhere: addresses of keys are even.
const NOWHERE: usize = 1;

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
        const { assert!(align_of::<TypeKey<T>>() > NOWHERE, "an address of a key is even") };
        Self { key: TypeKey::new() }
    }

    /// What the link leads to, if it has this key and leads anywhere.
    #[inline(always)]
    pub fn get(&'static self, link: &Companion) -> Option<&'static T> {
        if !self.key.fits(&link.key, Ordering::Acquire) {
            return None;
        }
        let thing = link.thing.load(Ordering::Acquire) as *const T;
        // SAFETY: once a link has our key it is ours for good, marked or not, and before it is first without the mark `set` has
        // stored a `&'static T`; only other such references replace it.
        unsafe {
            core::hint::assert_unchecked(!thing.is_null());
            Some(&*thing)
        }
    }

    /// Makes the link lead to `thing`, or nowhere. Of two calls at the same time either may be the last.
    ///
    /// # Panics
    /// If the link has another key.
    pub fn set(&'static self, link: &Companion, thing: Option<&'static T>) {
        let key = self.key.address();
        let taken = link.key.compare_exchange(0, key | NOWHERE, Ordering::Relaxed, Ordering::Relaxed);
        assert!(taken.map_or_else(|found| found & !NOWHERE == key, |_| true), "a link has one key");
        match thing {
            Some(thing) => {
                link.thing.store(core::ptr::from_ref(thing) as usize, Ordering::Release);
                link.key.store(key, Ordering::Release);
            }
            None => link.key.store(key | NOWHERE, Ordering::Release),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Companion, Companions};

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
        FIRST.set(&link, Some(&8));
        assert_eq!((FIRST.get(&link), SECOND.get(&link)), (Some(&8), None));
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

    #[test]
    #[should_panic(expected = "one key")]
    fn a_link_that_leads_nowhere_keeps_its_key() {
        static FIRST: Companions<u32> = Companions::new();
        static SECOND: Companions<u64> = Companions::new();
        let link = Companion::new();
        FIRST.set(&link, None);
        SECOND.set(&link, Some(&8));
    }
}
