// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Trace points: one line where something happens. The recorder is the crate `hadal-trace`.

pub use hadal_trace::{
    ALL_BUT_SELF, ENABLED, Kind, Left, TIMER_CALLS, TIMER_WAKES, enabled_bits, pair, text_words,
};

use crate::cpu::{percpu, tsc};
use crate::threads::context;

/// Whether the trace is recording.
#[inline(always)]
pub fn enabled() -> bool {
    hadal_trace::enabled()
}

/// Records that something happened on this CPU, in the running thread. One load and a branch while recording is off.
#[inline(always)]
pub fn point(kind: Kind, a: u64, b: u64) {
    if hadal_trace::enabled() {
        record(kind, context::running_id(), a, b);
    }
}

/// Records something about another thread than the running one.
#[inline(always)]
pub fn point_of(thread: u32, kind: Kind, a: u64, b: u64) {
    if hadal_trace::enabled() {
        record(kind, thread, a, b);
    }
}

#[cold]
fn record(kind: Kind, thread: u32, a: u64, b: u64) {
    hadal_trace::record(percpu::cpu_id(), tsc::read(), thread, kind, [a, b]);
}
