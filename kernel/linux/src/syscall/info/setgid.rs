// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `setgid(2)`: changes the group id, to what it is.
//!
//! Honoured: the id that the process has already.
//!
//! Refused: any other id (`EPERM`; `EINVAL` for -1), also for user 0: files on the host are used as the user who started Hadal.

use super::identity;
use crate::Result;
use crate::call::Call;

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    identity::same(call.uint(0), call.process.credentials.gid)
}
