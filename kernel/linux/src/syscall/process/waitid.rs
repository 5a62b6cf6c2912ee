// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `waitid(2)`: waits for a child to end, and says more about it.
//!
//! Honoured: P_ALL, P_PID, P_PGID; WEXITED, WNOHANG, WNOWAIT, `__WALL`, `__WCLONE`; WSTOPPED and WCONTINUED, of which there are none;
//! CPU time of the child.
//!
//! Refused: P_PIDFD (EINVAL): there are no such descriptors.

use linux_raw_sys::general::{P_ALL, P_PGID, P_PID, WCONTINUED, WEXITED, WNOHANG, WNOWAIT, WSTOPPED};
use zerocopy::IntoBytes;

use super::waiting::{OPTIONS, wait};
use crate::call::Call;
use crate::family::{Whom, code_of};
use crate::signal::Info;
use crate::signal::number::SIGCHLD;
use crate::strace::signature;
use crate::usage::Usage;
use crate::{Errno, Result, memory};

signature!(Int, Int, Address, Flags(&flags::WAIT), Address);

/// Bytes of `siginfo_t` that the call fills in.
const FILLED: usize = 24 + 8;

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    const ALL: u32 = P_ALL;
    const ONE: u32 = P_PID;
    const GROUP: u32 = P_PGID;
    let (kind, id, options) = (call.uint(0), call.int(1), call.uint(3));
    let kinds = options & (WEXITED | WSTOPPED | WCONTINUED);
    if options & !(OPTIONS | WEXITED | WSTOPPED | WNOWAIT) != 0 || kinds == 0 {
        return Err(Errno::EINVAL);
    }
    let whom = match kind {
        ALL => Whom::Any,
        ONE if id > 0 => Whom::Id(id as u32),
        GROUP if id > 0 => Whom::Group(id as u32),
        GROUP if id == 0 => Whom::Group(call.process.family.group()),
        _ => return Err(Errno::EINVAL),
    };
    // Without WEXITED it is for children that stop, and none does: a caller that would wait for ever is told.
    if options & WEXITED == 0 && options & WNOHANG == 0 {
        return Err(Errno::ECHILD);
    }
    let ended = wait(call, whom, options)?;
    let address = call.arg(2);
    if address != 0 {
        let mut filled = [0; FILLED];
        if let Some(ended) = &ended {
            let (code, status) = code_of(ended.status);
            let info = Info::child(SIGCHLD, code, (ended.pid, ended.uid), status, 0);
            filled.copy_from_slice(&info.to_raw().as_bytes()[..FILLED]);
        }
        memory::write_bytes(address, &filled)?;
    }
    if let Some(ended) = ended {
        memory::write_unless_null(call.arg(4), &Usage::of_time(ended.run_ns))?;
    }
    Ok(0)
}
