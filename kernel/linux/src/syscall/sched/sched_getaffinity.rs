// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `sched_getaffinity(2)`: the CPUs that a thread may run on; returns the bytes written.
//!
//! Honoured: any thread of any process.
//!
//! Refused: a buffer that is too small or not a multiple of 8 bytes (EINVAL).

use hadal_hal::cpu;
use hadal_hal::cpu::set::CpuSet;

use super::target;
use crate::call::Call;
use crate::strace::signature;
use crate::{Errno, Result, memory};

signature!(Int, Size, Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (len, everywhere) = (call.uint(1) as usize, CpuSet::first(cpu::count()).to_bytes());
    if len < everywhere.len() || !len.is_multiple_of(8) {
        return Err(Errno::EINVAL);
    }
    let affinity = target::find(call)?.task().and_then(|task| task.thread().affinity());
    let bytes = affinity.map_or(everywhere, |set| set.to_bytes());
    memory::write_bytes(call.arg(2), &bytes)?;
    Ok(bytes.len())
}
