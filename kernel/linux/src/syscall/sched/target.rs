// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The thread that a scheduling call is about.

use crate::call::Call;
use crate::family::{self, Held};
use crate::first;
use crate::process::Process;
use crate::task::Task;
use crate::{Errno, Result};

/// Whom argument 0 means.
pub(super) enum Target {
    /// A thread of the calling process.
    Own(&'static Task),
    /// A thread of another process.
    Other(Held, &'static Task),
    /// Process 1, which has the default policy and may run anywhere.
    First,
}

impl Target {
    /// The thread; `None` for process 1.
    pub(super) fn task(&self) -> Option<&'static Task> {
        match *self {
            Self::Own(task) | Self::Other(_, task) => Some(task),
            Self::First => None,
        }
    }

    /// Changes the thread; `EPERM` if it is process 1, which nobody may change, or of a process that the caller may not change,
    /// and `ESRCH` if it has ended: a thread that ends leaves its place to another one. `act` takes spin locks only.
    pub(super) fn change<T>(
        &self,
        call: &Call<'_>,
        act: impl FnOnce(&'static Task) -> Result<T>,
    ) -> Result<T> {
        let (process, task) = match self {
            Self::Own(task) => (call.process, task),
            Self::Other(process, task) if may_change(call.process, process) => (process.process(), task),
            Self::Other(..) | Self::First => return Err(Errno::EPERM),
        };
        process.with_thread(task.tid(), act).unwrap_or(Err(Errno::ESRCH))
    }
}

/// Whether a process may change how another one is scheduled.
pub(super) fn may_change(caller: &Process, other: &Process) -> bool {
    let (user, of_other) = (caller.credentials.effective().0, other.credentials.user());
    user == 0 || user == of_other.effective || user == of_other.real
}

/// Whom argument 0 means: 0 is the caller; `ESRCH` for an id that nobody has.
pub(super) fn find(call: &Call<'_>) -> Result<Target> {
    let tid = u32::try_from(call.int(0)).map_err(|_| Errno::ESRCH)?;
    match tid {
        0 => return Ok(Target::Own(call.task)),
        first::PID => return Ok(Target::First),
        _ => {}
    }
    if let Some(task) = Task::find(call.process, tid) {
        return Ok(Target::Own(task));
    }
    let process = family::find_held(tid).ok_or(Errno::ESRCH)?;
    let task = Task::find(&process, tid).ok_or(Errno::ESRCH)?;
    Ok(Target::Other(process, task))
}

/// The same for the calls about policies, which refuse negative ids (`EINVAL`).
pub(super) fn find_positive(call: &Call<'_>) -> Result<Target> {
    if call.int(0) < 0 { Err(Errno::EINVAL) } else { find(call) }
}
