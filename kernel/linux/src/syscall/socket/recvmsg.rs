// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `recvmsg(2)`: receives a message into several buffers, with files.
//!
//! Honoured: as `recvfrom`; `MSG_CMSG_CLOEXEC`; `SCM_RIGHTS`, `SCM_CREDENTIALS` if `SO_PASSCRED` is set.
//!
//! Refused: as `recvfrom`.

use super::message;
use crate::Result;
use crate::call::Call;
use crate::strace::signature;

signature!(Int, Address, Hex);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    message::receive_header(call, 0, call.arg(1), call.uint(2))
}
