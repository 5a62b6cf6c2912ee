// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The structures that set timers.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::Result;
use crate::clock::{Timespec, Timeval};
use crate::signal::timer::Setting;

/// `struct itimerspec`.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub(in crate::syscall) struct TimerSpec {
    interval: Timespec,
    value: Timespec,
}

impl TimerSpec {
    /// (value, interval) in nanoseconds.
    pub(in crate::syscall) fn to_ns(self) -> Result<(u64, u64)> {
        Ok((self.value.to_ns()?, self.interval.to_ns()?))
    }
}

impl From<Setting> for TimerSpec {
    fn from(setting: Setting) -> Self {
        Self {
            interval: Timespec::from_ns(setting.interval_ns),
            value: Timespec::from_ns(setting.remaining_ns),
        }
    }
}

/// `struct itimerval`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub(super) struct IntervalSpec {
    interval: Timeval,
    value: Timeval,
}

impl IntervalSpec {
    /// (value, interval) in nanoseconds.
    pub(super) fn to_ns(self) -> Result<(u64, u64)> {
        Ok((self.value.to_ns()?, self.interval.to_ns()?))
    }
}

impl From<Setting> for IntervalSpec {
    /// A timer that is about to expire is not shown as off.
    fn from(setting: Setting) -> Self {
        const MICROSECOND: u64 = 1000;
        let remaining = if setting.remaining_ns == 0 { 0 } else { setting.remaining_ns.max(MICROSECOND) };
        Self { interval: Timeval::from_ns(setting.interval_ns), value: Timeval::from_ns(remaining) }
    }
}
