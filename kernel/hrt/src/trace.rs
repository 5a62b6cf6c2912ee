// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Marks of the program in traces.

use hadal_hal::trace::{self, Kind};

pub(crate) use hadal_hal::trace::ENABLED;

/// `trace_mark`.
pub(crate) extern "C" fn mark(first: u64, second: u64) {
    trace::point(Kind::Mark, first, second);
}
