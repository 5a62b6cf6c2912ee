// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `mbind(2)`: says where the memory of a range comes from.
//!
//! Honoured: the modes and flags of `set_mempolicy`, for pages that are touched from now on; `MPOL_MF_STRICT`; `MPOL_MF_MOVE` and
//! `MPOL_MF_MOVE_ALL` (the superuser's), which move the pages that are there.
//!
//! Refused: the modes that `set_mempolicy` refuses. Pages of files that are shared stay where they are (`EIO` with
//! `MPOL_MF_STRICT`).

use alloc::sync::Arc;

use hadal_mem::frames::{self, ZoneId};
use hadal_mem::space::{Mode, Moved, PAGE_SIZE, Policy, SpaceError, Zones};

use super::common::page_aligned;
use crate::call::Call;
use crate::strace::signature;
use crate::{Errno, Result, numa};

const STRICT: u32 = 1;
/// `MPOL_MF_MOVE`.
pub(super) const MOVE: u32 = 2;
/// `MPOL_MF_MOVE_ALL`.
pub(super) const MOVE_ALL: u32 = 4;

signature!(Address, Size, Hex, Address, Size, Hex);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (start, len, mode, flags) = (call.arg(0), call.arg(1), call.uint(2), call.uint(5));
    let nodes = numa::read_nodes(call.arg(3), call.arg(4))?;
    if flags & !(STRICT | MOVE | MOVE_ALL) != 0 {
        return Err(Errno::EINVAL);
    }
    check_all(call, flags)?;
    let start = page_aligned(start)?;
    let end = start.checked_add(len.wrapping_add(PAGE_SIZE - 1) & !(PAGE_SIZE - 1)).ok_or(Errno::EINVAL)?;
    if start == end {
        return Ok(0);
    }
    let policy = numa::policy(mode, nodes)?;
    let moves = flags & (MOVE | MOVE_ALL) != 0;
    let strict = flags & STRICT != 0 && policy.is_some();
    let wanted = policy.as_ref().map_or(Zones::default(), |policy| policy.zones);
    let space = call.process.space();
    if strict && !moves && has_others(call, start, end, wanted) {
        return Err(Errno::EIO);
    }
    space.set_policy(start, end, policy.as_ref()).map_err(|error| match error {
        SpaceError::NoMapping => Errno::EFAULT,
        _ => Errno::ENOMEM,
    })?;
    if moves && !move_all(call, start, end, policy.as_ref()) && strict {
        return Err(Errno::EIO);
    }
    Ok(0)
}

/// Pages that others use, too, are moved only for the superuser.
pub(super) fn check_all(call: &Call<'_>, flags: u32) -> Result<()> {
    if flags & MOVE_ALL != 0 && !call.process.credentials.is_privileged() {
        Err(Errno::EPERM)
    } else {
        Ok(())
    }
}

/// Whether a page of a range is in none of the wanted zones.
fn has_others(call: &Call<'_>, start: usize, end: usize, wanted: Zones) -> bool {
    let mut found = false;
    each_page(call, start, end, |_, zone| found |= !wanted.contains(zone));
    found
}

/// Moves the pages of a range to where a policy wants them; whether all are there.
fn move_all(call: &Call<'_>, start: usize, end: usize, policy: Option<&Arc<Policy>>) -> bool {
    let mut all = true;
    let here = frames::global().cpu_zone(hadal_hal::cpu::current_id());
    each_page(call, start, end, |page, zone| {
        let target = match policy {
            Some(policy) if policy.zones.contains(zone) => return,
            Some(policy) if policy.mode == Mode::Interleave => {
                policy.zones.iter().nth(page / PAGE_SIZE % policy.zones.count().max(1))
            }
            Some(policy) if policy.zones.contains(here) => Some(here),
            Some(policy) => policy.zones.iter().next(),
            None => None,
        };
        let moved = call.process.space().move_page(page, target.unwrap_or(here));
        all &= matches!(moved, Moved::There | Moved::Absent | Moved::NoMapping);
    });
    all
}

/// Shows the pages of a range that are there, with their zones.
pub(super) fn each_page(call: &Call<'_>, start: usize, end: usize, mut show: impl FnMut(usize, ZoneId)) {
    let space = call.process.space();
    let mut at = start;
    while let Some(vma) = space.next_mapping(at).filter(|vma| vma.start < end) {
        for page in (vma.start.max(at)..vma.end.min(end)).step_by(PAGE_SIZE) {
            if let Some(Some(zone)) = space.zone_at(page) {
                show(page, zone);
            }
        }
        at = vma.end;
    }
}
