// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The refusals that calls share which make a process, or another program of one.

use core::sync::atomic::{AtomicBool, Ordering};

use alloc::format;

use crate::call::Call;
use crate::{Errno, Result, machine};

/// Says once, in words, why the program gets `ENOSYS`.
pub(super) fn refuse(call: &Call<'_>, name: &str, why: &str) -> Result<usize> {
    static SAID: AtomicBool = AtomicBool::new(false);
    if !SAID.swap(true, Ordering::Relaxed) {
        machine::get().report(&format!(
            "hadal: {}: {name} is not there: {why}\n",
            call.process.program().executable.escape_ascii()
        ));
    }
    Err(Errno::ENOSYS)
}

/// Refuses to copy or replace a program that has made what the kernel keeps until the machine ends.
pub(super) fn must_leave_nothing(call: &Call<'_>, name: &str) -> Result<()> {
    if !machine::get().outlives_program() {
        return Ok(());
    }
    refuse(
        call,
        name,
        "the program, or Hadal's OpenMP run-time in it, has made threads, keys, events, timers or handlers by hadal/hrt.h, which \
         stay until the machine ends. Start other programs with `hadal run`, or keep the program's own OpenMP run-time: --omp=system",
    )
    .map(drop)
}
