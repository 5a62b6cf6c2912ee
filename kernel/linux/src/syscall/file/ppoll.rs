// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ppoll(2)`: `poll` with a finer time-out and a signal mask of its own.
//!
//! Honoured: all of it; the time left is stored where the time-out was.
//!
//! Refused: as `poll`.

use super::poll;
use crate::call::Call;
use crate::clock::Timespec;
use crate::files::polling;
use crate::signal::mask;
use crate::strace::signature;
use crate::{Result, memory};

signature!(Address, Size, Time, Address, Size);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let address = call.arg(2);
    let deadline_ns = match address {
        0 => None,
        _ => Some(polling::deadline_after(memory::read::<Timespec>(address)?.to_ns()?)),
    };
    let blocked = mask::read(call.arg(3), call.arg(4))?;
    let result = mask::during(call, blocked, |call| poll::poll(call, deadline_ns));
    let Some(deadline_ns) = deadline_ns else { return result };
    polling::finish(call, result, address, &Timespec::from_ns(polling::remaining_ns(deadline_ns)))
}
