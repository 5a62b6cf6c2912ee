// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `sched_getaffinity(2)`: the CPUs that a thread may run on; returns the bytes written.
//!
//! Honoured: any thread of the process.
//!
//! Refused: a buffer that is too small or not a multiple of 8 bytes (EINVAL).

use hadal_hal::cpu;
use hadal_hal::cpuset::CpuSet;

use super::target::target;
use crate::call::Call;
use crate::{Errno, Result, memory};

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let task = target(call)?;
    let bytes = match task.thread().affinity() {
        Some(set) => set.to_bytes(),
        None => CpuSet::first(cpu::count()).to_bytes(),
    };
    let len = call.arg(1);
    if len < bytes.len() || !len.is_multiple_of(8) {
        return Err(Errno::EINVAL);
    }
    memory::write_bytes(call.arg(2), &bytes)?;
    Ok(bytes.len())
}
