// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The head of a thread's context: its number, and the links to what higher layers keep of the thread.
//!
//! Every CPU has the address of a head in its per-CPU block at all times, so the companions of the running thread are found by
//! two loads and a look at the key, without a look whether there is a thread.

use super::companion::Companion;
use crate::cpu::percpu;

/// The part of a context that everyone may read at any time.
#[repr(C)]
pub struct Head {
    id: u32,
    companion: Companion,
    personality: Companion,
}

/// The head of a CPU that has not adopted a context ([`super::context::adopt`]). Nobody sets its
/// links: whoever did would share them among all such CPUs.
pub(crate) static NOBODY: Head = Head::new(0);

impl Head {
    pub(super) const fn new(id: u32) -> Self {
        Self { id, companion: Companion::new(), personality: Companion::new() }
    }

    /// What the scheduler calls the thread; 0 where there is none.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// A link for a higher layer, which survives the thread and passes to the next with this context.
    #[inline(always)]
    pub fn companion(&self) -> &Companion {
        &self.companion
    }

    /// The same for what the program's system calls know of the thread.
    #[inline(always)]
    pub fn personality(&self) -> &Companion {
        &self.personality
    }
}

/// The head of what the calling CPU runs.
#[inline(always)]
pub fn running() -> &'static Head {
    // SAFETY: `NOBODY`, or the head of a context that `adopt` or a switch has stored, which live for ever.
    unsafe { &*percpu::running_head() }
}
