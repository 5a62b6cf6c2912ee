// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `getrusage(2)`: what the process or the calling thread has used.
//!
//! Honoured: `RUSAGE_SELF`, `RUSAGE_THREAD`, `RUSAGE_CHILDREN` (those that were waited for, and theirs). Filled in are CPU time (all of it as the
//! program's own), the peak of resident memory, and page faults of the process. As on Linux the remaining fields that nobody
//! maintains are 0, and here so are block operations and context switches.
//!
//! Refused: other subjects (`EINVAL`).

use linux_raw_sys::general::{RUSAGE_CHILDREN, RUSAGE_SELF, RUSAGE_THREAD};

use crate::call::Call;
use crate::strace::signature;
use crate::usage::{Usage, Used};
use crate::{Errno, Result, memory};

signature!(Choice(flags::RUSAGE), Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    const THIS_PROCESS: i32 = RUSAGE_SELF as i32;
    const THIS_THREAD: i32 = RUSAGE_THREAD as i32;
    const CHILDREN: i32 = RUSAGE_CHILDREN;
    let usage = match call.int(0) {
        THIS_PROCESS => used(call, call.process.run_time_ns()),
        THIS_THREAD => used(call, call.task.thread().run_time_ns()),
        CHILDREN => call.process.family.used_by_children(),
        _ => return Err(Errno::EINVAL),
    };
    memory::write(call.arg(1), &Usage::from(usage))?;
    Ok(0)
}

fn used(call: &Call<'_>, run_time_ns: u64) -> Used {
    Used::new(run_time_ns, &call.process.space().stats())
}
