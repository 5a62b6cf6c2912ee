// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `prlimit64(2)`: reads and changes a resource limit.
//!
//! Honoured: all sixteen resources can be read and changed, of the calling process and of others with the same ids (the
//! superuser: of any); a hard limit is raised by user 0 only. `RLIMIT_AS`, `RLIMIT_CPU` (SIGXCPU at the soft limit, which
//! moves on by a second then, and SIGKILL at the hard one, for a process that sleeps, too), `RLIMIT_DATA` (the heap, and private mappings that may be written),
//! `RLIMIT_FSIZE`, `RLIMIT_NICE`,
//! `RLIMIT_NOFILE`, `RLIMIT_NPROC`, `RLIMIT_SIGPENDING`, `RLIMIT_MEMLOCK` and `RLIMIT_MSGQUEUE` are enforced; `RLIMIT_STACK` decides the size of new threads' stacks in the C library (the first thread's stack has the size
//! that was in force when the program started). The others are kept and given back, and not enforced.
//!
//! Refused: process 1 and other users' processes (`EPERM`), unknown processes (`ESRCH`), unknown resources and a soft limit
//! above the hard one (`EINVAL`), raising a hard limit (`EPERM`).

use super::limits;
use crate::call::Call;
use crate::credentials::{Credentials, Ids};
use crate::family::{self, Held};
use crate::first;
use crate::strace::signature;
use crate::{Errno, Result, memory};

signature!(Int, Choice(flags::LIMIT), Address, Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let pid = u32::try_from(call.int(0)).map_err(|_| Errno::ESRCH)?;
    let other = match pid {
        0 => None,
        first::PID => return Err(Errno::EPERM),
        _ if pid == call.process.pid() || call.process.has_thread(pid) => None,
        _ => Some(family::find_held(pid).ok_or(Errno::ESRCH)?),
    };
    if other.as_ref().is_some_and(|other| !may_limit(&call.process.credentials, &other.credentials)) {
        return Err(Errno::EPERM);
    }
    let process = other.as_ref().map_or(call.process, Held::process);
    let (resource, new, old) = (call.uint(1), call.arg(2), call.arg(3));
    let new = if new == 0 { None } else { Some(memory::read(new)?) };
    let previous = limits::get(process, resource)?;
    if let Some(new) = new {
        limits::set(process, resource, new, call.process.credentials.is_privileged())?;
    }
    memory::write_unless_null(old, &previous)?;
    Ok(0)
}

/// Whether a process may look at the limits of another one, and change them.
fn may_limit(caller: &Credentials, other: &Credentials) -> bool {
    let same = |real: u32, ids: Ids| [ids.real, ids.effective, ids.saved] == [real; 3];
    caller.is_privileged()
        || same(caller.user().real, other.user()) && same(caller.group().real, other.group())
}
