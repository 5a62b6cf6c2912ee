// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The refusal that all calls share which need a second address space or program.

use core::sync::atomic::{AtomicBool, Ordering};

use alloc::format;

use crate::call::Call;
use crate::{Errno, Result, machine};

/// Says once, in words, why the program gets `ENOSYS`.
pub(super) fn refuse(call: &Call<'_>, name: &str, why: &str) -> Result<usize> {
    static SAID: AtomicBool = AtomicBool::new(false);
    if !SAID.swap(true, Ordering::Relaxed) {
        machine::get().report(&format!(
            "hadal: {}: {name} is not there for a program in the kernel's address space: {why}\n",
            call.process.program().executable.escape_ascii()
        ));
    }
    Err(Errno::ENOSYS)
}

/// Why there is no `fork`.
pub(super) const NO_COPY: &str = "it would need a copy of the address space, which comes with the isolated mode of a later version. Threads work; for several processes run the program on Linux";
/// Why there is no `vfork`.
pub(super) const NO_SECOND: &str =
    "one machine runs one program at a time for now. Start the other program with `hadal run`";

/// Refuses to replace a program that has made what the kernel keeps until the machine ends.
pub(super) fn must_leave_nothing(call: &Call<'_>, name: &str) -> Result<()> {
    if !machine::get().outlives_program() {
        return Ok(());
    }
    refuse(
        call,
        name,
        "it has made threads, keys, events, timers or handlers by hadal/hrt.h, which stay until the machine ends. \
         Start the other program with `hadal run`",
    )
    .map(drop)
}
