// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `getsid(2)`: the session of a process, which the process leads itself.
//!
//! Honoured: 0 and the process's own id.
//!
//! Refused: processes that are not there (`ESRCH`).

use crate::Result;
use crate::call::Call;
use crate::strace::signature;
use crate::first;

signature!(Int);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    first::leader(call.process, call.int(0))
}
