// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `shmat(2)`: maps a segment of shared memory.
//!
//! Honoured: `SHM_RDONLY`, `SHM_RND`, `SHM_REMAP`, `SHM_EXEC`; where something is mapped without `SHM_REMAP` is `EINVAL`.
//!
//! Refused: nothing; other flags are ignored, as on Linux.

use hadal_mem::space::{MapBacking, MapRequest, Name, PAGE_SIZE, Placement, Prot, SpaceError};

use crate::call::Call;
use crate::strace::signature;
use crate::syscall::memory::errno;
use crate::sysv::{permissions, segments};
use crate::{Errno, Result, filling, locking, machine};

/// `SHM_RDONLY`.
const READ_ONLY: i32 = 0o10000;
/// `SHM_RND`.
const ROUND: i32 = 0o20000;
/// `SHM_REMAP`.
const REPLACE: i32 = 0o40000;
/// `SHM_EXEC`.
const EXECUTE: i32 = 0o100000;

signature!(Int, Address, Flags(&flags::SHMAT) => Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (process, flags) = (call.process, call.int(2));
    let placement = place(call.arg(1), flags)?;
    let (mut prot, mut wanted) = (Prot::READ, permissions::READ);
    if flags & READ_ONLY == 0 {
        prot |= Prot::WRITE;
        wanted |= permissions::CHANGE;
    }
    let max_prot = prot | Prot::EXEC;
    if flags & EXECUTE != 0 {
        prot |= Prot::EXEC;
        wanted |= permissions::EXECUTE;
    }
    // It does not go while it is being mapped.
    let hold = segments::table().get(call.int(0))?.hold(&process.caller(), wanted)?;
    let segment = hold.segment();
    let len = segment.mapped_bytes();
    let request = MapRequest {
        placement,
        max_prot,
        backing: MapBacking::File { source: segment.clone(), offset: 0, shared: true },
        name: Name::Path(segment.name()),
        ..MapRequest::anonymous(len, prot)
    };
    let limits = locking::limits(process);
    let at = process.space().map_within(request, None, limits).map_err(|error| match error {
        SpaceError::Exists => Errno::EINVAL,
        error => errno(error),
    })?;
    filling::fill_mapping(process, at, len);
    locking::fill(process, at, len);
    if prot.contains(Prot::EXEC) {
        machine::get().code_mapped(process);
    }
    Ok(at)
}

/// Where the mapping goes.
fn place(address: usize, flags: i32) -> Result<Placement> {
    let replaces = flags & REPLACE != 0;
    if address == 0 {
        return if replaces { Err(Errno::EINVAL) } else { Ok(Placement::Anywhere) };
    }
    let rounded = address & !(PAGE_SIZE - 1);
    if rounded != address && flags & ROUND == 0 || rounded == 0 && replaces {
        return Err(Errno::EINVAL);
    }
    Ok(if replaces { Placement::Fixed(rounded) } else { Placement::FixedNoReplace(rounded) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_rounded_only_on_demand() {
        assert_eq!(place(0, 0), Ok(Placement::Anywhere));
        assert_eq!(place(0, REPLACE), Err(Errno::EINVAL));
        assert_eq!(place(0x12345, 0), Err(Errno::EINVAL));
        assert_eq!(place(0x12345, ROUND), Ok(Placement::FixedNoReplace(0x12000)));
        assert_eq!(place(0x12345, ROUND | REPLACE), Ok(Placement::Fixed(0x12000)));
        assert_eq!(place(0x345, ROUND | REPLACE), Err(Errno::EINVAL));
    }
}
