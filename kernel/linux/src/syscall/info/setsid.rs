// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `setsid(2)`: makes the process the leader of a new session.
//!
//! Honoured: nothing: the process leads its session and process group from the start.
//!
//! Refused: the call (`EPERM`, as on Linux for the leader of a process group).

use crate::call::Call;
use crate::strace::signature;
use crate::{Errno, Result};

signature!();

pub(super) fn call(_: &mut Call<'_>) -> Result<usize> {
    Err(Errno::EPERM)
}
