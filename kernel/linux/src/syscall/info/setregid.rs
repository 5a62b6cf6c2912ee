// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `setregid(2)`: changes real and effective group id.
//!
//! Honoured: as on Linux: the superuser may take any, others those that they have. The kernel checks access to files on the host by
//! the new ids, too; new files there belong to the user who started Hadal.
//!
//! Refused: others (`EPERM`).

use crate::Result;
use crate::call::Call;
use crate::credentials::Change;
use crate::strace::signature;

signature!(Int, Int);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let change = Change::Two([call.uint(0), call.uint(1)]);
    call.process.credentials.change_group(change).map(|()| 0)
}
