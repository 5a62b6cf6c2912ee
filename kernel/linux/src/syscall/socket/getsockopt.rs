// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `getsockopt(2)`: reads an option of a socket.
//!
//! Honoured: of `SOL_SOCKET`: `SO_TYPE`, `SO_DOMAIN`, `SO_PROTOCOL`, `SO_ERROR`, `SO_SNDBUF`, `SO_RCVBUF`, `SO_SNDTIMEO`, `SO_RCVTIMEO`,
//! `SO_PASSCRED`, `SO_PEERCRED`, `SO_ACCEPTCONN`, and what `setsockopt` keeps.
//!
//! Refused: other options (`ENOPROTOOPT`) and levels (`EOPNOTSUPP`).

use zerocopy::IntoBytes;

use super::{address, option};
use crate::call::Call;
use crate::clock::Timeval;
use crate::socket::Socket;
use crate::strace::signature;
use crate::{Errno, Result, memory};

signature!(Int, Int, Int, Address, Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let file = address::file(call, 0)?;
    let socket = Socket::of(&file)?;
    if call.int(1) != option::SOCKET {
        return Err(Errno::EOPNOTSUPP);
    }
    let (value, len_address) = (call.arg(3), call.arg(4));
    let room: i32 = memory::read(len_address)?;
    let room = usize::try_from(room).map_err(|_| Errno::EINVAL)?;
    let time = |ns: Option<u64>| Timeval::from_ns(ns.unwrap_or(0));
    let mut options = socket.options().lock();
    let number = match call.int(2) {
        option::TYPE => socket.kind as i32,
        option::DOMAIN => address::family(socket).into(),
        option::PROTOCOL => 0,
        option::LISTENS => socket.listens().into(),
        option::ERROR if options.take_reset() => Errno::ECONNRESET.raw().into(),
        option::ERROR => 0,
        option::SEND_BUFFER => options.send_bytes as i32,
        option::RECEIVE_BUFFER => options.receive_bytes as i32,
        option::PASS_CREDENTIALS => socket.passes_credentials().into(),
        option @ (option::SEND_TIMEOUT | option::RECEIVE_TIMEOUT) => {
            let ns = if option == option::SEND_TIMEOUT {
                options.send_timeout_ns
            } else {
                options.receive_timeout_ns
            };
            drop(options);
            return store(value, len_address, room, time(ns).as_bytes());
        }
        option::PEER_CREDENTIALS => {
            drop(options);
            return store(value, len_address, room, socket.peer_ids().as_bytes());
        }
        option if option::has_no_effect(option) => options.is_kept(option).into(),
        _ => return Err(Errno::ENOPROTOOPT),
    };
    drop(options);
    store(value, len_address, room, &number.to_ne_bytes())
}

/// Stores a value, cut off at the room there is, and its length.
fn store(address: usize, len_address: usize, room: usize, bytes: &[u8]) -> Result<usize> {
    let len = room.min(bytes.len());
    memory::write_bytes(address, &bytes[..len])?;
    memory::write(len_address, &(len as i32))?;
    Ok(0)
}
