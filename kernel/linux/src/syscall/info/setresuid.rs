// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `setresuid(2)`: changes real, effective and saved user id.
//!
//! Honoured: as on Linux: the superuser may take any, others those that they have. The kernel checks access to files on the host by
//! the new ids, too; new files there belong to the user who started Hadal.
//!
//! Refused: others (`EPERM`).

use crate::Result;
use crate::call::Call;
use crate::credentials::Change;
use crate::strace::signature;

signature!(Int, Int, Int);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let change = Change::Three([call.uint(0), call.uint(1), call.uint(2)]);
    call.process.credentials.change_user(change).map(|()| 0)
}
