// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `sigaltstack(2)`: gives the calling thread a stack for its signal handlers.
//!
//! Honoured: `SS_DISABLE`, `SS_ONSTACK` (as 0), `SS_AUTODISARM`. Stacks of less than 2048 bytes are `ENOMEM`; a handler's frame may
//! need more, see `AT_MINSIGSTKSZ`.
//!
//! Refused: other flags (`EINVAL`), a change while a handler runs on the stack (`EPERM`).

use crate::Result;
use crate::call::Call;
use crate::memory;
use crate::signal::alt_stack;
use crate::strace::signature;

signature!(Address, Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (new, old) = (call.arg(0), call.arg(1));
    let sp = call.frame.rsp;
    let previous = alt_stack::get(call.task).to_raw(sp);
    if new != 0 {
        alt_stack::set(call.task, memory::read(new)?, sp)?;
    }
    memory::write_unless_null(old, &previous)?;
    Ok(0)
}
