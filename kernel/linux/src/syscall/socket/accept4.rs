// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `accept4(2)`: takes a connection.
//!
//! Honoured: nothing.
//!
//! Refused: no socket listens (`EINVAL`; datagrams: `EOPNOTSUPP`).

use hadal_vfs::OpenFlags;

use super::address;
use crate::call::Call;
use crate::strace::signature;
use crate::socket::{Kind, Socket};
use crate::files::at;
use crate::{Errno, Result};

signature!(Int, Address, Address, Hex);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    at::check_flags(call.uint(3), (OpenFlags::NONBLOCK | OpenFlags::CLOSE_ON_EXEC).bits())?;
    accept(call)
}

/// What both calls do.
pub(super) fn accept(call: &Call<'_>) -> Result<usize> {
    let file = address::file(call, 0)?;
    match Socket::of(&file)?.kind {
        Kind::Datagram | Kind::Notices => Err(Errno::EOPNOTSUPP),
        Kind::Stream | Kind::Packets => Err(Errno::EINVAL),
    }
}
