// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Linux policy and real-time priority of a thread, and what the scheduler makes of them.
//!
//! `SCHED_FIFO` is the scheduler's run to completion, `SCHED_RR` its round robin, both above all other threads. Linux has
//! 99 priorities; the levels between the default and the kernel's own are 46: 1 to 20 and 80 to 99 have one each, the others
//! share six.

use core::sync::atomic::{AtomicU32, Ordering};

use hadal_sched::{PRIORITIES, PRIORITY_DEFAULT, Policy, Thread};
use linux_raw_sys::general::{SCHED_BATCH, SCHED_FIFO, SCHED_IDLE, SCHED_NORMAL, SCHED_RR};

use crate::{Errno, Result};

/// Flag beside a policy: new threads of this one start as `SCHED_OTHER`.
pub(crate) const RESET_ON_FORK: u32 = 0x4000_0000;
/// Highest real-time priority; the lowest is 1, and 0 means none.
pub(crate) const REALTIME_MAX: u32 = 99;

/// Lowest and highest priorities that have a scheduler's level of their own. Between them are six levels: programs like the
/// middle of the range and its neighbours, and this way there is a border.
const SINGLE: u32 = 20;
/// Where the priority is in the word, above policy and flag's place.
const PRIORITY_SHIFT: u32 = 8;

/// Schedule of one thread, as its program sees it.
pub(crate) struct Schedule(AtomicU32);

impl Schedule {
    /// `SCHED_OTHER`.
    pub(crate) fn new() -> Self {
        Self(AtomicU32::new(SCHED_NORMAL))
    }

    /// Policy with its flag, as `sched_getscheduler` gives it.
    pub(crate) fn policy(&self) -> u32 {
        self.0.load(Ordering::Relaxed) & (RESET_ON_FORK | 0xff)
    }

    /// Real-time priority, 0 for the other policies.
    pub(crate) fn priority(&self) -> u32 {
        self.0.load(Ordering::Relaxed) >> PRIORITY_SHIFT & 0xff
    }

    /// Gives the thread a policy (perhaps with [`RESET_ON_FORK`]) and a priority. `EINVAL` if they do not fit each other,
    /// `EPERM` for real time without privilege.
    pub(crate) fn set(
        &self,
        thread: &'static Thread,
        policy: u32,
        priority: u32,
        privileged: bool,
    ) -> Result<()> {
        check(policy, priority)?;
        if priority > 0 && !privileged {
            return Err(Errno::EPERM);
        }
        self.0.store(policy | priority << PRIORITY_SHIFT, Ordering::Relaxed);
        self.apply(thread);
        Ok(())
    }

    /// A new thread starts with what its creator has.
    pub(crate) fn inherit(&self, thread: &'static Thread, parent: Option<&Self>) {
        let word = parent.map_or(SCHED_NORMAL, |parent| parent.0.load(Ordering::Relaxed));
        let word = if word & RESET_ON_FORK == 0 { word } else { SCHED_NORMAL };
        self.0.store(word, Ordering::Relaxed);
        // The scheduler's defaults are those of SCHED_OTHER.
        if word != SCHED_NORMAL {
            self.apply(thread);
        }
    }

    fn apply(&self, thread: &'static Thread) {
        let runs_to_end = self.policy() & !RESET_ON_FORK == SCHED_FIFO;
        thread.set_policy(if runs_to_end { Policy::RunToCompletion } else { Policy::RoundRobin });
        thread.set_priority(level(self.priority()));
    }
}

/// Whether there is such a policy, with such a priority (`EINVAL`).
pub(crate) fn check(policy: u32, priority: u32) -> Result<()> {
    match (policy & !RESET_ON_FORK, priority) {
        (SCHED_NORMAL | SCHED_BATCH | SCHED_IDLE, 0) | (SCHED_FIFO | SCHED_RR, 1..=REALTIME_MAX) => Ok(()),
        _ => Err(Errno::EINVAL),
    }
}

/// The scheduler's level of a real-time priority.
fn level(priority: u32) -> u8 {
    const LEVELS: u32 = (PRIORITIES - 2 - PRIORITY_DEFAULT) as u32;
    const SHARED: u32 = LEVELS - 2 * SINGLE;
    let step = match priority {
        0..=SINGLE => priority,
        _ if priority > REALTIME_MAX - SINGLE => LEVELS - (REALTIME_MAX - priority),
        _ => {
            let between = REALTIME_MAX - 2 * SINGLE;
            SINGLE + 1 + (priority - SINGLE - 1) * SHARED / between
        }
    };
    PRIORITY_DEFAULT + step as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_rise_with_the_priority() {
        let levels: Vec<u8> = (0..=REALTIME_MAX).map(level).collect();
        assert!(levels.is_sorted());
        assert_eq!((levels[0], levels[1], levels[99]), (16, 17, 62));
        assert!(levels[..=SINGLE as usize].windows(2).all(|pair| pair[0] < pair[1]));
        assert!(levels[50] < levels[51]);
        assert!(levels[80..].windows(2).all(|pair| pair[0] < pair[1]));
    }
}
