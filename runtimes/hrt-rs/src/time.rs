// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The monotonic clock: nanoseconds since boot.

use std::time::Duration;

use crate::error::{Error, Result};
use crate::ffi;

/// A point on the clock of [`now_ns`], in ns; [`FOREVER`] never passes.
pub type Deadline = u64;

/// A deadline that never passes.
pub const FOREVER: Deadline = ffi::FOREVER;

/// The time now, in ns.
#[must_use]
pub fn now_ns() -> u64 {
    ffi::hrt_rs_now_ns()
}

/// The deadline that passes after `duration`.
#[must_use]
pub fn after(duration: Duration) -> Deadline {
    now_ns().saturating_add(u64::try_from(duration.as_nanos()).unwrap_or(FOREVER))
}

/// Sleeps until the deadline.
///
/// # Errors
///
/// [`Error::Interrupted`] after a signal handler.
pub fn sleep_until(deadline: Deadline) -> Result<()> {
    crate::error::check(ffi::hrt_rs_thread_sleep_until(deadline))
}

/// Sleeps for `duration`, also over signal handlers.
pub fn sleep(duration: Duration) {
    let deadline = after(duration);
    while sleep_until(deadline) == Err(Error::Interrupted) {}
}
