// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a thread waits for, for reports: noted with every wait, read hardly ever.

use hadal_hal::sync::atomic::{AtomicU64, Ordering};
use hadal_hal::threads::link::AtomicRef;

/// A noun for what is waited for; a reference to it is one word.
pub type Noun = &'static &'static str;

/// A noun with an address or a number. The thread itself writes it; to others that read while it does, the number may be that
/// of its next wait.
pub(crate) struct WaitNote {
    noun: AtomicRef<&'static str>,
    number: AtomicU64,
}

impl WaitNote {
    pub(crate) fn new() -> Self {
        Self { noun: AtomicRef::none(), number: AtomicU64::new(0) }
    }

    #[inline]
    pub(crate) fn set(&self, what: Option<(Noun, u64)>) {
        if let Some((_, number)) = what {
            self.number.store(number, Ordering::Relaxed);
        }
        self.noun.store(what.map(|(noun, _)| noun), Ordering::Release);
    }

    pub(crate) fn get(&self) -> Option<(Noun, u64)> {
        let noun = self.noun.load(Ordering::Acquire)?;
        Some((noun, self.number.load(Ordering::Relaxed)))
    }
}
