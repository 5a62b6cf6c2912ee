// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The limit of a process's CPU time (`RLIMIT_CPU`): SIGXCPU at the soft limit, which moves on by a second then, as on Linux, and
//! SIGKILL at the hard one.
//!
//! A process with a limit has a timer that follows it. The timer is told when the limit is set, and looks anew at what the limit
//! is whenever it is armed: one that was armed for an older limit finds nothing to do.

use hadal_time::NS_PER_SECOND;
use linux_raw_sys::general::RLIMIT_CPU;

use super::super::info::Info;
use super::super::number::{SIGKILL, SIGXCPU};
use super::super::send;
use super::schedule::Schedule;
use super::{Base, Slot, Target, TimerName, TimerRef, arm, slot};
use crate::clock::FOREVER_NS;
use crate::process::{Limit, Process, UNLIMITED};
use crate::{Errno, Result};

/// The CPU time at which so many seconds are reached; `None` is never.
fn reached_at_ns(seconds: u64) -> Option<u64> {
    (seconds != UNLIMITED).then(|| seconds.saturating_mul(NS_PER_SECOND).min(FOREVER_NS))
}

/// What a process gets for the CPU time that it has had, and when to look again.
fn judge(limit: &mut Limit, now_ns: u64) -> (Option<u8>, Option<u64>) {
    let Some(soft_ns) = reached_at_ns(limit.soft) else { return (None, None) };
    if reached_at_ns(limit.hard).is_some_and(|hard_ns| hard_ns <= now_ns) {
        return (Some(SIGKILL), None);
    }
    if soft_ns > now_ns {
        return (None, Some(soft_ns));
    }
    limit.soft += 1;
    (Some(SIGXCPU), reached_at_ns(limit.soft))
}

/// The timer's interrupt: does what the limit demands, and arms the timer for the next time.
pub(super) fn expired(index: u32, slot: &mut Slot) {
    let Some(timer) = &mut slot.timer else { return };
    let process = timer.process;
    let (signo, next_ns) = if process.family.has_ended() {
        (None, None)
    } else {
        let now_ns = timer.now_ns();
        judge(&mut process.limits.lock()[RLIMIT_CPU as usize], now_ns)
    };
    timer.schedule = Schedule::new(next_ns, 0);
    if let Some(signo) = signo {
        // A standard signal that is pending already is merged, so this cannot fail.
        let _ = send::to_running(process, Info::kernel(signo));
    }
    arm(index, slot);
}

/// The timer that follows the limit of a process; `EAGAIN` when there are too many timers.
pub(crate) fn follower(process: &'static Process) -> Result<TimerRef> {
    let create = || TimerRef::create(process, Base::ProcessTime, Target::Limit);
    process.signals.timers().cpu_limit(create)
}

/// The limit has been set or inherited: its timer follows it. `ENOMEM` when it cannot be armed.
pub(crate) fn follow(timer: TimerRef) -> Result<()> {
    let TimerName { index, .. } = timer.0;
    let mut slot = slot(index).lock();
    // Without a timer the process has ended meanwhile.
    let Some(found) = slot.named(timer.0) else { return Ok(()) };
    // With the slot locked: of two who set limits the second one sees what both have done.
    let soft = found.process.limits.lock()[RLIMIT_CPU as usize].soft;
    found.schedule = Schedule::new(reached_at_ns(soft), 0);
    if arm(index, &mut slot) { Ok(()) } else { Err(Errno::ENOMEM) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn limit(soft: u64, hard: u64) -> Limit {
        Limit { soft, hard }
    }

    #[test]
    fn the_soft_limit_moves_on_until_the_hard_one_is_reached() {
        let mut bounds = limit(1, 3);
        assert_eq!(judge(&mut bounds, 999 * MS), (None, Some(1000 * MS)));
        assert_eq!(judge(&mut bounds, 1001 * MS), (Some(SIGXCPU), Some(2000 * MS)));
        assert_eq!(judge(&mut bounds, 1002 * MS), (None, Some(2000 * MS)));
        assert_eq!(judge(&mut bounds, 2000 * MS), (Some(SIGXCPU), Some(3000 * MS)));
        assert_eq!(bounds, limit(3, 3));
        assert_eq!(judge(&mut bounds, 3000 * MS), (Some(SIGKILL), None));
        // A process may have had more than that when its limit is set.
        assert_eq!(judge(&mut limit(1, 3), 3500 * MS), (Some(SIGKILL), None));
        assert_eq!(judge(&mut limit(0, UNLIMITED), 0), (Some(SIGXCPU), Some(1000 * MS)));
    }

    #[test]
    fn limits_beyond_all_time_are_never_reached() {
        assert_eq!(judge(&mut limit(UNLIMITED, UNLIMITED), FOREVER_NS - 1), (None, None));
        for seconds in [UNLIMITED - 1, u64::MAX / NS_PER_SECOND + 1, FOREVER_NS / NS_PER_SECOND + 1] {
            assert_eq!(judge(&mut limit(seconds, seconds), 1 << 60), (None, Some(FOREVER_NS)));
        }
    }
}
