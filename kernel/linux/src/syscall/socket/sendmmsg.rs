// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `sendmmsg(2)`: sends several messages.
//!
//! Honoured: as `sendmsg`.
//!
//! Refused: as `sendmsg`.

use super::{address, message};
use crate::call::Call;
use crate::socket::Socket;
use crate::strace::signature;
use crate::{Result, memory};

/// `struct mmsghdr`: a header, and a length behind it.
pub(super) const ENTRY_BYTES: usize = size_of::<message::Header>() + 8;
/// Most messages of a call (`UIO_MAXIOV`).
pub(super) const MOST: u32 = 1024;

signature!(Int, Address, Size, Hex);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let file = address::file(call, 0)?;
    Socket::of(&file)?;
    let (vector, count, flags) = (call.arg(1), call.uint(2).min(MOST), call.uint(3));
    for index in 0..count as usize {
        let entry = vector.wrapping_add(index * ENTRY_BYTES);
        let sent = message::send_header(call, 0, entry, flags)
            .and_then(|len| memory::write(entry.wrapping_add(size_of::<message::Header>()), &(len as u32)));
        if let Err(error) = sent {
            return if index > 0 { Ok(index) } else { Err(error) };
        }
    }
    Ok(count as usize)
}
