// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `semctl(2)`: reads and sets the semaphores of a set, says what it is like, changes it, or removes it.
//!
//! Honoured: `GETVAL`, `SETVAL`, `GETALL`, `SETALL`, `GETPID`, `GETNCNT`, `GETZCNT`, `IPC_STAT`, `IPC_SET`, `IPC_RMID` (`EIDRM` for those
//! who wait), `IPC_INFO`, `SEM_INFO`, `SEM_STAT`, `SEM_STAT_ANY`.
//!
//! Refused: nothing; other commands are `EINVAL`.

use hadal_hal::memory::fallible;
use hadal_vfs::Caller;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::control;
use crate::call::Call;
use crate::strace::signature;
use crate::sysv::operation::VALUE_MAX;
use crate::sysv::permissions::Permissions;
use crate::sysv::semaphores::{self, Set, Waits};
use crate::{Errno, Result, memory};

const GET_PID: i32 = 11;
const GET_VALUE: i32 = 12;
const GET_ALL: i32 = 13;
const GET_WAITING: i32 = 14;
const GET_WAITING_FOR_ZERO: i32 = 15;
const SET_VALUE: i32 = 16;
const SET_ALL: i32 = 17;
const STAT_BY_INDEX: i32 = 18;
const USE: i32 = 19;
const STAT_OF_ANY: i32 = 20;

/// What Linux says that an adjustment takes (`SEMUSZ`).
const ADJUSTMENT_BYTES: u32 = 20;

/// `struct semid64_ds`.
#[repr(C)]
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
struct Description {
    permissions: Permissions,
    operated: i64,
    unused: u64,
    changed: i64,
    unused_2: u64,
    size: u64,
    unused_3: [u64; 2],
}

/// `struct seminfo`.
#[repr(C)]
#[derive(IntoBytes, Immutable)]
struct Info {
    map: u32,
    count_max: u32,
    all_max: u32,
    undo_max: u32,
    size_max: u32,
    operations_max: u32,
    undo_entries_max: u32,
    /// Or the number of sets.
    undo_bytes: u32,
    value_max: u32,
    /// Largest adjustment, or the number of semaphores.
    adjustment_max: u32,
}

signature!(Int, Int, Choice(flags::SEMCTL), Hex);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (process, table) = (call.process, semaphores::table());
    let (id, number, command, argument) = (call.int(0), call.int(1), call.int(2), call.arg(3));
    if id < 0 {
        return Err(Errno::EINVAL);
    }
    let caller = process.caller();
    match command {
        control::INFO | USE => {
            let (info, last) = info(command == USE);
            memory::write(argument, &info).map(|()| last)
        }
        control::STAT => {
            let found = describe(&*table.get(id)?, Some(&caller))?;
            memory::write(argument, &found).map(|()| 0)
        }
        STAT_BY_INDEX | STAT_OF_ANY => {
            let (id, set) = table.at(id)?;
            let found = describe(&set, (command == STAT_BY_INDEX).then_some(&caller))?;
            memory::write(argument, &found).map(|()| id as usize)
        }
        control::SET => {
            let wanted: Description = memory::read(argument)?;
            table.get(id)?.set(&caller, &wanted.permissions).map(|()| 0)
        }
        control::REMOVE => table.get(id)?.remove(&caller).map(|()| 0),
        GET_VALUE => table.get(id)?.semaphore(&caller, number).map(|found| found.value.into()),
        GET_PID => table.get(id)?.semaphore(&caller, number).map(|found| found.pid as usize),
        GET_WAITING => table.get(id)?.waiting(&caller, number, Waits::ForMore),
        GET_WAITING_FOR_ZERO => table.get(id)?.waiting(&caller, number, Waits::ForZero),
        SET_VALUE => {
            let value = argument as i32;
            if !(0..=i32::from(VALUE_MAX)).contains(&value) {
                return Err(Errno::ERANGE);
            }
            table.get(id)?.set_value(process, number, value).map(|()| 0)
        }
        GET_ALL => {
            let set = table.get(id)?;
            let mut values = fallible::filled(0u16, set.size())?;
            set.values(&caller, &mut values)?;
            memory::write_bytes(argument, values.as_bytes()).map(|()| 0)
        }
        SET_ALL => {
            let set = table.get(id)?;
            set.check_change(&caller)?;
            let mut values = fallible::filled(0u16, set.size())?;
            memory::read_bytes(argument, values.as_mut_bytes())?;
            set.set_values(process, &values).map(|()| 0)
        }
        _ => Err(Errno::EINVAL),
    }
}

/// What a set is like, if the reader may know that; without one anybody may.
fn describe(set: &Set, reader: Option<&Caller<'_>>) -> Result<Description> {
    let found = set.describe(reader)?;
    Ok(Description {
        permissions: found.permissions,
        operated: found.operated,
        unused: 0,
        changed: found.changed,
        unused_2: 0,
        size: found.size as u64,
        unused_3: [0; 2],
    })
}

/// The limits, or what is in use in two of their places; and the highest index.
fn info(in_use: bool) -> (Info, usize) {
    let table = semaphores::table();
    let (count, last) = table.extent();
    let all: usize = if in_use { table.iter().map(|(_, set)| set.size()).sum() } else { 0 };
    let all_max = semaphores::ALL_MAX as u32;
    let info = Info {
        map: all_max,
        count_max: semaphores::COUNT_MAX as u32,
        all_max,
        undo_max: all_max,
        size_max: semaphores::SIZE_MAX as u32,
        operations_max: semaphores::OPERATIONS_MAX as u32,
        undo_entries_max: semaphores::OPERATIONS_MAX as u32,
        undo_bytes: if in_use { count as u32 } else { ADJUSTMENT_BYTES },
        value_max: VALUE_MAX.into(),
        adjustment_max: if in_use { all as u32 } else { VALUE_MAX.into() },
    };
    (info, last)
}
