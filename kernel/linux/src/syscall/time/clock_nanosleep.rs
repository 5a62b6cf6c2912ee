// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `clock_nanosleep(2)`: sleeps until a clock has moved on.
//!
//! Honoured: `CLOCK_REALTIME`, `CLOCK_MONOTONIC`, `CLOCK_BOOTTIME`, `CLOCK_TAI`, and the CPU time of the process (to a millisecond);
//! `TIMER_ABSTIME`. A signal handler ends the sleep; the rest of a relative one is stored.
//!
//! Refused: coarse, raw and alarm clocks (`EOPNOTSUPP`), CPU time of a thread and of other processes (`EINVAL`).

use linux_raw_sys::general::TIMER_ABSTIME;

use crate::call::Call;
use crate::clock::{self, Clock, FOREVER_NS, Timespec};
use crate::signal;
use crate::strace::signature;
use crate::{Errno, Result, memory};

/// The CPU time of the process is looked at no more often than this.
const CPU_TIME_STEP_NS: u64 = 1_000_000;

signature!(Choice(flags::CLOCK), Flags(&flags::TIMER), Time, Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (flags, request, remainder) = (call.uint(1), call.arg(2), call.arg(3));
    let clock = Clock::for_waiting(call.int(0), call.task, call.process)?;
    if let Clock::ThreadTime(_) | Clock::OtherTime(_) = clock {
        return Err(Errno::EINVAL);
    }
    let time_ns = memory::read::<Timespec>(request)?.to_ns()?;
    if flags & TIMER_ABSTIME != 0 {
        return sleep_until(call, clock, time_ns).map(|()| 0);
    }
    sleep_for(call, clock, time_ns, remainder)
}

/// Sleeps for a time; stores the rest of it at `remainder`, unless that is null, when a signal interrupts.
pub(super) fn sleep_for(call: &Call<'_>, clock: Clock, duration_ns: u64, remainder: usize) -> Result<usize> {
    // A relative sleep is not moved by a wall clock that is set.
    let clock = if let Clock::Realtime = clock { Clock::Monotonic } else { clock };
    let end_ns = call
        .resumed_until()
        .unwrap_or_else(|| clock.now_ns(call.process).saturating_add(duration_ns).min(FOREVER_NS));
    match sleep_until(call, clock, end_ns) {
        Err(Errno::EINTR) => {
            let rest_ns = end_ns.saturating_sub(clock.now_ns(call.process));
            memory::write_unless_null(remainder, &Timespec::from_ns(rest_ns))?;
            Err(call.interrupted_until(end_ns))
        }
        result => result.map(|()| 0),
    }
}

/// Sleeps until `clock` shows a time, or a signal interrupts.
fn sleep_until(call: &Call<'_>, clock: Clock, time_ns: u64) -> Result<()> {
    let thread = call.task.thread();
    thread.note_wait(Some((&"sleep until", time_ns)));
    let result = loop {
        let now_ns = clock.now_ns(call.process);
        if now_ns >= time_ns {
            break Ok(());
        }
        if signal::interrupted(call.task, call.process) {
            break Err(Errno::EINTR);
        }
        let wake_at_ns = match clock {
            Clock::Monotonic => time_ns,
            Clock::Realtime => clock::monotonic_at(time_ns),
            Clock::ProcessTime | Clock::ThreadTime(_) | Clock::OtherTime(_) => {
                // No more threads run at a time than there are CPUs.
                let least_ns = (time_ns - now_ns) / hadal_hal::cpu::count() as u64;
                clock::after(least_ns.max(CPU_TIME_STEP_NS))
            }
        };
        hadal_sched::park(clock::deadline(wake_at_ns));
    };
    thread.note_wait(None);
    result
}
