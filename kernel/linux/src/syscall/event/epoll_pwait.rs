// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `epoll_pwait(2)`: `epoll_wait` with a signal mask of its own.
//!
//! Honoured: all of it.
//!
//! Refused: set sizes other than 8 (`EINVAL`).

use super::{epoll_events, epoll_wait};
use crate::Result;
use crate::call::Call;
use crate::signal::mask;
use crate::strace::signature;

signature!(Int, Address, Int, Int, Address, Size);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let blocked = mask::read(call.arg(4), call.arg(5))?;
    let deadline_ns = epoll_wait::deadline(call);
    mask::during(call, blocked, |call| epoll_events::wait(call, deadline_ns))
}
