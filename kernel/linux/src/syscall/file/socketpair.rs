// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `socketpair(2)`: makes two connected sockets.
//!
//! Honoured: `AF_UNIX` with `SOCK_STREAM`, `SOCK_NONBLOCK`, `SOCK_CLOEXEC`; `read`, `write` and their variants, polling.
//!
//! Refused: every other domain (`EAFNOSUPPORT`), type (`ESOCKTNOSUPPORT`) and protocol (`EPROTONOSUPPORT`).

use alloc::sync::Arc;

use hadal_vfs::{FileKind, OpenFlags};

use super::anonymous::{self, Label};
use super::byte_streams;
use crate::call::Call;
use crate::{Errno, Result, memory};

/// `AF_UNIX`.
const UNIX: u32 = 1;
/// `SOCK_STREAM`.
const STREAM: u32 = 1;
/// The highest type that Linux has (`SOCK_PACKET`).
const LAST_TYPE: u32 = 10;
/// `SOCK_NONBLOCK` and `SOCK_CLOEXEC`, which are the flags of `open`.
const FLAGS: OpenFlags = OpenFlags::NONBLOCK.union(OpenFlags::CLOSE_ON_EXEC);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let flags = OpenFlags::from_bits_retain(call.uint(1)) & FLAGS;
    if call.uint(0) != UNIX {
        return Err(Errno::EAFNOSUPPORT);
    }
    match call.uint(1) & !FLAGS.bits() {
        STREAM => {}
        0..=LAST_TYPE => return Err(Errno::ESOCKTNOSUPPORT),
        _ => return Err(Errno::EINVAL),
    }
    if !matches!(call.uint(2), 0 | UNIX) {
        return Err(Errno::EPROTONOSUPPORT);
    }
    let caller = call.process.caller();
    let mode = FileKind::Socket.mode_bits() | 0o777;
    let open = |end| {
        let status = OpenFlags::READ_WRITE | (flags & OpenFlags::NONBLOCK);
        anonymous::open(&caller, Arc::new(end), mode, Label::Numbered("socket"), status)
    };
    let (first, second) = byte_streams::pair();
    let on_exec = flags.contains(OpenFlags::CLOSE_ON_EXEC);
    let (first, second) = call.process.files.insert_pair(open(first)?, open(second)?, on_exec)?;
    if let Err(error) = memory::write(call.arg(3), &[first, second]) {
        drop((call.process.files.remove(first), call.process.files.remove(second)));
        return Err(error);
    }
    Ok(0)
}
