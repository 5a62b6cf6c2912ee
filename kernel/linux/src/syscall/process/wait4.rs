// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `wait4(2)`: waits for a child to end.
//!
//! Honoured: an id, any child (-1), those of a group (0, -GROUP); WNOHANG, `__WALL`, `__WCLONE`; WUNTRACED, WCONTINUED and
//! `__WNOTHREAD`, which change nothing; CPU time of the child.
//!
//! Refused: nothing; other options are EINVAL.

use super::waiting::{OPTIONS, wait};
use crate::call::Call;
use crate::family::Whom;
use crate::process::ExitStatus;
use crate::strace::signature;
use crate::usage::Usage;
use crate::{Errno, Result, memory};

signature!(Int, Address, Flags(&flags::WAIT), Address);

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
    let Some(ended) = wait(call, whom, options)? else { return Ok(0) };
    let word: u32 = match ended.status {
        ExitStatus::Exited(code) => u32::from(code) << 8,
        ExitStatus::Signaled(signo) => signo.into(),
    };
    memory::write_unless_null(call.arg(1), &word)?;
    memory::write_unless_null(call.arg(3), &Usage::of_time(ended.run_ns))?;
    Ok(ended.pid as usize)
}
