// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `mq_getsetattr(2)`: reads the attributes of a message queue, and changes whether its descriptor waits.
//!
//! Honoured: `O_NONBLOCK`.
//!
//! Refused: nothing; other flags are `EINVAL`.

use hadal_vfs::OpenFlags;

use super::attributes::Attributes;
use crate::call::Call;
use crate::mqueue;
use crate::strace::signature;
use crate::{Errno, Result, memory};

const NONBLOCK: i64 = OpenFlags::NONBLOCK.bits() as i64;

signature!(Int, Address, Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (new, old) = (call.arg(1), call.arg(2));
    let wanted: Option<Attributes> = match new {
        0 => None,
        address => Some(memory::read(address)?),
    };
    if wanted.is_some_and(|wanted| wanted.flags & !NONBLOCK != 0) {
        return Err(Errno::EINVAL);
    }
    let file = call.process.files().get(call.int(0))?;
    let queue = mqueue::of(&file)?;
    let status = file.status();
    let previous = Attributes {
        flags: i64::from((status & OpenFlags::NONBLOCK).bits()),
        messages: queue.bounds.messages as i64,
        message_bytes: queue.bounds.message_bytes as i64,
        present: queue.len() as i64,
        reserved: [0; 4],
    };
    if let Some(wanted) = wanted {
        let mut status = status;
        status.set(OpenFlags::NONBLOCK, wanted.flags != 0);
        file.set_status(status);
    }
    memory::write_unless_null(old, &previous)?;
    Ok(0)
}
