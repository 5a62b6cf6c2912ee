// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `setresuid(2)`: changes real, effective and saved user id, to what they are.
//!
//! Honoured: the id that the process has already, and -1 (no change).
//!
//! Refused: any other id (`EPERM`), also for user 0: files on the host are used as the user who started Hadal.

use super::identity;
use crate::Result;
use crate::call::Call;

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    identity::keep_or_same(&[call.uint(0), call.uint(1), call.uint(2)], call.process.credentials.uid)
}
