// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `timer_create(2)`: makes a timer that sends a signal.
//!
//! Honoured: `CLOCK_REALTIME`, `CLOCK_MONOTONIC`, `CLOCK_BOOTTIME`, `CLOCK_TAI`, and CPU-time clocks, which are looked at every
//! millisecond; `SIGEV_SIGNAL`, `SIGEV_THREAD` (the same to the kernel), `SIGEV_THREAD_ID`, `SIGEV_NONE`; a null event.
//!
//! Refused: coarse, raw and alarm clocks and other processes' CPU time (`EOPNOTSUPP`), unknown clocks and ways of notification (`EINVAL`).

use linux_raw_sys::general::{SIGEV_NONE, SIGEV_SIGNAL, SIGEV_THREAD, SIGEV_THREAD_ID};

use super::event::Event;
use super::target;
use crate::call::Call;
use crate::clock::Clock;
use crate::signal::Info;
use crate::signal::number::SIGALRM;
use crate::signal::timer::{Base, Target};
use crate::strace::signature;
use crate::task::Task;
use crate::{Errno, Result, memory};

/// Who is told about an expiry.
enum Notify {
    Nobody,
    Process(u8),
    Thread(u8, &'static Task),
}

signature!(Choice(flags::CLOCK), Address, Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (event, id_address) = (call.arg(1), call.arg(2));
    let clock = Clock::for_waiting(call.int(0), call.task, call.process)?;
    let base = match clock {
        Clock::Realtime | Clock::Monotonic => Base::Elapsed,
        Clock::ProcessTime => Base::ProcessTime,
        Clock::ThreadTime(task) => Base::ThreadTime(task),
        Clock::OtherTime(_) => return Err(Errno::EOPNOTSUPP),
    };
    let event: Option<Event> = if event == 0 { None } else { Some(memory::read(event)?) };
    let notify = match &event {
        None => Notify::Process(SIGALRM),
        Some(event) => match event.notify {
            SIGEV_NONE => Notify::Nobody,
            SIGEV_SIGNAL | SIGEV_THREAD => Notify::Process(target::signal_number(event.signal)?),
            SIGEV_THREAD_ID => {
                let task = u32::try_from(event.thread).ok().and_then(|tid| Task::find(call.process, tid));
                let task = task.ok_or(Errno::EINVAL)?;
                Notify::Thread(target::signal_number(event.signal)?, task)
            }
            _ => return Err(Errno::EINVAL),
        },
    };
    let timers = call.process.signals.timers();
    let is_realtime = matches!(clock, Clock::Realtime);
    let id = timers.create(call.process, base, is_realtime, |id| {
        // Without an event the value is the timer's id.
        let value = event.map_or(id as u64, |event| event.value);
        match notify {
            Notify::Nobody => Target::Nobody,
            Notify::Process(signo) => Target::Process(Info::timer(signo, id, value)),
            Notify::Thread(signo, task) => Target::Thread(Info::timer(signo, id, value), task),
        }
    })?;
    if let Err(error) = memory::write(id_address, &id) {
        timers.delete(id)?;
        return Err(error);
    }
    Ok(0)
}
