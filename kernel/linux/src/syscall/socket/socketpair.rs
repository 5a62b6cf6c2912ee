// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `socketpair(2)`: makes two connected sockets.
//!
//! Honoured: `AF_UNIX` with `SOCK_STREAM`, `SOCK_DGRAM` (and `SOCK_RAW`, which is the same) and `SOCK_SEQPACKET`; `SOCK_NONBLOCK`,
//! `SOCK_CLOEXEC`.
//!
//! Refused: every other domain (`EAFNOSUPPORT`), type (`ESOCKTNOSUPPORT`) and protocol (`EPROTONOSUPPORT`).

use hadal_vfs::OpenFlags;

use super::address::UNIX;
use super::opening;
use crate::call::Call;
use crate::socket::{Ids, Socket};
use crate::strace::signature;
use crate::{Errno, Result, memory};

signature!(Int, Hex, Int, Pair);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    if call.uint(0) != u32::from(UNIX) {
        return Err(Errno::EAFNOSUPPORT);
    }
    let flags = opening::flags(call.uint(1));
    let kind = opening::kind(call.uint(1), call.uint(2))?;
    let (first, second) = Socket::pair(kind, Ids::acting(call.process))?;
    let open = |end| opening::open(call.process, end, flags);
    let on_exec = flags.contains(OpenFlags::CLOSE_ON_EXEC);
    let (first, second) = call.process.files().insert_pair(open(first)?, open(second)?, on_exec)?;
    if let Err(error) = memory::write(call.arg(3), &[first, second]) {
        drop((call.process.files().remove(first), call.process.files().remove(second)));
        return Err(error);
    }
    Ok(0)
}
