// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What happens when a timer expires, and when the signal that it sent is delivered or dropped.

use super::super::info::{Info, code};
use super::super::send::{self, Sent};
use super::schedule::Schedule;
use super::{Base, Slot, Target, arm, cpu_limit, slot};

/// Expiries that come sooner than this are counted as missed: an interval of a nanosecond must not stop the machine.
const MIN_AHEAD_NS: u64 = 2_000;
/// A timer whose signal is ignored expires no more often than this.
const IGNORED_AHEAD_NS: u64 = 1_000_000;

/// The timer interrupt: interrupts are off, only spin locks are taken.
pub(super) fn expired(argument: usize) {
    let (index, sequence) = (argument as u32, (argument >> 32) as u32);
    // Locked until the signal is sent: a process has no timers any more before its record is another's.
    let mut slot = slot(index).lock();
    if slot.sequence != sequence {
        return;
    }
    let Some(timer) = &mut slot.timer else { return };
    timer.handle = None;
    if matches!(timer.target, Target::Limit) {
        return cpu_limit::expired(index, &mut slot);
    }
    let Some(expires) = timer.schedule.expires_ns() else { return };
    if timer.process.ends_for_good() || timer.process.thread_count() == 0 {
        timer.schedule = Schedule::OFF;
        return;
    }
    if timer.now_ns() < expires {
        // Its CPU time has not passed yet.
        arm(index, &mut slot);
        return;
    }
    if timer.sent {
        // Set again while the signal of the previous setting is on its way: that one stands for both.
        timer.missed = timer.missed.saturating_add(1);
        return;
    }
    timer.sent = true;
    let process = timer.process;
    let outcome = match timer.target {
        Target::Nobody | Target::Limit => return,
        Target::Process(info) if matches!(timer.base, Base::ProcessTime) => send::to_running(process, info),
        Target::Process(info) => send::to_process(process, info),
        Target::Thread(info, task) => match send::to_thread(process, task.tid(), info) {
            Some(outcome) => outcome,
            None => return,
        },
    };
    if outcome != Ok(Sent::Pending) {
        go_on(index, &mut slot, IGNORED_AHEAD_NS);
    }
}

/// The signal of a timer is gone without a delivery: the timer goes on by itself.
fn resume(index: u32, sequence: u32, ahead_ns: u64) {
    let mut slot = slot(index).lock();
    if slot.sequence == sequence {
        go_on(index, &mut slot, ahead_ns);
    }
}

fn go_on(index: u32, slot: &mut Slot, ahead_ns: u64) {
    let Some(timer) = &mut slot.timer else { return };
    timer.sent = false;
    if timer.advance(ahead_ns) {
        arm(index, slot);
    }
}

/// The signal is being delivered: completes it, and arms its timer for the next expiry.
pub(in crate::signal) fn taken(info: &mut Info) {
    let Some(name) = info.timer.take() else { return };
    let mut slot = slot(name.index).lock();
    let Some(timer) = slot.named(name) else { return };
    timer.sent = false;
    // Expired: nothing is armed. A timer that was set again has its next expiry still ahead of it.
    let goes_on = timer.handle.is_none() && timer.advance(MIN_AHEAD_NS);
    timer.overrun = u32::try_from(timer.missed).unwrap_or(u32::MAX).min(i32::MAX as u32);
    timer.missed = 0;
    if info.code == code::TIMER {
        info.set_overrun(timer.overrun);
    }
    if goes_on {
        arm(name.index, &mut slot);
    }
}

/// The signal was dropped while it was pending: its timer goes on.
pub(in crate::signal) fn dropped(info: &Info) {
    let Some(name) = info.timer else { return };
    let sequence = {
        let slot = slot(name.index).lock();
        if slot.generation != name.generation {
            return;
        }
        slot.sequence
    };
    resume(name.index, sequence, IGNORED_AHEAD_NS);
}
