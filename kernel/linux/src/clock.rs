// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Clocks as programs name them (clock_getres(2)), and the time structures of system calls.
//!
//! A clock id is one of Linux's constants, or a negative number that names the CPU time of a process or thread.

use hadal_time::NS_PER_SECOND;
use linux_raw_sys::general;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::family;
use crate::first;
use crate::process::Process;
use crate::task::Task;
use crate::{Errno, Result};

const REALTIME: i32 = general::CLOCK_REALTIME as i32;
const MONOTONIC: i32 = general::CLOCK_MONOTONIC as i32;
const PROCESS_TIME: i32 = general::CLOCK_PROCESS_CPUTIME_ID as i32;
const THREAD_TIME: i32 = general::CLOCK_THREAD_CPUTIME_ID as i32;
const MONOTONIC_RAW: i32 = general::CLOCK_MONOTONIC_RAW as i32;
const REALTIME_COARSE: i32 = general::CLOCK_REALTIME_COARSE as i32;
const MONOTONIC_COARSE: i32 = general::CLOCK_MONOTONIC_COARSE as i32;
const BOOTTIME: i32 = general::CLOCK_BOOTTIME as i32;
const REALTIME_ALARM: i32 = general::CLOCK_REALTIME_ALARM as i32;
const BOOTTIME_ALARM: i32 = general::CLOCK_BOOTTIME_ALARM as i32;
const TAI: i32 = general::CLOCK_TAI as i32;

/// Longest time that a program can give or get, in nanoseconds: about 292 years, as on Linux.
pub const FOREVER_NS: u64 = i64::MAX as u64;

/// What a clock shows.
#[derive(Clone, Copy)]
pub enum Clock {
    /// Time since 1970.
    Realtime,
    /// Time since boot.
    Monotonic,
    /// CPU time of all threads of the calling process.
    ProcessTime,
    /// CPU time of one thread.
    ThreadTime(&'static Task),
    /// CPU time of another process when it was asked for, in nanoseconds.
    OtherTime(u64),
}

impl Clock {
    /// The clock with an id; `EINVAL` if there is none.
    pub fn from_id(id: i32, task: &'static Task, process: &Process) -> Result<Self> {
        match id {
            REALTIME | REALTIME_COARSE | REALTIME_ALARM | TAI => Ok(Self::Realtime),
            MONOTONIC | MONOTONIC_RAW | MONOTONIC_COARSE | BOOTTIME | BOOTTIME_ALARM => Ok(Self::Monotonic),
            PROCESS_TIME => Ok(Self::ProcessTime),
            THREAD_TIME => Ok(Self::ThreadTime(task)),
            _ if id < 0 => Self::from_owner(id, task, process),
            _ => Err(Errno::EINVAL),
        }
    }

    /// The clock with an id, if time can be waited for on it: `EOPNOTSUPP` for the raw and the coarse ones.
    pub fn for_waiting(id: i32, task: &'static Task, process: &Process) -> Result<Self> {
        match id {
            MONOTONIC_RAW | REALTIME_COARSE | MONOTONIC_COARSE | REALTIME_ALARM | BOOTTIME_ALARM => {
                Err(Errno::EOPNOTSUPP)
            }
            _ => Self::from_id(id, task, process),
        }
    }

    /// CPU time by owner: the complement of a thread or process id, then "of a thread", then two bits for the kind of time.
    fn from_owner(id: i32, task: &'static Task, process: &Process) -> Result<Self> {
        const OF_THREAD: i32 = 4;
        const KIND: i32 = 3;
        const FILE_CLOCK: i32 = 3;
        if id & KIND == FILE_CLOCK {
            return Err(Errno::EINVAL);
        }
        let owner = !(id >> 3) as u32;
        if id & OF_THREAD == 0 {
            return match owner {
                first::PID => Ok(Self::OtherTime(first::run_time_ns(process))),
                _ if owner == 0 || owner == process.pid() => Ok(Self::ProcessTime),
                _ => family::find_held(owner)
                    .filter(|other| other.pid() == owner)
                    .map(|other| Self::OtherTime(other.run_time_ns()))
                    .ok_or(Errno::EINVAL),
            };
        }
        if owner == 0 {
            return Ok(Self::ThreadTime(task));
        }
        Task::find(process, owner).map(Self::ThreadTime).ok_or(Errno::EINVAL)
    }

    /// What it shows, in nanoseconds.
    pub fn now_ns(self, process: &Process) -> u64 {
        match self {
            Self::Realtime => hadal_time::realtime_ns().max(0) as u64,
            Self::Monotonic => hadal_time::now_ns(),
            Self::ProcessTime => process.run_time_ns(),
            Self::ThreadTime(task) => task.thread().run_time_ns(),
            Self::OtherTime(run_ns) => run_ns,
        }
    }
}

/// The monotonic time at which the wall clock shows `realtime_ns`. It is never set while a program runs.
pub fn monotonic_at(realtime_ns: u64) -> u64 {
    let ahead = i128::from(realtime_ns) - i128::from(hadal_time::realtime_ns());
    let at = i128::from(hadal_time::now_ns()) + ahead;
    at.clamp(0, FOREVER_NS.into()) as u64
}

/// The monotonic time after a delay.
pub fn after(delay_ns: u64) -> u64 {
    hadal_time::now_ns().saturating_add(delay_ns).min(FOREVER_NS)
}

/// A deadline for a wait: `None` for one that never comes.
pub fn deadline(at_ns: u64) -> Option<u64> {
    (at_ns < FOREVER_NS).then_some(at_ns)
}

/// `struct timespec`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

impl Timespec {
    /// From nanoseconds.
    pub fn from_ns(ns: u64) -> Self {
        Self { seconds: (ns / NS_PER_SECOND) as i64, nanoseconds: (ns % NS_PER_SECOND) as i64 }
    }

    /// In nanoseconds, at most [`FOREVER_NS`]; `EINVAL` for a negative time or too many nanoseconds.
    pub fn to_ns(self) -> Result<u64> {
        let seconds = u64::try_from(self.seconds).map_err(|_| Errno::EINVAL)?;
        match u64::try_from(self.nanoseconds) {
            Ok(part) if part < NS_PER_SECOND => {
                Ok(seconds.saturating_mul(NS_PER_SECOND).saturating_add(part).min(FOREVER_NS))
            }
            _ => Err(Errno::EINVAL),
        }
    }
}

/// `struct timeval`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Timeval {
    seconds: i64,
    microseconds: i64,
}

impl Timeval {
    /// From nanoseconds, rounded down.
    pub fn from_ns(ns: u64) -> Self {
        Self { seconds: (ns / NS_PER_SECOND) as i64, microseconds: (ns % NS_PER_SECOND / 1000) as i64 }
    }

    /// In nanoseconds, at most [`FOREVER_NS`]; `EINVAL` for a negative time or too many microseconds.
    pub fn to_ns(self) -> Result<u64> {
        let nanoseconds = self.microseconds.checked_mul(1000).ok_or(Errno::EINVAL)?;
        Timespec { seconds: self.seconds, nanoseconds }.to_ns()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timespec(seconds: i64, nanoseconds: i64) -> Result<u64> {
        Timespec { seconds, nanoseconds }.to_ns()
    }

    #[test]
    fn times_are_checked() {
        assert_eq!(timespec(1, 5), Ok(1_000_000_005));
        assert_eq!(timespec(i64::MAX, 999_999_999), Ok(FOREVER_NS));
        for (seconds, nanoseconds) in [(-1, 0), (0, -1), (0, 1_000_000_000), (0, i64::MIN)] {
            assert_eq!(timespec(seconds, nanoseconds), Err(Errno::EINVAL));
        }
        assert_eq!(Timeval { seconds: 2, microseconds: 999_999 }.to_ns(), Ok(2_999_999_000));
        assert_eq!(Timeval { seconds: 0, microseconds: i64::MAX }.to_ns(), Err(Errno::EINVAL));
        assert_eq!(Timeval { seconds: 0, microseconds: 1_000_000 }.to_ns(), Err(Errno::EINVAL));
    }

    #[test]
    fn times_go_back_and_forth() {
        for ns in [0, 999_999_999, 1_000_000_000, 123_456_789_012] {
            assert_eq!(Timespec::from_ns(ns).to_ns(), Ok(ns));
        }
        assert_eq!(Timeval::from_ns(1_000_001_999), Timeval { seconds: 1, microseconds: 1 });
    }

    #[test]
    fn wall_clock_deadlines() {
        assert_eq!(monotonic_at(0), 0, "the past");
        assert_eq!(monotonic_at(u64::MAX), FOREVER_NS);
        assert_eq!(deadline(FOREVER_NS), None);
        assert!(after(u64::MAX) == FOREVER_NS);
    }
}
