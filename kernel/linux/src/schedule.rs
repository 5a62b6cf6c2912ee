// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Linux policy, real-time priority and nice value of a thread, and what the scheduler makes of them.
//!
//! `SCHED_FIFO` is the scheduler's run to completion, `SCHED_RR` its round robin, both above all other threads. Linux has
//! 99 priorities; the levels between the default and the kernel's own are 46: 1 to 20 and 80 to 99 have one each, the others
//! share six. A nice value makes the turns of a thread longer or shorter than those of the others on its CPU, each step by a
//! factor of 1.25 as on Linux, within limits: [`turn_ns`].

use core::ops::RangeInclusive;
use core::sync::atomic::{AtomicI8, AtomicU32, Ordering};

use hadal_sched::{PRIORITIES, PRIORITY_DEFAULT, Policy, SLICE_NS, Thread};
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

/// The least and the most polite nice value.
pub(crate) const NICE: RangeInclusive<i32> = -20..=19;
/// Turns are not shorter, whatever the nice value: else a CPU would do nothing but change threads.
const SHORTEST_TURN_NS: u64 = SLICE_NS / 16;
/// Nor longer: others get the CPU in time.
const LONGEST_TURN_NS: u64 = 8 * SLICE_NS;

/// Schedule of one thread, as its program sees it.
pub struct Schedule {
    /// Policy and real-time priority.
    word: AtomicU32,
    nice: AtomicI8,
}

impl Schedule {
    /// `SCHED_OTHER`.
    pub(crate) fn new() -> Self {
        Self { word: AtomicU32::new(SCHED_NORMAL), nice: AtomicI8::new(0) }
    }

    /// Policy with its flag, as `sched_getscheduler` gives it.
    pub(crate) fn policy(&self) -> u32 {
        self.word.load(Ordering::Relaxed) & (RESET_ON_FORK | 0xff)
    }

    /// Real-time priority, 0 for the other policies.
    pub fn priority(&self) -> u32 {
        self.word.load(Ordering::Relaxed) >> PRIORITY_SHIFT & 0xff
    }

    /// The nice value, -20 to 19.
    pub fn nice(&self) -> i32 {
        self.nice.load(Ordering::Relaxed).into()
    }

    /// Gives the thread a nice value; one that there is not becomes the nearest.
    pub(crate) fn set_nice(&self, thread: &'static Thread, nice: i32) {
        let nice = nice.clamp(*NICE.start(), *NICE.end());
        self.nice.store(nice as i8, Ordering::Relaxed);
        thread.set_turn_ns(turn_ns(self.priority(), nice));
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
        self.word.store(policy | priority << PRIORITY_SHIFT, Ordering::Relaxed);
        self.apply(thread);
        Ok(())
    }

    /// A new thread starts with what its creator has.
    pub(crate) fn inherit(&self, thread: &'static Thread, parent: Option<&Self>) {
        let (word, nice) =
            parent.map_or((SCHED_NORMAL, 0), |parent| (parent.word.load(Ordering::Relaxed), parent.nice()));
        let is_reset = word & RESET_ON_FORK != 0;
        // Whoever is real-time is not nice.
        let nice_after = if word >> PRIORITY_SHIFT & 0xff == 0 { nice.max(0) } else { 0 };
        let (word, nice) = if is_reset { (SCHED_NORMAL, nice_after) } else { (word, nice) };
        self.word.store(word, Ordering::Relaxed);
        if nice != self.nice() || nice != 0 {
            self.set_nice(thread, nice);
        }
        // The scheduler's defaults are those of SCHED_OTHER.
        if word != SCHED_NORMAL {
            self.apply(thread);
        }
    }

    fn apply(&self, thread: &'static Thread) {
        let runs_to_end = self.policy() & !RESET_ON_FORK == SCHED_FIFO;
        thread.set_policy(if runs_to_end { Policy::RunToCompletion } else { Policy::RoundRobin });
        thread.set_priority(level(self.priority()));
        thread.set_turn_ns(turn_ns(self.priority(), self.nice()));
    }
}

/// How long a turn of a thread with a real-time priority or none, and a nice value, is.
fn turn_ns(priority: u32, nice: i32) -> u64 {
    if priority > 0 {
        return SLICE_NS;
    }
    let step = |turn_ns: u64| if nice < 0 { turn_ns * 5 / 4 } else { turn_ns * 4 / 5 };
    let weighed = (0..nice.abs()).fold(SLICE_NS, |turn_ns, _| step(turn_ns));
    weighed.clamp(SHORTEST_TURN_NS, LONGEST_TURN_NS)
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
    fn turns_get_shorter_with_the_nice_value() {
        let turns: Vec<u64> = NICE.map(|nice| turn_ns(0, nice)).collect();
        assert!(turns.is_sorted_by(|one, next| one >= next));
        assert!({ NICE }.all(|nice| turn_ns(50, nice) == SLICE_NS));
        let turn_ns = |nice| turn_ns(0, nice);
        assert_eq!((turn_ns(0), turn_ns(-1), turn_ns(1)), (SLICE_NS, SLICE_NS * 5 / 4, SLICE_NS * 4 / 5));
        assert_eq!((turn_ns(-20), turn_ns(19)), (LONGEST_TURN_NS, SHORTEST_TURN_NS));
    }

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
