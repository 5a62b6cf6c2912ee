// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `wait4(2)`: waits for a child to end, or to stop or go on.
//!
//! Honoured: an id, any child (-1), those of a group (0, -GROUP); WNOHANG, WUNTRACED, WCONTINUED, `__WALL`, `__WCLONE`;
//! `__WNOTHREAD`, which changes nothing; what the child and its children have used, as for `getrusage`.
//!
//! Refused: nothing; other options are EINVAL.

use linux_raw_sys::general::WEXITED;

use super::waiting::{OPTIONS, wait};
use crate::call::Call;
use crate::family::{News, Whom};
use crate::process::{ExitStatus, StopNews};
use crate::strace::signature;
use crate::usage::Usage;
use crate::{Errno, Result, memory};

signature!(Int, Address, Flags(&flags::WAIT), Address);

/// Status words of children that live (`W_STOPCODE`, `__W_CONTINUED`).
const STOPPED: u32 = 0x7f;
const CONTINUED: u32 = 0xffff;

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (id, options) = (call.int(0), call.uint(2));
    if options & !OPTIONS != 0 {
        return Err(Errno::EINVAL);
    }
    let whom = match id {
        -1 => Whom::Any,
        0 => Whom::Group(call.process.family.group()),
        i32::MIN => return Err(Errno::ESRCH),
        id if id < 0 => Whom::Group(id.unsigned_abs()),
        id => Whom::Id(id as u32),
    };
    let Some(change) = wait(call, whom, options | WEXITED)? else { return Ok(0) };
    let word: u32 = match change.news {
        News::Ended(ExitStatus::Exited(code)) => u32::from(code) << 8,
        News::Ended(ExitStatus::Signaled(signo)) => signo.into(),
        News::Of(StopNews::Stopped(signo)) => u32::from(signo) << 8 | STOPPED,
        News::Of(StopNews::Continued) => CONTINUED,
    };
    memory::write_unless_null(call.arg(1), &word)?;
    memory::write_unless_null(call.arg(3), &Usage::from(change.used))?;
    Ok(change.pid as usize)
}
