// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `getsid(2)`: the session of a process.
//!
//! Honoured: 0 for the caller, the id of a process or of one of its threads.
//!
//! Refused: processes that are not there (`ESRCH`).

use crate::Result;
use crate::call::Call;
use crate::family;
use crate::strace::signature;

signature!(Int);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    family::places_of(call.process, call.int(0)).map(|(_, session)| session as usize)
}
