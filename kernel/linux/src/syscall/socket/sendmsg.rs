// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `sendmsg(2)`: sends a message from several buffers, with files.
//!
//! Honoured: as `sendto`; `SCM_RIGHTS`, `SCM_CREDENTIALS`.
//!
//! Refused: as `sendto`; other control messages of `SOL_SOCKET` (`EINVAL`).

use super::message;
use crate::Result;
use crate::call::Call;
use crate::strace::signature;

signature!(Int, Address, Hex);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    message::send_header(call, 0, call.arg(1), call.uint(2))
}
