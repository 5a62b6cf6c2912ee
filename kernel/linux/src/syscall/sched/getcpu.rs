// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `getcpu(2)`: the CPU and NUMA node that the caller runs on.
//!
//! Honoured: both results; the third argument is unused as on Linux.
//!
//! Refused: nothing.

use hadal_hal::cpu;
use hadal_mem::frames;

use crate::Result;
use crate::call::Call;
use crate::memory;
use crate::strace::signature;

signature!(Address, Address, Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let cpu = cpu::current_id();
    let node = u32::from(frames::global().cpu_zone(cpu).0);
    memory::write_unless_null(call.arg(0), &(cpu as u32))?;
    memory::write_unless_null(call.arg(1), &node)?;
    Ok(0)
}
