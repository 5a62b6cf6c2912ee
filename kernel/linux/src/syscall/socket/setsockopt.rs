// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `setsockopt(2)`: changes an option of a socket.
//!
//! Honoured: of `SOL_SOCKET`: `SO_SNDBUF`, `SO_RCVBUF` (kept and read back; the sender's counts), `SO_SNDTIMEO`, `SO_RCVTIMEO`,
//! `SO_PASSCRED`; `SO_REUSEADDR`, `SO_DONTROUTE`, `SO_BROADCAST`, `SO_KEEPALIVE` and `SO_OOBINLINE` are kept and mean nothing here.
//!
//! Refused: other options (`ENOPROTOOPT`) and levels (`EOPNOTSUPP`).

use super::{address, option};
use crate::call::Call;
use crate::clock::Timeval;
use crate::socket::Socket;
use crate::strace::signature;
use crate::{Errno, Result, memory};

signature!(Int, Int, Int, Address, Size);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let file = address::file(call, 0)?;
    let socket = Socket::of(&file)?;
    if call.int(1) != option::SOCKET {
        return Err(Errno::EOPNOTSUPP);
    }
    let (option, address, len) = (call.int(2), call.arg(3), call.int(4));
    if len < size_of::<i32>() as i32 {
        return Err(Errno::EINVAL);
    }
    let number: i32 = memory::read(address)?;
    match option {
        option::SEND_BUFFER => socket.options().lock().set_send_bytes(number.max(0) as usize),
        option::RECEIVE_BUFFER => socket.options().lock().set_receive_bytes(number.max(0) as usize),
        option::PASS_CREDENTIALS => socket.pass_credentials(number != 0),
        option if option::has_no_effect(option) => socket.options().lock().keep(option, number != 0),
        option::SEND_TIMEOUT | option::RECEIVE_TIMEOUT => {
            if (len as usize) < size_of::<Timeval>() {
                return Err(Errno::EINVAL);
            }
            let time = memory::read::<Timeval>(address)?.to_ns().map_err(|_| Errno::EDOM)?;
            // No time is for ever.
            let timeout_ns = Some(time).filter(|&ns| ns > 0);
            let mut options = socket.options().lock();
            match option {
                option::SEND_TIMEOUT => options.send_timeout_ns = timeout_ns,
                _ => options.receive_timeout_ns = timeout_ns,
            }
        }
        _ => return Err(Errno::ENOPROTOOPT),
    }
    Ok(0)
}
