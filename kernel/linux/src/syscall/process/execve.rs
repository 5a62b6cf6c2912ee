// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `execve(2)`: replaces the program of the process.
//!
//! Honoured: ELF programs, static and with an interpreter; scripts (`#!`), five deep; arguments and environment of up to a
//! quarter of the stack and 6 MiB, each shorter than 128 KiB; `FD_CLOEXEC`. The process keeps its id, also when another thread than the
//! first one asks; that thread then keeps its own, too.
//!
//! Refused: a program that has made threads, keys, events, timers or handlers by `hadal/hrt.h` (ENOSYS, with a message).
//! Set-user-id bits have no effect.

use hadal_vfs::Follow;

use super::no_copy;
use crate::Result;
use crate::call::Call;
use crate::exec::{self, Request};
use crate::files::at;
use crate::strace::signature;

signature!(Path, Address, Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    no_copy::must_leave_nothing(call, "execve")?;
    let mut room = at::Text::new();
    let name = at::path(call, 0, &mut room)?;
    let place = at::place(call.process, at::AT_FDCWD, name, Follow::Yes)?;
    let request = Request { name, arguments: call.arg(1), environment: call.arg(2) };
    exec::replace(call, place, &request)
}
