// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `epoll_pwait2(2)`: `epoll_pwait` with a finer time-out.
//!
//! Honoured: all of it.
//!
//! Refused: set sizes other than 8 (`EINVAL`).

use super::epoll_events;
use crate::call::Call;
use crate::clock::{self, Timespec};
use crate::signal::mask;
use crate::strace::signature;
use crate::{Result, memory};

signature!(Int, Address, Int, Time, Address, Size);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let deadline_ns = match call.arg(3) {
        0 => None,
        address => Some(clock::after(memory::read::<Timespec>(address)?.to_ns()?)),
    };
    let blocked = mask::read(call.arg(4), call.arg(5))?;
    mask::during(call, blocked, |call| epoll_events::wait(call, deadline_ns))
}
