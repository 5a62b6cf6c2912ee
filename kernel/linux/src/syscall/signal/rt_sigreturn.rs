// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `rt_sigreturn(2)`: the end of a signal handler; the program continues with the registers, mask and alternate stack in the
//! handler's frame, edited or not.
//!
//! Honoured: every general register, RIP, RSP, the flags that a program may set, x87, SSE, AVX and AVX-512 state, `uc_sigmask`,
//! `uc_stack`.
//!
//! Refused: a frame that cannot be read or whose RIP is not a program address (`SIGSEGV`). Segment selectors and system flags
//! in the frame are ignored.

use crate::Result;
use crate::call::Call;
use crate::signal::sigreturn;
use crate::strace::signature;

signature!(=> Nothing);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    sigreturn::sigreturn(call.task, call.process, call.frame);
    // The dispatcher stores the result in RAX: what the frame says stays.
    Ok(call.frame.rax as usize)
}
