// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `shutdown(2)`: ends one direction of a connection, or both.
//!
//! Honoured: `SHUT_RD`, `SHUT_WR`, `SHUT_RDWR`.
//!
//! Refused: nothing; other values are `EINVAL`.

use super::address;
use crate::call::Call;
use crate::socket::{Kind, Socket};
use crate::strace::signature;
use crate::{Errno, Result};

signature!(Int, Int);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let file = address::file(call, 0)?;
    let socket = Socket::of(&file)?;
    if socket.kind == Kind::Notices {
        return Err(Errno::EOPNOTSUPP);
    }
    match call.int(1) {
        0 => socket.shut_down(true, false),
        1 => socket.shut_down(false, true),
        2 => socket.shut_down(true, true),
        _ => return Err(Errno::EINVAL),
    }
    Ok(0)
}
