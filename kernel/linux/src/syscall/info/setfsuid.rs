// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `setfsuid(2)`: changes the user id for file access, which is always the effective one; returns it, as on Linux also
//! when it fails.
//!
//! Honoured: the call, which never changes the id.
//!
//! Refused: every other id, by returning the unchanged one (Linux's way to say so).

use crate::Result;
use crate::call::Call;
use crate::strace::signature;

signature!(Int);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    Ok(call.process.credentials.user().effective as usize)
}
