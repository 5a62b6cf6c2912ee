// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `prctl(2)`: attributes of a thread or a process.
//!
//! Honoured: `PR_SET_NAME`, `PR_GET_NAME`; `PR_SET_DUMPABLE`, `PR_GET_DUMPABLE` (nobody dumps either way);
//! `PR_SET_PDEATHSIG`, `PR_GET_PDEATHSIG` (that of the machine's program is Hadal's command, which takes the machine with it when it dies);
//! `PR_SET_CHILD_SUBREAPER`, `PR_GET_CHILD_SUBREAPER`; `PR_SET_NO_NEW_PRIVS`, `PR_GET_NO_NEW_PRIVS` (nothing grants rights); `PR_SET_TIMERSLACK`, `PR_GET_TIMERSLACK` (timers are
//! never delayed on purpose, whatever the slack: it reads as 1 ns); `PR_GET_TID_ADDRESS`; `PR_CAPBSET_READ` (no capability
//! is there); `PR_GET_SECCOMP`, `PR_GET_KEEPCAPS`, `PR_GET_SECUREBITS` (0); `PR_GET_TSC` (enabled); `PR_GET_THP_DISABLE` (0) and
//! `PR_SET_THP_DISABLE` with 0.
//!
//! Refused: everything else (`EINVAL`), as by a Linux that does not know the option: `PR_SET_VMA`, `PR_SET_SECCOMP`,
//! `PR_SET_THP_DISABLE` with 1, `PR_SET_MM`, `PR_CAPBSET_DROP` and others.

use core::sync::atomic::Ordering;

use linux_raw_sys::general::CAP_LAST_CAP;
use linux_raw_sys::prctl::{
    PR_CAPBSET_READ, PR_GET_CHILD_SUBREAPER, PR_GET_DUMPABLE, PR_GET_KEEPCAPS, PR_GET_NAME,
    PR_GET_NO_NEW_PRIVS, PR_GET_PDEATHSIG, PR_GET_SECCOMP, PR_GET_SECUREBITS, PR_GET_THP_DISABLE,
    PR_GET_TID_ADDRESS, PR_GET_TIMERSLACK, PR_GET_TSC, PR_SET_CHILD_SUBREAPER, PR_SET_DUMPABLE, PR_SET_NAME,
    PR_SET_NO_NEW_PRIVS, PR_SET_PDEATHSIG, PR_SET_THP_DISABLE, PR_SET_TIMERSLACK, PR_TSC_ENABLE,
};

use crate::call::Call;
use crate::signal::number;
use crate::strace::signature;
use crate::task::NAME_LEN;
use crate::{Errno, Result, memory};

/// What `PR_GET_TIMERSLACK` says, in nanoseconds.
const TIMER_SLACK_NS: usize = 1;

signature!(Choice(flags::PRCTL), Hex, Hex, Hex, Hex);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let value = call.arg(1);
    let rest_is_zero = call.arg(2) == 0 && call.arg(3) == 0 && call.arg(4) == 0;
    let attributes = &call.process.attributes;
    match call.uint(0) {
        PR_SET_NAME => set_name(call),
        PR_GET_NAME => memory::write(value, &call.task.name()).map(|()| 0),
        PR_SET_DUMPABLE if value <= 1 => {
            attributes.dumpable.store(value as u8, Ordering::Relaxed);
            Ok(0)
        }
        PR_GET_DUMPABLE => Ok(attributes.dumpable.load(Ordering::Relaxed).into()),
        PR_SET_PDEATHSIG if value <= usize::from(number::COUNT) => {
            attributes.parent_death_signal.store(value as u8, Ordering::Relaxed);
            Ok(0)
        }
        PR_GET_PDEATHSIG => {
            let signo = i32::from(attributes.parent_death_signal.load(Ordering::Relaxed));
            memory::write(value, &signo).map(|()| 0)
        }
        PR_SET_CHILD_SUBREAPER => {
            attributes.is_subreaper.store(value != 0, Ordering::Relaxed);
            Ok(0)
        }
        PR_GET_CHILD_SUBREAPER => {
            let is_subreaper = i32::from(attributes.is_subreaper.load(Ordering::Relaxed));
            memory::write(value, &is_subreaper).map(|()| 0)
        }
        PR_SET_NO_NEW_PRIVS if value == 1 && rest_is_zero => {
            attributes.no_new_rights.store(1, Ordering::Relaxed);
            Ok(0)
        }
        PR_GET_NO_NEW_PRIVS if value == 0 && rest_is_zero => {
            Ok(attributes.no_new_rights.load(Ordering::Relaxed).into())
        }
        PR_SET_TIMERSLACK => Ok(0),
        PR_GET_TIMERSLACK => Ok(TIMER_SLACK_NS),
        PR_GET_TID_ADDRESS => {
            memory::write(value, &call.task.clear_child_tid.load(Ordering::Relaxed)).map(|()| 0)
        }
        PR_CAPBSET_READ if value <= CAP_LAST_CAP as usize => Ok(0),
        PR_GET_SECCOMP | PR_GET_KEEPCAPS | PR_GET_SECUREBITS => Ok(0),
        PR_GET_TSC => memory::write(value, &PR_TSC_ENABLE).map(|()| 0),
        PR_SET_THP_DISABLE | PR_GET_THP_DISABLE if value == 0 && rest_is_zero => Ok(0),
        _ => Err(Errno::EINVAL),
    }
}

fn set_name(call: &Call<'_>) -> Result<usize> {
    let mut name = [0; NAME_LEN];
    // A longer name is cut off, and what lies behind the end of the string need not be readable.
    for (index, byte) in name[..NAME_LEN - 1].iter_mut().enumerate() {
        *byte = memory::read(call.arg(1).wrapping_add(index))?;
        if *byte == 0 {
            break;
        }
    }
    call.task.rename(name);
    Ok(0)
}
