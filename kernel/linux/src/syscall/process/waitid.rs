// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `waitid(2)`: waits for a child to end, stop or go on, and says more about it.
//!
//! Honoured: P_ALL, P_PID, P_PGID, P_PIDFD; WEXITED, WSTOPPED, WCONTINUED, WNOHANG, WNOWAIT, `__WALL`, `__WCLONE`; CPU time of the child.
//!
//! Refused: nothing; other options are EINVAL.

use linux_raw_sys::general::{
    P_ALL, P_PGID, P_PID, P_PIDFD, WCONTINUED, WEXITED, WNOHANG, WNOWAIT, WSTOPPED,
};
use zerocopy::IntoBytes;

use super::waiting::{OPTIONS, wait};
use crate::call::Call;
use crate::family::{News, Whom, code_of, code_of_news};
use crate::pidfd::{self, ProcessFile};
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
    const FILE: u32 = P_PIDFD;
    let (kind, id, mut options) = (call.uint(0), call.int(1), call.uint(3));
    let kinds = options & (WEXITED | WSTOPPED | WCONTINUED);
    if options & !(OPTIONS | WEXITED | WSTOPPED | WNOWAIT) != 0 || kinds == 0 {
        return Err(Errno::EINVAL);
    }
    let mut none = Ok(());
    // Until the wait is over its record is nobody else's.
    let mut held = None;
    let whom = match kind {
        ALL => Whom::Any,
        ONE if id > 0 => Whom::Id(id as u32),
        GROUP if id > 0 => Whom::Group(id as u32),
        GROUP if id == 0 => Whom::Group(call.process.family.group()),
        FILE if id >= 0 => {
            let file = call.process.files().get(id)?;
            if options & WNOHANG == 0 && file.status().contains(pidfd::NONBLOCK) {
                options |= WNOHANG;
                none = Err(Errno::EAGAIN);
            }
            let named = ProcessFile::of(&file)?.hold().ok_or(Errno::ECHILD)?;
            Whom::Record(held.insert(named).process())
        }
        _ => return Err(Errno::EINVAL),
    };
    let change = wait(call, whom, options)?;
    drop(held);
    if change.is_none() {
        none?;
    }
    let address = call.arg(2);
    if address != 0 {
        let mut filled = [0; FILLED];
        if let Some(change) = &change {
            let (code, status) = match change.news {
                News::Ended(status) => code_of(status),
                News::Of(news) => code_of_news(news),
            };
            let info = Info::child(SIGCHLD, code, (change.pid, change.uid), status, 0);
            filled.copy_from_slice(&info.to_raw().as_bytes()[..FILLED]);
        }
        memory::write_bytes(address, &filled)?;
    }
    if let Some(change) = change {
        memory::write_unless_null(call.arg(4), &Usage::from(change.used))?;
    }
    Ok(0)
}
