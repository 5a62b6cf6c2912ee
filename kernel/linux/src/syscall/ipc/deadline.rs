// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The time until which sending and receiving wait.

use crate::Result;
use crate::call::Call;
use crate::clock::{self, Timespec};
use crate::memory;

/// The monotonic time of the wall-clock time that an argument points to; `None` to wait for ever.
pub(super) fn read(call: &Call<'_>, index: usize) -> Result<Option<u64>> {
    match call.arg(index) {
        0 => Ok(None),
        address => {
            let realtime_ns = memory::read::<Timespec>(address)?.to_ns()?;
            Ok(clock::deadline(clock::monotonic_at(realtime_ns)))
        }
    }
}
