// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `times(2)`: CPU time of the process, and the time since boot, in hundredths of a second.
//!
//! Honoured: everything. CPU time is not split and counts as the program's own, or the children's.
//!
//! Refused: nothing.

use crate::call::Call;
use crate::strace::signature;
use crate::{Result, memory};

/// One tick of `sysconf(_SC_CLK_TCK)`.
const TICK_NS: u64 = 10_000_000;

signature!(Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    // Program, kernel, children's program, children's kernel.
    let used =
        [call.process.run_time_ns() / TICK_NS, 0, call.process.family.used_by_children().run_ns / TICK_NS, 0];
    memory::write_unless_null(call.arg(0), &used)?;
    Ok((hadal_time::now_ns() / TICK_NS) as usize)
}
