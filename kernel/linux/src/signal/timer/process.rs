// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The timers of one process by the names that it has for them.

use alloc::vec::Vec;

use hadal_hal::memory::fallible::MakeRoom;
use hadal_hal::sync::{Rank, SpinLock};
use linux_raw_sys::general::RLIMIT_SIGPENDING;

use super::super::info::Info;
use super::super::number::{SIGALRM, SIGPROF, SIGVTALRM};
use super::{Base, Target, TimerRef};
use crate::process::Process;
use crate::{Errno, Result};

/// The interval timers (setitimer(2)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interval {
    /// Time passes: `SIGALRM`.
    Real,
    /// The program runs: `SIGVTALRM`. CPU time is not split into that of program and kernel.
    Virtual,
    /// The program runs, or the kernel does on its behalf: `SIGPROF`.
    Profile,
}

impl Interval {
    /// By the number that programs use.
    pub(crate) fn from_number(number: i32) -> Result<Self> {
        match number {
            0 => Ok(Self::Real),
            1 => Ok(Self::Virtual),
            2 => Ok(Self::Profile),
            _ => Err(Errno::EINVAL),
        }
    }

    fn signal(self) -> (Base, u8) {
        match self {
            Self::Real => (Base::Elapsed, SIGALRM),
            Self::Virtual => (Base::ProcessTime, SIGVTALRM),
            Self::Profile => (Base::ProcessTime, SIGPROF),
        }
    }
}

/// A timer of `timer_create`.
#[derive(Clone, Copy)]
struct Posix {
    timer: TimerRef,
    /// Absolute times are those of the wall clock.
    is_realtime: bool,
}

/// The timers of a process.
pub(crate) struct ProcessTimers {
    /// What `timer_create` made, by id.
    posix: SpinLock<Vec<Option<Posix>>>,
    /// Made when first used.
    interval: [SpinLock<Option<TimerRef>>; 3],
}

impl ProcessTimers {
    pub(crate) const fn new() -> Self {
        Self {
            posix: SpinLock::ranked(Rank::ProcessTimers, Vec::new()),
            interval: [const { SpinLock::ranked(Rank::ProcessTimers, None) }; 3],
        }
    }

    /// Makes a POSIX timer and gives it the lowest free id; `target` gets the id. `EAGAIN` when the limit of queued
    /// signals is reached, since each timer may queue one.
    pub(crate) fn create(
        &self,
        process: &'static Process,
        base: Base,
        is_realtime: bool,
        target: impl FnOnce(i32) -> Target,
    ) -> Result<i32> {
        let limit = process.limits.lock()[RLIMIT_SIGPENDING as usize].soft;
        let mut timers = self.posix.lock();
        let index = timers.iter().position(Option::is_none).unwrap_or(timers.len());
        if index as u64 >= limit {
            return Err(Errno::EAGAIN);
        }
        if index == timers.len() {
            timers.make_room(1).map_err(|_| Errno::EAGAIN)?;
            timers.push(None);
        }
        let id = i32::try_from(index).map_err(|_| Errno::EAGAIN)?;
        timers[index] = Some(Posix { timer: TimerRef::create(process, base, target(id))?, is_realtime });
        Ok(id)
    }

    /// The timer with an id, and whether absolute times are those of the wall clock; `EINVAL` if there is none.
    pub(crate) fn find(&self, id: i32) -> Result<(TimerRef, bool)> {
        let index = usize::try_from(id).map_err(|_| Errno::EINVAL)?;
        let found = self.posix.lock().get(index).copied().flatten().ok_or(Errno::EINVAL)?;
        Ok((found.timer, found.is_realtime))
    }

    /// Ends the timer with an id.
    pub(crate) fn delete(&self, id: i32) -> Result<()> {
        let index = usize::try_from(id).map_err(|_| Errno::EINVAL)?;
        let found = self.posix.lock().get_mut(index).and_then(Option::take).ok_or(Errno::EINVAL)?;
        found.timer.delete();
        Ok(())
    }

    /// Ends all timers that `timer_create` made.
    pub(crate) fn delete_all(&self) {
        let timers = core::mem::take(&mut *self.posix.lock());
        timers.iter().flatten().for_each(|posix| posix.timer.delete());
    }

    /// Ends all timers.
    pub(crate) fn end(&self) {
        self.delete_all();
        for interval in &self.interval {
            let timer = interval.lock().take();
            if let Some(timer) = timer {
                timer.delete();
            }
        }
    }

    /// An interval timer.
    pub(crate) fn interval(&self, process: &'static Process, which: Interval) -> Result<TimerRef> {
        let mut timer = self.interval[which as usize].lock();
        if let Some(timer) = *timer {
            return Ok(timer);
        }
        let (base, signo) = which.signal();
        let made = TimerRef::create(process, base, Target::Process(Info::kernel(signo)))?;
        *timer = Some(made);
        Ok(made)
    }
}
