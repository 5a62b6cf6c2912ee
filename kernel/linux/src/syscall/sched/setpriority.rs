// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `setpriority(2)`: sets the nice value. A thread that is nicer than others on its CPU gets shorter turns there, each step by a
//! factor of 1.25, down to a sixteenth; one with a negative value longer ones, up to eight times as long. Real-time threads do not.
//!
//! Honoured: PRIO_PROCESS (a thread, by its id), PRIO_PGRP, PRIO_USER, for processes of the same user, or of any for the
//! superuser; a value that there is not becomes the nearest; a lower value than the present one as far as RLIMIT_NICE permits, or
//! for the superuser.
//!
//! Refused: lower values without that right (EACCES), process 1 and other users' processes (EPERM), threads, groups and users
//! that are not there (ESRCH), unknown kinds (EINVAL).

use linux_raw_sys::general::RLIMIT_NICE;

use super::polite::{self, NICE_ZERO};
use super::target::may_change;
use crate::call::Call;
use crate::process::Process;
use crate::schedule::NICE;
use crate::strace::signature;
use crate::task::Task;
use crate::{Errno, Result};

signature!(Int, Int, Int);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let nice = call.int(2).clamp(*NICE.start(), *NICE.end());
    let mut outcome = Ok(0);
    polite::each(call, |thread| {
        let changed = thread.ok_or(Errno::EPERM);
        if let Err(error) = changed.and_then(|(process, tid)| change(call.process, process, tid, nice)) {
            outcome = Err(error);
        }
    })?;
    outcome
}

fn change(caller: &Process, process: &Process, tid: u32, nice: i32) -> Result<()> {
    if !may_change(caller, process) {
        return Err(Errno::EPERM);
    }
    // The limit says how far below 20 a value may be.
    let limit = process.limits.lock()[RLIMIT_NICE as usize].soft;
    let may_lower =
        caller.credentials.is_privileged() || u64::from((NICE_ZERO - nice).cast_unsigned()) <= limit;
    let set = |task: &'static Task| {
        if nice < task.schedule.nice() && !may_lower {
            return Err(Errno::EACCES);
        }
        task.schedule.set_nice(task.thread(), nice);
        Ok(())
    };
    // One that has ended meanwhile needs no value.
    process.with_thread(tid, set).unwrap_or(Ok(()))
}
