// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `recvmmsg(2)`: receives several messages.
//!
//! Honoured: as `recvmsg`; `MSG_WAITFORONE`; the time-out, which is looked at after each message, as on Linux.
//!
//! Refused: as `recvmsg`.

use super::sendmmsg::{ENTRY_BYTES, MOST};
use super::{address, message};
use crate::call::Call;
use crate::clock::{self, Timespec};
use crate::socket::Socket;
use crate::strace::signature;
use crate::{Result, memory};

/// `MSG_WAITFORONE`.
const WAIT_FOR_ONE: u32 = 0x10000;

signature!(Int, Address, Size, Hex, Time);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let deadline_ns = match call.arg(4) {
        0 => None,
        address => Some(clock::after(memory::read::<Timespec>(address)?.to_ns()?)),
    };
    let file = address::file(call, 0)?;
    Socket::of(&file)?;
    let (vector, count, mut flags) = (call.arg(1), call.uint(2).min(MOST), call.uint(3));
    for index in 0..count as usize {
        let entry = vector.wrapping_add(index * ENTRY_BYTES);
        let received = message::receive_header(call, 0, entry, flags & !WAIT_FOR_ONE)
            .and_then(|len| memory::write(entry.wrapping_add(size_of::<message::Header>()), &(len as u32)));
        if let Err(error) = received {
            return if index > 0 { Ok(index) } else { Err(error) };
        }
        if flags & WAIT_FOR_ONE != 0 {
            flags |= message::DONT_WAIT;
        }
        if deadline_ns.is_some_and(|deadline| hadal_time::now_ns() >= deadline) {
            return Ok(index + 1);
        }
    }
    Ok(count as usize)
}
