// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `sched_setaffinity(2)`: the CPUs that a thread may run on. The caller has moved when the call returns.
//!
//! Honoured: masks of any length, any thread of a process of the same user, or of any for the superuser.
//!
//! Refused: a mask without a CPU of this machine (EINVAL), process 1 and other users' processes (EPERM), unknown threads (ESRCH).

use hadal_hal::cpu;
use hadal_hal::cpu::set::CpuSet;
use hadal_hal::memory::fallible;

use super::target;
use crate::call::Call;
use crate::strace::signature;
use crate::{Errno, Result, memory};

/// Longer masks are read up to here: more CPUs than any machine has.
const MASK_MAX: usize = 8192;

signature!(Int, Size, Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let mut mask = memory::buffer(call.arg(1).min(MASK_MAX))?;
    memory::read_bytes(call.arg(2), &mut mask)?;
    let target = target::find(call)?;
    // Before the mask is looked at.
    target.change(call, |_| Ok(()))?;
    let count = cpu::count();
    let set = CpuSet::from_bytes(&mask, count);
    if set.is_empty() {
        return Err(Errno::EINVAL);
    }
    let everywhere = set.len() == count;
    let set = if everywhere { None } else { Some(fallible::arc(set)?) };
    let thread = target.change(call, |task| {
        hadal_sched::note_affinity(task.thread(), set);
        Ok(task.thread())
    })?;
    hadal_sched::apply_affinity(thread);
    Ok(0)
}
