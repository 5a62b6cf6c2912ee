// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Marks in traces.

/// Longest text of a mark.
pub const TRACE_TEXT_BYTES: usize = 16;
