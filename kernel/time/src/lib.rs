// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Time: the monotonic and the wall clock, and the queue of pending timers.
//!
//! [`init`] finds the frequency of the time-stamp counter and starts [`now_ns`] at zero; [`refine`], called
//! twice while the system runs, corrects a frequency that had to be measured in a hurry at boot.
//! [`realtime_ns`] is the monotonic clock plus an offset, from [`set_realtime_from_rtc`] or [`set_realtime`].
//! [`vvar`] shows the same clock to programs, so that their `clock_gettime` needs no system call.
//!
//! Everything that computes is pure and tested on the host: [`line`](mod@line) (counter to nanoseconds),
//! [`clock`] (publication to all CPUs), [`frequency`] (CPUID leaves), [`calibrate`] (measuring),
//! [`timer_queue`]. The scheduler owns one [`timer_queue::TimerQueue`] per CPU and arms the hardware timer
//! for its earliest deadline.
//!
//! On a host build (unit tests of the crates above) the clocks are those of the host and need no [`init`].
#![forbid(unsafe_code)]
#![cfg_attr(not(test), no_std)]

extern crate alloc;
#[cfg(all(not(target_os = "none"), not(test)))]
extern crate std;

pub mod calibrate;
pub mod clock;
pub mod frequency;
pub mod line;
mod system;
pub mod timer_queue;
pub mod vvar;

pub use system::{
    Calibration, Refinement, Search, Source, begin, duration_ns, hpet, init, now_ns, ns_at, realtime_ns,
    refine, set_realtime, set_realtime_from_rtc, start_over, tsc_at, tsc_hz,
};

/// Nanoseconds in a second.
pub const NS_PER_SECOND: u64 = 1_000_000_000;
