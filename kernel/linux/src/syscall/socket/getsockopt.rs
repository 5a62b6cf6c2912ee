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
    let options = || socket.options().lock();
    let store_time =
        |ns: Option<u64>| store(value, len_address, room, Timeval::from_ns(ns.unwrap_or(0)).as_bytes());
    let number = match call.int(2) {
        option::TYPE => socket.kind as i32,
        option::DOMAIN => address::family(socket).into(),
        option::PROTOCOL => 0,
        option::LISTENS => socket.listens().into(),
        option::ERROR => match options().take_reset() {
            true => Errno::ECONNRESET.raw().into(),
            false => 0,
        },
        option::SEND_BUFFER => options().send_bytes as i32,
        option::RECEIVE_BUFFER => options().receive_bytes as i32,
        option::PASS_CREDENTIALS => socket.passes_credentials().into(),
        option::SEND_TIMEOUT => {
            let ns = options().send_timeout_ns;
            return store_time(ns);
        }
        option::RECEIVE_TIMEOUT => {
            let ns = options().receive_timeout_ns;
            return store_time(ns);
        }
        option::PEER_CREDENTIALS => return store(value, len_address, room, socket.peer_ids().as_bytes()),
        option if option::has_no_effect(option) => options().is_kept(option).into(),
        _ => return Err(Errno::ENOPROTOOPT),
    };
    store(value, len_address, room, &number.to_ne_bytes())
}

/// Stores a value, cut off at the room there is, and its length.
fn store(address: usize, len_address: usize, room: usize, bytes: &[u8]) -> Result<usize> {
    let len = room.min(bytes.len());
    memory::write_bytes(address, &bytes[..len])?;
    memory::write(len_address, &(len as i32))?;
    Ok(0)
}
