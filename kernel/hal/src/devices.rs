// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Devices of the platform: timers, the real-time clock, the serial line.

pub mod hpet;
pub mod pit;
pub mod rtc;
pub mod serial;
