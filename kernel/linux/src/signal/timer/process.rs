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

/// What `timer_create` made, by id.
struct Numbered {
    timers: Vec<Option<Posix>>,
    /// A bit for each id that is taken: the lowest free one is found 64 at a time.
    taken: Vec<u64>,
}

impl Numbered {
    const fn new() -> Self {
        Self { timers: Vec::new(), taken: Vec::new() }
    }

    fn lowest_free(&self) -> usize {
        let word = self.taken.iter().position(|&word| word != u64::MAX).unwrap_or(self.taken.len());
        word * 64 + self.taken.get(word).map_or(0, |word| word.trailing_ones() as usize)
    }

    /// Makes room for an id.
    fn reach(&mut self, index: usize) -> Result<()> {
        while self.timers.len() <= index {
            self.timers.make_room(1).map_err(|_| Errno::EAGAIN)?;
            self.taken.make_room(1).map_err(|_| Errno::EAGAIN)?;
            if self.timers.len().is_multiple_of(64) {
                self.taken.push(0);
            }
            self.timers.push(None);
        }
        Ok(())
    }

    /// Gives a free id, for which there is room, its timer.
    fn put(&mut self, index: usize, timer: Posix) {
        self.timers[index] = Some(timer);
        self.taken[index / 64] |= 1 << (index % 64);
    }

    fn take(&mut self, index: usize) -> Option<Posix> {
        let timer = self.timers.get_mut(index)?.take()?;
        self.taken[index / 64] &= !(1 << (index % 64));
        Some(timer)
    }
}

/// The timers of a process.
pub(crate) struct ProcessTimers {
    posix: SpinLock<Numbered>,
    /// Made when first used.
    interval: [SpinLock<Option<TimerRef>>; 3],
    /// The one that follows the limit of CPU time, made when there first is one.
    cpu_limit: SpinLock<Option<TimerRef>>,
}

impl ProcessTimers {
    pub(crate) const fn new() -> Self {
        Self {
            posix: SpinLock::ranked(Rank::ProcessTimers, Numbered::new()),
            interval: [const { SpinLock::ranked(Rank::ProcessTimers, None) }; 3],
            cpu_limit: SpinLock::ranked(Rank::ProcessTimers, None),
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
        let index = timers.lowest_free();
        if index as u64 >= limit {
            return Err(Errno::EAGAIN);
        }
        timers.reach(index)?;
        let id = i32::try_from(index).map_err(|_| Errno::EAGAIN)?;
        timers.put(index, Posix { timer: TimerRef::create(process, base, target(id))?, is_realtime });
        Ok(id)
    }

    /// The timer with an id, and whether absolute times are those of the wall clock; `EINVAL` if there is none.
    pub(crate) fn find(&self, id: i32) -> Result<(TimerRef, bool)> {
        let index = usize::try_from(id).map_err(|_| Errno::EINVAL)?;
        let found = self.posix.lock().timers.get(index).copied().flatten().ok_or(Errno::EINVAL)?;
        Ok((found.timer, found.is_realtime))
    }

    /// Ends the timer with an id.
    pub(crate) fn delete(&self, id: i32) -> Result<()> {
        let index = usize::try_from(id).map_err(|_| Errno::EINVAL)?;
        let found = self.posix.lock().take(index).ok_or(Errno::EINVAL)?;
        found.timer.delete();
        Ok(())
    }

    /// Ends all timers that `timer_create` made.
    pub(crate) fn delete_all(&self) {
        let numbered = core::mem::replace(&mut *self.posix.lock(), Numbered::new());
        numbered.timers.iter().flatten().for_each(|posix| posix.timer.delete());
    }

    /// Ends all timers.
    pub(crate) fn end(&self) {
        self.delete_all();
        for single in self.interval.iter().chain([&self.cpu_limit]) {
            let timer = single.lock().take();
            if let Some(timer) = timer {
                timer.delete();
            }
        }
    }

    /// An interval timer.
    pub(crate) fn interval(&self, process: &'static Process, which: Interval) -> Result<TimerRef> {
        let (base, signo) = which.signal();
        let create = || TimerRef::create(process, base, Target::Process(Info::kernel(signo)));
        found_or_made(&self.interval[which as usize], create)
    }

    /// The timer that follows the limit of CPU time.
    pub(super) fn cpu_limit(&self, create: impl FnOnce() -> Result<TimerRef>) -> Result<TimerRef> {
        found_or_made(&self.cpu_limit, create)
    }
}

fn found_or_made(
    single: &SpinLock<Option<TimerRef>>,
    create: impl FnOnce() -> Result<TimerRef>,
) -> Result<TimerRef> {
    let mut timer = single.lock();
    match *timer {
        Some(timer) => Ok(timer),
        None => Ok(*timer.insert(create()?)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::TimerName;
    use super::*;

    const ANY: TimerRef = TimerRef(TimerName { index: 0, generation: 0 });

    #[test]
    fn the_lowest_free_id_is_found() {
        let mut numbered = Numbered::new();
        let add = |numbered: &mut Numbered| {
            let index = numbered.lowest_free();
            assert_eq!(numbered.reach(index), Ok(()));
            numbered.put(index, Posix { timer: ANY, is_realtime: false });
            index
        };
        for index in 0..200 {
            assert_eq!(add(&mut numbered), index);
        }
        for index in [199, 64, 63, 0, 128] {
            assert!(numbered.take(index).is_some() && numbered.take(index).is_none());
        }
        assert!(numbered.take(200).is_none() && numbered.take(5000).is_none());
        for index in [0, 63, 64, 128, 199, 200] {
            assert_eq!(add(&mut numbered), index);
        }
    }
}
