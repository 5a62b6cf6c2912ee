// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `prlimit64(2)`: reads and changes a resource limit.
//!
//! Honoured: all sixteen resources of the calling process can be read and changed; a hard limit is raised by user 0 only.
//! `RLIMIT_NOFILE`, `RLIMIT_MEMLOCK` and `RLIMIT_MSGQUEUE` are enforced; `RLIMIT_STACK` decides the size of new threads' stacks in the C library (the first
//! thread's stack has the size that was in force when the program started). The others are kept and given back, and
//! not enforced.
//!
//! Refused: process 1 (`EPERM`), other processes (`ESRCH`), unknown resources and a soft limit above the hard one (`EINVAL`), raising a hard limit
//! (`EPERM`).

use super::limits;
use crate::call::Call;
use crate::strace::signature;
use crate::first::{self, Named};
use crate::{Errno, Result, memory};

signature!(Int, Choice(flags::LIMIT), Address, Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let pid = call.int(0);
    if pid != 0 && first::named(call.process, pid)? == Named::First {
        return Err(Errno::EPERM);
    }
    let (resource, new, old) = (call.uint(1), call.arg(2), call.arg(3));
    let new = if new == 0 { None } else { Some(memory::read(new)?) };
    let previous = limits::get(call.process, resource)?;
    if let Some(new) = new {
        limits::set(call.process, resource, new)?;
    }
    memory::write_unless_null(old, &previous)?;
    Ok(0)
}
