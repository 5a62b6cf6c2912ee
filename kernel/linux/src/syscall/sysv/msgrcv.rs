// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `msgrcv(2)`: takes a message out of a System V message queue.
//!
//! Honoured: types (any, one, the lowest up to one), `MSG_EXCEPT`, `MSG_NOERROR`, `MSG_COPY` (with `IPC_NOWAIT`), `IPC_NOWAIT`. A signal
//! ends the wait with `EINTR`, whatever its handler's flags. A message that does not find its place is lost, as on Linux.
//!
//! Refused: nothing; other flags are ignored, as on Linux.

use super::control::{KIND_BYTES, NO_WAIT};
use crate::call::Call;
use crate::strace::signature;
use crate::sysv::content::{Kinds, Wanted};
use crate::sysv::messages;
use crate::{Errno, Result, memory};

/// `MSG_NOERROR`.
const CUT: i32 = 0o10000;
/// `MSG_EXCEPT`.
const EXCEPT: i32 = 0o20000;
/// `MSG_COPY`.
const COPY: i32 = 0o40000;

signature!(Int, Address, Size, Word, Flags(&flags::MSGRCV));

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (id, address, room) = (call.int(0), call.arg(1), call.arg(2));
    let (kind, flags) = (call.arg(3) as i64, call.int(4));
    if id < 0 || isize::try_from(room).is_err() {
        return Err(Errno::EINVAL);
    }
    let kinds = Kinds::new(kind, flags & EXCEPT != 0);
    let wanted = Wanted { kinds, room, cuts: flags & CUT != 0 };
    let message = if flags & COPY == 0 {
        messages::table().get(id)?.receive(call.process, wanted, flags & NO_WAIT == 0)?
    } else if flags & EXCEPT != 0 || flags & NO_WAIT == 0 {
        return Err(Errno::EINVAL);
    } else {
        // Its place is in the place of the type.
        let place = usize::try_from(kind).unwrap_or(usize::MAX);
        messages::table().get(id)?.copy(call.process, place, wanted)?
    };
    let data = &message.data[..room.min(message.data.len())];
    memory::write(address, &message.kind)?;
    memory::write_bytes(address.wrapping_add(KIND_BYTES), data)?;
    Ok(data.len())
}
