// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `getgroups(2)`: the supplementary groups.
//!
//! Honoured: the list, and its length for size 0.
//!
//! Refused: a negative size and one that is too small (`EINVAL`).

use zerocopy::IntoBytes;

use crate::call::Call;
use crate::strace::signature;
use crate::{Errno, Result, memory};

signature!(Int, Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let groups = &call.process.credentials.groups;
    let room = usize::try_from(call.int(0)).map_err(|_| Errno::EINVAL)?;
    if room > 0 {
        if room < groups.len() {
            return Err(Errno::EINVAL);
        }
        memory::write_bytes(call.arg(1), groups.as_bytes())?;
    }
    Ok(groups.len())
}
