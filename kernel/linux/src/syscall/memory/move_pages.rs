// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `move_pages(2)`: tells where pages are, or moves each to a node.
//!
//! Honoured: the calling process, by 0, its id or that of a thread; `MPOL_MF_MOVE`, and for the superuser `MPOL_MF_MOVE_ALL`. The
//! status of a page is its node, `ENOENT` (not there yet), `EFAULT` (not mapped), `EACCES` (a file's), `ENOMEM` or `EBUSY`.
//!
//! Refused: process 1 (`EPERM`), other processes (`ESRCH`), nodes that there are not (`ENODEV`).

use hadal_mem::frames::ZoneId;
use hadal_mem::space::Moved;

use super::mbind::{MOVE, MOVE_ALL, check_all};
use crate::call::Call;
use crate::first::{self, Named};
use crate::strace::signature;
use crate::{Errno, Result, memory, numa};

signature!(Int, Size, Address, Address, Address, Hex);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (pid, count, pages) = (call.int(0), call.arg(1), call.arg(2));
    let (nodes, statuses, flags) = (call.arg(3), call.arg(4), call.uint(5));
    if flags & !(MOVE | MOVE_ALL) != 0 {
        return Err(Errno::EINVAL);
    }
    check_all(call, flags)?;
    if pid != 0 && first::named(call.process, pid)? == Named::First {
        return Err(Errno::EPERM);
    }
    let mut failed = 0;
    for index in 0..count {
        let page: usize = memory::read(element::<usize>(pages, index)?)?;
        let status = if nodes == 0 {
            place(call, page)
        } else {
            let node: i32 = memory::read(element::<i32>(nodes, index)?)?;
            let outcome = move_to(call, page, node)?;
            failed += usize::from(matches!(outcome, Err(Errno::ENOMEM | Errno::EBUSY)));
            outcome
        };
        let word = match status {
            Ok(node) => i32::from(node),
            Err(error) => -i32::from(error.raw() as i16),
        };
        memory::write(element::<i32>(statuses, index)?, &word)?;
    }
    Ok(failed)
}

/// The address of an element of an array.
fn element<T>(array: usize, index: usize) -> Result<usize> {
    index.checked_mul(size_of::<T>()).and_then(|offset| array.checked_add(offset)).ok_or(Errno::EFAULT)
}

/// The node of a page.
fn place(call: &Call<'_>, page: usize) -> Result<u8> {
    match call.process.space().zone_at(page) {
        None => Err(Errno::EFAULT),
        Some(None) => Err(Errno::ENOENT),
        Some(Some(zone)) => Ok(zone.0),
    }
}

/// Moves a page; the outer error ends the call.
fn move_to(call: &Call<'_>, page: usize, node: i32) -> Result<Result<u8>> {
    let zone = u8::try_from(node)
        .ok()
        .filter(|&node| numa::all_zones().bits().checked_shr(node.into()).is_some_and(|bits| bits & 1 != 0));
    let zone = zone.ok_or(Errno::ENODEV)?;
    Ok(match call.process.space().move_page(page, ZoneId(zone)) {
        Moved::There => Ok(zone),
        Moved::NoMapping => Err(Errno::EFAULT),
        Moved::Absent => Err(Errno::ENOENT),
        Moved::Fixed => Err(Errno::EACCES),
        Moved::NoMemory => Err(Errno::ENOMEM),
        Moved::Busy => Err(Errno::EBUSY),
    })
}
