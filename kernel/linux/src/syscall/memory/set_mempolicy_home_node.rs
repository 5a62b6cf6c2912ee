// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `set_mempolicy_home_node(2)`: says from which node the distances of a range's policies count.
//!
//! Honoured: mappings with `MPOL_BIND` or `MPOL_PREFERRED_MANY`; those without a policy are passed over (`ENOENT` if none has one).
//!
//! Refused: nothing; mappings with other policies are `EOPNOTSUPP`, and then none is changed.

use hadal_mem::frames::ZoneId;
use hadal_mem::space::{PAGE_SIZE, SpaceError};

use super::common::page_aligned;
use crate::call::Call;
use crate::strace::signature;
use crate::{Errno, Result, numa};

signature!(Address, Size, Size, Hex);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (start, len, node, flags) = (page_aligned(call.arg(0))?, call.arg(1), call.arg(2), call.arg(3));
    let bits = numa::all_zones().bits();
    let home = u8::try_from(node).ok().filter(|&node| node < 64 && bits >> node & 1 != 0);
    let Some(home) = home.filter(|_| flags == 0) else { return Err(Errno::EINVAL) };
    let end = start.checked_add(len.wrapping_add(PAGE_SIZE - 1) & !(PAGE_SIZE - 1)).ok_or(Errno::EINVAL)?;
    if start == end {
        return Ok(0);
    }
    match call.process.space().set_home(start, end, ZoneId(home)) {
        Ok(()) => Ok(0),
        Err(SpaceError::NotSupported) => Err(Errno::EOPNOTSUPP),
        Err(SpaceError::NoMapping) => Err(Errno::ENOENT),
        Err(_) => Err(Errno::ENOMEM),
    }
}
