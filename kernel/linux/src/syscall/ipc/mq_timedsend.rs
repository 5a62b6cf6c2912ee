// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `mq_timedsend(2)`: sends a message to a queue; `mq_send` of the C library, too.
//!
//! Honoured: priorities; a full queue is waited for until the time given, or `EAGAIN` with `O_NONBLOCK`; of the threads that wait
//! the one of the highest priority goes first.
//!
//! Refused: nothing.

use super::deadline;
use crate::call::Call;
use crate::mqueue::{self, Message};
use crate::strace::signature;
use crate::{Errno, Result, memory};

/// Priorities are below this (`MQ_PRIO_MAX`).
const PRIORITIES: u32 = 32768;

signature!(Int, Input(2), Size, Size, Time);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (address, len, priority) = (call.arg(1), call.arg(2), call.uint(3));
    let deadline_ns = deadline::read(call, 4)?;
    if priority >= PRIORITIES {
        return Err(Errno::EINVAL);
    }
    let file = call.process.files().get(call.int(0))?;
    let queue = mqueue::of(&file)?;
    if !file.status().writable() {
        return Err(Errno::EBADF);
    }
    if len > queue.bounds.message_bytes {
        return Err(Errno::EMSGSIZE);
    }
    let mut data = memory::buffer(len)?;
    memory::read_bytes(address, &mut data)?;
    let notice = queue.send(Message { priority, data }, file.blocking(), deadline_ns)?;
    if let Some(notice) = notice {
        notice.deliver(call.process);
    }
    Ok(0)
}
