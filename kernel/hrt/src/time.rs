// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The clock.

/// `now_ns`: nanoseconds since boot.
pub(crate) extern "C" fn now_ns() -> u64 {
    hadal_time::now_ns()
}
