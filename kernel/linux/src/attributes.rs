// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Attributes of a process that it sets for itself and reads back (`prctl`), and that change nothing else.

use core::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// The attributes.
pub struct Attributes {
    /// `PR_SET_DUMPABLE`.
    pub dumpable: AtomicU8,
    /// `PR_SET_PDEATHSIG`; 0 is none.
    pub parent_death_signal: AtomicU8,
    /// `PR_SET_NO_NEW_PRIVS`.
    pub no_new_rights: AtomicU8,
    /// `PR_SET_CHILD_SUBREAPER`.
    pub is_subreaper: AtomicBool,
}

impl Attributes {
    /// Becomes those of a new child.
    pub(crate) fn take_over(&self, parent: &Self) {
        for (own, its) in [(&self.dumpable, &parent.dumpable), (&self.no_new_rights, &parent.no_new_rights)] {
            own.store(its.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        self.parent_death_signal.store(0, Ordering::Relaxed);
        self.is_subreaper.store(false, Ordering::Relaxed);
    }
}

impl Default for Attributes {
    fn default() -> Self {
        Self {
            dumpable: AtomicU8::new(1),
            parent_death_signal: AtomicU8::new(0),
            no_new_rights: AtomicU8::new(0),
            is_subreaper: AtomicBool::new(false),
        }
    }
}
