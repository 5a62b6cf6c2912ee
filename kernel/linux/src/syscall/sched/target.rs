// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The thread that a scheduling call is about.

use linux_raw_sys::general::{PRIO_PGRP, PRIO_PROCESS, PRIO_USER};

use crate::call::Call;
use crate::first::{self, Named};
use crate::task::Task;
use crate::{Errno, Result};

/// Whom argument 0 means.
pub(super) enum Target {
    /// A thread of the program.
    Own(&'static Task),
    /// Process 1, which has the default policy and may run anywhere.
    First,
}

impl Target {
    /// The program's thread; `EPERM` for process 1, which nobody may change.
    pub(super) fn own(self) -> Result<&'static Task> {
        match self {
            Self::Own(task) => Ok(task),
            Self::First => Err(Errno::EPERM),
        }
    }
}

/// Whom argument 0 means: 0 is the caller; `ESRCH` for an id that nobody has.
pub(super) fn find(call: &Call<'_>) -> Result<Target> {
    let tid = call.int(0);
    if tid == 0 {
        return Ok(Target::Own(call.task));
    }
    match first::named(call.process, tid) {
        Ok(Named::First) => Ok(Target::First),
        _ => u32::try_from(tid).ok().and_then(Task::of_any).map(Target::Own).ok_or(Errno::ESRCH),
    }
}

/// The same for the calls about policies, which refuse negative ids (`EINVAL`).
pub(super) fn find_positive(call: &Call<'_>) -> Result<Target> {
    if call.int(0) < 0 { Err(Errno::EINVAL) } else { find(call) }
}

/// Whose nice value arguments 0 and 1 mean: those of a process, a group or a user, 0 being the caller's own; `ESRCH` if nobody
/// is meant.
pub(super) fn find_nice(call: &Call<'_>) -> Result<Named> {
    let (which, who, process) = (call.uint(0), call.int(1), call.process);
    let real = process.credentials.user().real;
    match which {
        PRIO_PROCESS | PRIO_PGRP | PRIO_USER if who == 0 => Ok(Named::Own),
        PRIO_PROCESS => first::named(process, who),
        PRIO_PGRP if who as u32 == process.pid() => Ok(Named::Own),
        PRIO_PGRP if who as u32 == first::PID => Ok(Named::First),
        PRIO_USER if who as u32 == real => Ok(Named::Own),
        PRIO_PGRP | PRIO_USER => Err(Errno::ESRCH),
        _ => Err(Errno::EINVAL),
    }
}
