// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `epoll_wait(2)`: waits for events of an epoll instance.
//!
//! Honoured: every time-out; all kinds of entries of `epoll_ctl`.
//!
//! Refused: nothing.

use super::epoll_events;
use crate::Result;
use crate::call::Call;
use crate::clock;
use crate::strace::signature;

const NS_PER_MS: u64 = 1_000_000;

signature!(Int, Address, Int, Int);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    epoll_events::wait(call, deadline(call))
}

/// The deadline that argument 3 stands for: a negative time-out is none.
pub(super) fn deadline(call: &Call<'_>) -> Option<u64> {
    u64::try_from(call.int(3)).ok().map(|ms| clock::after(ms * NS_PER_MS))
}
