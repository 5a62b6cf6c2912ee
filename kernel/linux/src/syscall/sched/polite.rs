// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whose nice values a call is about.

use linux_raw_sys::general::{PRIO_PGRP, PRIO_PROCESS, PRIO_USER};

use crate::call::Call;
use crate::family::{self, Held};
use crate::first;
use crate::process::Process;
use crate::{Errno, Result};

/// What `getpriority` returns for a nice value of 0: so no result is negative.
pub(super) const NICE_ZERO: i32 = 20;

/// Shows `look` the threads that arguments 0 and 1 mean, each with its process: one thread, or those of a group's or a user's
/// processes, 0 being the caller's own; and `None` for process 1. `ESRCH` if nobody is meant.
pub(super) fn each(call: &Call<'_>, mut look: impl FnMut(Option<(&Process, u32)>)) -> Result<()> {
    let (which, caller) = (call.uint(0), call.process);
    let who = u32::try_from(call.int(1)).map_err(|_| Errno::ESRCH);
    match (which, who) {
        (PRIO_PROCESS, Ok(0)) => look(Some((caller, call.task.tid()))),
        (PRIO_PROCESS | PRIO_PGRP, Ok(first::PID)) => look(None),
        (PRIO_PROCESS, Ok(tid)) if caller.has_thread(tid) => look(Some((caller, tid))),
        (PRIO_PROCESS, Ok(tid)) => {
            let process =
                family::find_held(tid).filter(|process| process.has_thread(tid)).ok_or(Errno::ESRCH)?;
            look(Some((&process, tid)));
        }
        (PRIO_PGRP, Ok(group)) => {
            let group = if group == 0 { family::group_and_session(caller).0 } else { group };
            return each_of(|process| family::group_and_session(process).0 == group, look);
        }
        (PRIO_USER, _) => {
            let user = if call.int(1) == 0 { caller.credentials.user().real } else { call.uint(1) };
            return each_of(|process| process.credentials.user().real == user, look);
        }
        (PRIO_PROCESS | PRIO_PGRP, Err(error)) => return Err(error),
        _ => return Err(Errno::EINVAL),
    }
    Ok(())
}

/// Shows `look` the threads of all processes that fit.
fn each_of(fits: impl Fn(&Process) -> bool, mut look: impl FnMut(Option<(&Process, u32)>)) -> Result<()> {
    let mut found = false;
    for process in family::all().filter_map(Held::of).filter(|process| fits(process)) {
        for tid in process.thread_ids() {
            found = true;
            look(Some((&process, tid)));
        }
    }
    if found { Ok(()) } else { Err(Errno::ESRCH) }
}
