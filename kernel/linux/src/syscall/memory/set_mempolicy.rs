// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `set_mempolicy(2)`: says where the memory comes from that the calling thread touches first.
//!
//! Honoured: `MPOL_DEFAULT`, `MPOL_PREFERRED`, `MPOL_BIND`, `MPOL_INTERLEAVE`, `MPOL_LOCAL`, `MPOL_PREFERRED_MANY`;
//! `MPOL_F_STATIC_NODES`, `MPOL_F_RELATIVE_NODES`; `MPOL_F_NUMA_BALANCING` is accepted as a hint. New threads inherit it. Pages of
//! files that are shared come from the zone of the CPU.
//!
//! Refused: `MPOL_WEIGHTED_INTERLEAVE` and unknown modes (`EINVAL`).

use crate::Result;
use crate::call::Call;
use crate::numa;
use crate::strace::signature;

signature!(Int, Address, Size);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let nodes = numa::read_nodes(call.arg(1), call.arg(2))?;
    call.task.set_altered(true);
    numa::set_of_thread(call.task, numa::policy(call.uint(0), nodes)?);
    Ok(0)
}
