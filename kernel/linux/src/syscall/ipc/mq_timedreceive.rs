// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `mq_timedreceive(2)`: takes the first message of the highest priority out of a queue; `mq_receive` of the C library, too.
//!
//! Honoured: an empty queue is waited for until the time given, or `EAGAIN` with `O_NONBLOCK`; of the threads that wait the one of
//! the highest priority goes first.
//!
//! Refused: a buffer that is not writable from end to end is `EFAULT`, and nothing is taken; Linux loses a message that does not
//! find its place.

use hadal_mem::space::FaultAccess;

use super::deadline;
use crate::call::Call;
use crate::mqueue;
use crate::strace::signature;
use crate::{Errno, Result, memory};

signature!(Int, Output, Size, Address, Time);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (address, len, priority) = (call.arg(1), call.arg(2), call.arg(3));
    let deadline_ns = deadline::read(call, 4)?;
    let file = call.process.files().get(call.int(0))?;
    let queue = mqueue::of(&file)?;
    if !file.status().readable() {
        return Err(Errno::EBADF);
    }
    let longest = queue.bounds.message_bytes;
    if len < longest {
        return Err(Errno::EMSGSIZE);
    }
    let writable = |address, len| memory::permits(call.process, address, len, FaultAccess::Write);
    if !writable(address, longest) || priority != 0 && !writable(priority, size_of::<u32>()) {
        return Err(Errno::EFAULT);
    }
    let message = queue.receive(file.blocking(), deadline_ns)?;
    memory::write_unless_null(priority, &message.priority)?;
    memory::write_bytes(address, &message.data)?;
    Ok(message.data.len())
}
