// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `msgsnd(2)`: sends a message to a System V message queue.
//!
//! Honoured: `IPC_NOWAIT`; up to 8192 bytes. A signal ends the wait with `EINTR`, whatever its handler's flags.
//!
//! Refused: nothing; other flags are ignored, as on Linux.

use hadal_hal::memory::fallible;

use super::control::{KIND_BYTES, NO_WAIT};
use crate::call::Call;
use crate::strace::signature;
use crate::sysv::content::Message;
use crate::sysv::messages::{self, MESSAGE_MAX};
use crate::{Errno, Result, memory};

signature!(Int, Address, Size, Flags(&flags::MSGSND));

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (id, address, len, flags) = (call.int(0), call.arg(1), call.arg(2), call.int(3));
    let kind = memory::read::<i64>(address)?;
    if len > MESSAGE_MAX || id < 0 || kind < 1 {
        return Err(Errno::EINVAL);
    }
    let mut data = fallible::filled(0, len)?;
    memory::read_bytes(address.wrapping_add(KIND_BYTES), &mut data)?;
    let queue = messages::table().get(id)?;
    queue.send(call.process, Message { kind, data }, flags & NO_WAIT == 0)?;
    Ok(0)
}
