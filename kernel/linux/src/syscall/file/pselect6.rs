// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `pselect6(2)`: `select` with a finer time-out and a signal mask of its own.
//!
//! Honoured: all of it; the time left is stored where the time-out was.
//!
//! Refused: nothing; no file here is ever exceptional. A descriptor that is not open is `EBADF` whatever its number, as
//! POSIX has it, where Linux overlooks high ones.

use crate::call::Call;
use crate::clock::Timespec;
use crate::files::{fd_sets, polling};
use crate::signal::mask;
use crate::strace::signature;
use crate::{Result, memory};

signature!(Int, Address, Address, Address, Time, Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let address = call.arg(4);
    let deadline_ns = match address {
        0 => None,
        _ => Some(polling::deadline_after(memory::read::<Timespec>(address)?.to_ns()?)),
    };
    let blocked = match call.arg(5) {
        0 => None,
        pair => {
            let [set, size]: [usize; 2] = memory::read(pair)?;
            mask::read(set, size)?
        }
    };
    let result = mask::during(call, blocked, |call| fd_sets::select(call, deadline_ns));
    let Some(deadline_ns) = deadline_ns else { return result };
    polling::finish(call, result, address, &Timespec::from_ns(polling::remaining_ns(deadline_ns)))
}
