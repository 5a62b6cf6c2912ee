// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `setuid(2)`: changes the effective user id, for the superuser all three.
//!
//! Honoured: as on Linux: the superuser may take any, others those that they have. The kernel checks access to files on the host by
//! the new ids, too; new files there belong to the user who started Hadal.
//!
//! Refused: others (`EPERM`; `EINVAL` for -1).

use crate::Result;
use crate::call::Call;
use crate::credentials::Change;
use crate::strace::signature;

signature!(Int);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let change = Change::One(call.uint(0));
    call.process.credentials.change_user(change).map(|()| 0)
}
