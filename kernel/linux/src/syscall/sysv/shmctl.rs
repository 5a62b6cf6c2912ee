// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `shmctl(2)`: says what a segment of shared memory is like, changes it, or removes it.
//!
//! Honoured: `IPC_STAT`, `IPC_SET`, `IPC_RMID` (a segment goes with its last mapping), `IPC_INFO`, `SHM_INFO` (nothing is ever swapped),
//! `SHM_STAT`, `SHM_STAT_ANY`, `SHM_LOCK` and `SHM_UNLOCK` (all memory stays where it is: the mode tells).
//!
//! Refused: nothing; other commands are `EINVAL`.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::control;
use crate::call::Call;
use crate::strace::signature;
use crate::sysv::permissions::{Permissions, READ};
use crate::sysv::segment::Segment;
use crate::sysv::segments;
use crate::{Errno, Result, locking, memory};

/// `SHM_LOCK`.
const LOCK: i32 = 11;
/// `SHM_UNLOCK`.
const UNLOCK: i32 = 12;
/// `SHM_STAT`.
const STAT_BY_INDEX: i32 = 13;
/// `SHM_INFO`.
const USE: i32 = 14;
/// `SHM_STAT_ANY`.
const STAT_OF_ANY: i32 = 15;

/// `struct shmid64_ds`.
#[repr(C)]
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
struct Description {
    permissions: Permissions,
    bytes: u64,
    attached: i64,
    detached: i64,
    changed: i64,
    creator: u32,
    last_user: u32,
    mappings: u64,
    unused: [u64; 2],
}

/// `struct shminfo64`.
#[repr(C)]
#[derive(IntoBytes, Immutable)]
struct Limits {
    bytes_max: u64,
    bytes_min: u64,
    count_max: u64,
    count_max_of_process: u64,
    pages_max: u64,
    unused: [u64; 4],
}

/// `struct shm_info`.
#[repr(C)]
#[derive(IntoBytes, Immutable)]
struct Use {
    count: u32,
    padding: u32,
    pages: u64,
    resident: u64,
    swapped: u64,
    attempts: u64,
    successes: u64,
}

signature!(Int, Choice(flags::SHMCTL), Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (id, command, address) = (call.int(0), call.int(1), call.arg(2));
    if id < 0 {
        return Err(Errno::EINVAL);
    }
    let caller = call.process.caller();
    match command {
        control::INFO => memory::write(address, &limits()).map(|()| segments::table().extent().1),
        USE => {
            let (used, last) = in_use();
            memory::write(address, &used).map(|()| last)
        }
        control::STAT => {
            let segment = segments::table().get(id)?;
            segment.state().permissions.check(&caller, READ)?;
            memory::write(address, &describe(&segment)).map(|()| 0)
        }
        STAT_BY_INDEX | STAT_OF_ANY => {
            let (id, segment) = segments::table().at(id)?;
            if command == STAT_BY_INDEX {
                segment.state().permissions.check(&caller, READ)?;
            }
            memory::write(address, &describe(&segment)).map(|()| id as usize)
        }
        control::SET => {
            let wanted: Description = memory::read(address)?;
            segments::table().get(id)?.set(&caller, &wanted.permissions).map(|()| 0)
        }
        control::REMOVE => segments::table().get(id)?.doom(&caller).map(|()| 0),
        LOCK | UNLOCK => {
            let segment = segments::table().get(id)?;
            segment.state().permissions.check_owner(&caller)?;
            if command == LOCK {
                locking::check(call.process)?;
            }
            segment.lock(command == LOCK);
            Ok(0)
        }
        _ => Err(Errno::EINVAL),
    }
}

fn describe(segment: &Segment) -> Description {
    let state = segment.state();
    Description {
        permissions: state.permissions,
        bytes: segment.bytes() as u64,
        attached: state.attached,
        detached: state.detached,
        changed: state.changed,
        creator: segment.creator(),
        last_user: state.last_user,
        mappings: state.mappings as u64,
        unused: [0; 2],
    }
}

fn limits() -> Limits {
    Limits {
        bytes_max: segments::BYTES_MAX,
        bytes_min: segments::BYTES_MIN,
        count_max: segments::COUNT_MAX as u64,
        count_max_of_process: segments::COUNT_MAX as u64,
        pages_max: segments::PAGES_MAX,
        unused: [0; 4],
    }
}

/// What all segments take, and the highest index.
fn in_use() -> (Use, usize) {
    let table = segments::table();
    let (count, last) = table.extent();
    let resident = table.iter().map(|(_, segment)| segment.resident_pages() as u64).sum();
    let used = Use {
        count: count as u32,
        padding: 0,
        pages: segments::pages(),
        resident,
        swapped: 0,
        attempts: 0,
        successes: 0,
    };
    (used, last)
}
