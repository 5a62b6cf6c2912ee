// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `select(2)`: waits until a descriptor of one of three sets is ready.
//!
//! Honoured: all of it; the time left is stored where the time-out was.
//!
//! Refused: nothing; no file here is ever exceptional. A descriptor that is not open is `EBADF` whatever its number, as
//! POSIX has it, where Linux overlooks high ones.

use crate::call::Call;
use crate::clock::Timeval;
use crate::files::{fd_sets, polling};
use crate::strace::signature;
use crate::{Errno, Result, memory};

signature!(Int, Address, Address, Address, Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let address = call.arg(4);
    if address == 0 {
        return fd_sets::select(call, None);
    }
    let deadline_ns = polling::deadline_after(duration_ns(memory::read(address)?)?);
    let result = fd_sets::select(call, Some(deadline_ns));
    polling::finish(call, result, address, &Timeval::from_ns(polling::remaining_ns(deadline_ns)))
}

/// Seconds and microseconds as nanoseconds; a second or more of microseconds is carried over, as on Linux.
fn duration_ns([seconds, microseconds]: [i64; 2]) -> Result<u64> {
    let seconds = u64::try_from(seconds).map_err(|_| Errno::EINVAL)?;
    let microseconds = u64::try_from(microseconds).map_err(|_| Errno::EINVAL)?;
    Ok(seconds.saturating_mul(1_000_000_000).saturating_add(microseconds.saturating_mul(1000)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_outs_are_carried_over_and_bounded() {
        assert_eq!(duration_ns([1, 1_500_000]), Ok(2_500_000_000));
        assert_eq!(duration_ns([i64::MAX, 0]), Ok(u64::MAX));
        assert_eq!(duration_ns([-1, 0]), Err(Errno::EINVAL));
        assert_eq!(duration_ns([0, -1]), Err(Errno::EINVAL));
    }
}
