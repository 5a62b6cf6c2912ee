// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `get_mempolicy(2)`: tells the policy of the calling thread or of an address, or where a page is.
//!
//! Honoured: `MPOL_F_ADDR`, `MPOL_F_NODE` (with an address the page is touched, as on Linux), `MPOL_F_MEMS_ALLOWED`.
//!
//! Refused: nothing; other flags are `EINVAL`.

use hadal_mem::frames;
use hadal_mem::space::{FaultAccess, FaultOutcome, Mode};

use crate::call::Call;
use crate::strace::signature;
use crate::{Errno, Result, memory, numa};

/// `MPOL_F_NODE`.
const NODE: u32 = 1;
/// `MPOL_F_ADDR`.
const ADDRESS: u32 = 2;
/// `MPOL_F_MEMS_ALLOWED`.
const ALLOWED: u32 = 4;

signature!(Address, Address, Size, Address, Hex);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (mode, mask, max_node) = (call.arg(0), call.arg(1), call.arg(2));
    if mask != 0 && max_node < frames::global().zone_count() {
        return Err(Errno::EINVAL);
    }
    let (word, nodes) = answer(call, call.arg(3), call.uint(4))?;
    memory::write_unless_null(mode, &word)?;
    if mask != 0 {
        numa::write_nodes(mask, max_node, nodes)?;
    }
    Ok(0)
}

/// Mode or node, and a set of nodes.
fn answer(call: &Call<'_>, address: usize, flags: u32) -> Result<(u32, u64)> {
    if flags & !(NODE | ADDRESS | ALLOWED) != 0 {
        return Err(Errno::EINVAL);
    }
    if flags & ALLOWED != 0 {
        let alone = flags == ALLOWED;
        return if alone { Ok((0, numa::all_zones().bits())) } else { Err(Errno::EINVAL) };
    }
    let policy = match flags & ADDRESS {
        0 if address != 0 => return Err(Errno::EINVAL),
        0 => numa::of_thread(call.task),
        _ => call.process.space().policy_at(address).ok_or(Errno::EFAULT)?,
    };
    let policy = policy.as_deref();
    let word = match (flags & NODE, flags & ADDRESS) {
        (0, _) => numa::mode_word(policy),
        (_, 0) => {
            let in_turn = policy.filter(|policy| policy.mode == Mode::Interleave);
            in_turn.and_then(|policy| policy.next_zone()).ok_or(Errno::EINVAL)?.0.into()
        }
        _ => node_of(call, address)?,
    };
    Ok((word, numa::nodes(policy)))
}

fn node_of(call: &Call<'_>, address: usize) -> Result<u32> {
    let space = call.process.space();
    if space.zone_at(address) == Some(None)
        && space.fault(address, FaultAccess::Read) != FaultOutcome::Resolved
    {
        return Err(Errno::EFAULT);
    }
    let zone = space.zone_at(address).flatten();
    zone.map(|zone| zone.0.into()).ok_or(Errno::EFAULT)
}
