// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Process 1, as programs see it: the kernel itself, whose child the program is.
//!
//! Programs rely on there being one: its id is what `getppid` returns, comes first in `/proc`, and may be asked about, but is
//! the superuser's. What is asked here is answered by `first_process` of `kernel/procfs` and by the calls that name processes.

use crate::credentials::Credentials;
use crate::process::Process;
use crate::{Errno, Result};

/// Its id, which no thread of a program has: it is that of the first CPU's idle thread.
pub const PID: u32 = 1;
/// Its name.
pub const NAME: &str = "hadal";

/// Whom an id of a process or thread means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// The calling process, by its id or by one of its threads'.
    Own,
    /// Process 1.
    First,
}

/// Whom an id means that is not 0; `ESRCH` if nobody has it.
pub fn named(process: &Process, id: i32) -> Result<Named> {
    match u32::try_from(id) {
        Ok(PID) => Ok(Named::First),
        Ok(id) if id == process.pid() || process.has_thread(id) => Ok(Named::Own),
        _ => Err(Errno::ESRCH),
    }
}

/// `EPERM` for a program that may not send process 1 a signal; from one that may, process 1 ignores all.
pub fn may_signal(credentials: &Credentials) -> Result<()> {
    let user = credentials.user();
    if user.real == 0 || user.effective == 0 { Ok(()) } else { Err(Errno::EPERM) }
}

/// CPU time that is neither the program's nor idle.
pub fn run_time_ns(process: &Process) -> u64 {
    let cpus = 0..hadal_hal::cpu::count();
    let now_ns = hadal_time::now_ns();
    let busy_ns: u64 = cpus.map(|cpu| now_ns.saturating_sub(hadal_sched::idle_time_ns(cpu))).sum();
    busy_ns.saturating_sub(process.run_time_ns())
}
