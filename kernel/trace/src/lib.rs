// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The recorder behind all trace points: one [`ring::Ring`] per CPU and one switch for all.
//!
//! This crate is below the hardware layer, so that the hardware layer has trace points, too; `hal::trace::point` is what
//! they call, and what adds CPU, thread and time. While recording is off, a trace point is one load and a branch that is not
//! taken.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), no_std)]

extern crate alloc;

pub mod pace;
pub mod ring;
pub mod stacks;

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicUsize, Ordering};

pub use hadal_abi::trace::{ALL_BUT_SELF, Kind, Left, TIMER_CALLS, TIMER_WAKES, pair, text_words};

use hadal_abi::trace::RECORD_LEN;
use spin::Once;

use crate::ring::Ring;

/// What [`enabled`] reads, 0 or 1, for programs that look themselves (at its first byte, a `bool`); [`set_enabled`] is what
/// writes it.
pub static ENABLED: AtomicUsize = AtomicUsize::new(0);
static RINGS: Once<Box<[Ring]>> = Once::new();

/// There is no memory for the rings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoMemory;

/// Makes a ring for each CPU, once; the size is rounded down to a power of two of records. Later calls change nothing.
pub fn prepare(cpus: usize, bytes_per_cpu: usize) -> Result<(), NoMemory> {
    if RINGS.is_completed() {
        return Ok(());
    }
    let mut rings = Vec::new();
    rings.try_reserve_exact(cpus).map_err(|_| NoMemory)?;
    for _ in 0..cpus {
        rings.push(Ring::new(bytes_per_cpu / RECORD_LEN).ok_or(NoMemory)?);
    }
    RINGS.call_once(|| rings.into_boxed_slice());
    Ok(())
}

/// Whether trace points record.
#[inline(always)]
pub fn enabled() -> bool {
    ENABLED.load(Ordering::Relaxed) != 0
}

/// 0 while trace points do not record; to be looked at together with other words, by one branch for all.
#[inline(always)]
pub fn enabled_bits() -> usize {
    ENABLED.load(Ordering::Relaxed)
}

/// Turns all trace points on or off and returns whether they are on now: without [`prepare`] they stay off. Records that
/// other CPUs are about to make may still come after they were turned off.
pub fn set_enabled(enabled: bool) -> bool {
    let on = enabled && RINGS.is_completed();
    ENABLED.store(usize::from(on), Ordering::SeqCst);
    on
}

/// Adds a record to the ring of a CPU: the calling one, or any other (which costs the two CPUs a cache miss).
pub fn record(cpu: usize, time: u64, thread: u32, kind: Kind, words: [u64; 2]) {
    if let Some(ring) = rings().get(cpu) {
        ring.push(time, kind, thread, words);
    }
}

/// The rings in the order of their CPUs; none before [`prepare`].
pub fn rings() -> &'static [Ring] {
    RINGS.get().map_or(&[], |rings| rings)
}
