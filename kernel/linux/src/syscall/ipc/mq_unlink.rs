// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `mq_unlink(2)`: removes the name of a message queue.
//!
//! Honoured: all of it; the queue goes when its last descriptor is closed.
//!
//! Refused: nothing.

use crate::Result;
use crate::call::Call;
use crate::files::at;
use crate::mqueue;
use crate::strace::signature;

signature!(Path);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let mut room = at::Text::new();
    let name = at::path(call, 0, &mut room)?;
    mqueue::directory().unlink(&call.process.caller(), name)?;
    Ok(0)
}
