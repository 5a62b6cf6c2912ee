// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `msgctl(2)`: says what a System V message queue is like, changes it, or removes it.
//!
//! Honoured: `IPC_STAT`, `IPC_SET` (what its messages may take, too), `IPC_RMID` (`EIDRM` for those who wait), `IPC_INFO`, `MSG_INFO`,
//! `MSG_STAT`, `MSG_STAT_ANY`.
//!
//! Refused: nothing; other commands are `EINVAL`.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::control;
use crate::call::Call;
use crate::strace::signature;
use crate::sysv::messages::{self, About, BYTES_MAX, COUNT_MAX, MESSAGE_MAX};
use crate::sysv::permissions::Permissions;
use crate::{Errno, Result, memory};

const STAT_BY_INDEX: i32 = 11;
const USE: i32 = 12;
const STAT_OF_ANY: i32 = 13;

/// `struct msqid64_ds`.
#[repr(C)]
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
struct Description {
    permissions: Permissions,
    sent: i64,
    received: i64,
    changed: i64,
    bytes: u64,
    count: u64,
    bytes_max: u64,
    sender: u32,
    receiver: u32,
    unused: [u64; 2],
}

/// `struct msginfo`.
#[repr(C)]
#[derive(IntoBytes, Immutable)]
struct Info {
    /// Kilobytes of all queues, or the number of queues.
    pool: u32,
    /// Messages of a queue, or of all.
    map: u32,
    message_max: u32,
    bytes_max: u32,
    count_max: u32,
    segment_bytes: u32,
    /// Messages of the system, or bytes of all.
    headers: u32,
    segments: u16,
    padding: u16,
}

signature!(Int, Choice(flags::MSGCTL), Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (id, command, address) = (call.int(0), call.int(1), call.arg(2));
    if id < 0 {
        return Err(Errno::EINVAL);
    }
    let (caller, table) = (call.process.caller(), messages::table());
    match command {
        control::INFO | USE => {
            let (info, last) = info(command == USE);
            memory::write(address, &info).map(|()| last)
        }
        control::STAT => {
            let found = describe(table.get(id)?.describe(Some(&caller))?);
            memory::write(address, &found).map(|()| 0)
        }
        STAT_BY_INDEX | STAT_OF_ANY => {
            let (id, queue) = table.at(id)?;
            let reader = (command == STAT_BY_INDEX).then_some(&caller);
            memory::write(address, &describe(queue.describe(reader)?)).map(|()| id as usize)
        }
        control::SET => {
            let wanted: Description = memory::read(address)?;
            table.get(id)?.set(&caller, &wanted.permissions, wanted.bytes_max).map(|()| 0)
        }
        control::REMOVE => table.get(id)?.remove(&caller).map(|()| 0),
        _ => Err(Errno::EINVAL),
    }
}

fn describe(about: About) -> Description {
    Description {
        permissions: about.permissions,
        sent: about.sent,
        received: about.received,
        changed: about.changed,
        bytes: about.bytes as u64,
        count: about.count as u64,
        bytes_max: about.bytes_max as u64,
        sender: about.sender,
        receiver: about.receiver,
        unused: [0; 2],
    }
}

/// The limits, or what is in use in three of their places; and the highest index.
fn info(in_use: bool) -> (Info, usize) {
    /// Bytes that Linux once kept messages in (`MSGSSZ`), and the highest number of those.
    const SEGMENT_BYTES: usize = 16;
    const SEGMENTS_MAX: usize = 0xffff;
    let table = messages::table();
    let (count, last) = table.extent();
    let pool = COUNT_MAX * BYTES_MAX / 1024;
    let (mut used_count, mut used_bytes) = (0, 0);
    if in_use {
        for about in table.iter().filter_map(|(_, queue)| queue.describe(None).ok()) {
            used_count += about.count;
            used_bytes += about.bytes;
        }
    }
    let either = |used: usize, limit: usize| if in_use { used as u32 } else { limit as u32 };
    let info = Info {
        pool: either(count, pool),
        map: either(used_count, BYTES_MAX),
        message_max: MESSAGE_MAX as u32,
        bytes_max: BYTES_MAX as u32,
        count_max: COUNT_MAX as u32,
        segment_bytes: SEGMENT_BYTES as u32,
        headers: either(used_bytes, BYTES_MAX),
        segments: (pool * 1024 / SEGMENT_BYTES).min(SEGMENTS_MAX) as u16,
        padding: 0,
    };
    (info, last)
}
