// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `migrate_pages(2)`: moves all memory of the program from some nodes to others.
//!
//! Honoured: the calling process, by 0, its id or that of a thread. Returns the number of pages that could not be moved; pages
//! of files that are shared are not counted.
//!
//! Refused: process 1 (`EPERM`), other processes (`ESRCH`); nodes that there are not (`EPERM`; the superuser: `EINVAL` if none is left).

use hadal_mem::frames::ZoneId;
use hadal_mem::space::{Moved, WINDOW_END, WINDOW_START, Zones};

use super::mbind::each_page;
use crate::call::Call;
use crate::first::{self, Named};
use crate::strace::signature;
use crate::{Errno, Result, numa};

signature!(Int, Size, Address, Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (pid, max_node) = (call.int(0), call.arg(1));
    let old = numa::read_nodes(call.arg(2), max_node)?;
    let new = numa::read_nodes(call.arg(3), max_node)?;
    if pid != 0 && first::named(call.process, pid)? == Named::First {
        return Err(Errno::EPERM);
    }
    let all = numa::all_zones().bits();
    if new & !all != 0 && !call.process.credentials.is_privileged() {
        return Err(Errno::EPERM);
    }
    let (old, new) = (Zones::from_bits(old & all), Zones::from_bits(new & all));
    if new.is_empty() {
        return Err(Errno::EINVAL);
    }
    let mut failed = 0;
    each_page(call, WINDOW_START, WINDOW_END, |page, zone| {
        let Some(target) = target(old, new, zone) else { return };
        let moved = call.process.space().move_page(page, target);
        failed += usize::from(matches!(moved, Moved::NoMemory | Moved::Busy));
    });
    Ok(failed)
}

/// Where pages of a zone go: the Nth of the old zones to the Nth of the new ones, round and round. What is in one of the new
/// zones already stays, unless there are as many of both.
fn target(old: Zones, new: Zones, zone: ZoneId) -> Option<ZoneId> {
    let place = old.iter().position(|from| from == zone)?;
    if old.count() != new.count() && new.contains(zone) {
        return None;
    }
    new.iter().nth(place % new.count().max(1)).filter(|&target| target != zone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_paired() {
        let target = |old, new, zone| {
            target(Zones::from_bits(old), Zones::from_bits(new), ZoneId(zone)).map(|zone| zone.0)
        };
        assert_eq!(target(0b01, 0b10, 0), Some(1));
        assert_eq!(target(0b01, 0b10, 1), None);
        assert_eq!(target(0b0011, 0b0110, 1), Some(2));
        assert_eq!(target(0b0111, 0b1000, 2), Some(3));
        assert_eq!(target(0b0111, 0b0011, 1), None);
    }
}
