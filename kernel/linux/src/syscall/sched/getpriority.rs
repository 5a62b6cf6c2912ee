// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `getpriority(2)`: the lowest nice value of those who are meant; the call returns 20 minus that.
//!
//! Honoured: PRIO_PROCESS (a thread, by its id), PRIO_PGRP, PRIO_USER.
//!
//! Refused: threads, groups and users that are not there (ESRCH), unknown kinds (EINVAL).

use super::polite::{self, NICE_ZERO};
use crate::call::Call;
use crate::strace::signature;
use crate::{Errno, Result};

signature!(Int, Int);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let mut best = None;
    polite::each(call, |thread| {
        // Process 1 has the value that every process begins with.
        let nice =
            thread.map_or(Some(0), |(process, tid)| process.with_thread(tid, |task| task.schedule.nice()));
        best = best.into_iter().chain(nice).min();
    })?;
    best.map(|nice: i32| (NICE_ZERO - nice) as usize).ok_or(Errno::ESRCH)
}
