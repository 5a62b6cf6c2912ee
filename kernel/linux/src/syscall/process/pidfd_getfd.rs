// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `pidfd_getfd(2)`: takes a copy of another process's descriptor.
//!
//! Honoured: all files. The copy is closed by `execve`.
//!
//! Refused: processes of other users or groups and those that are not dumpable, for all but the superuser (EPERM); those that have
//! ended (ESRCH); flags (EINVAL).

use core::sync::atomic::Ordering;

use crate::call::Call;
use crate::credentials::Ids;
use crate::pidfd::ProcessFile;
use crate::process::Process;
use crate::strace::signature;
use crate::{Errno, Result};

signature!(Int, Int, Hex);

/// Whether a process may look into another one (ptrace(2), PTRACE_MODE_ATTACH_REALCREDS).
fn may_trace(process: &Process, other: &Process) -> bool {
    let (own, its) = (&process.credentials, &other.credentials);
    let is_all = |ids: Ids, id| [ids.real, ids.effective, ids.saved].iter().all(|&each| each == id);
    let is_alike = is_all(its.user(), own.user().real) && is_all(its.group(), own.group().real);
    own.is_privileged() || is_alike && other.attributes.dumpable.load(Ordering::Relaxed) == 1
}

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    if call.uint(2) != 0 {
        return Err(Errno::EINVAL);
    }
    let file = call.process.files.get(call.int(0))?;
    let other = ProcessFile::of(&file)?.hold().ok_or(Errno::ESRCH)?;
    if !may_trace(call.process, &other) {
        return Err(Errno::EPERM);
    }
    if other.family.has_ended() || other.ending().is_some() {
        return Err(Errno::ESRCH);
    }
    let wanted = other.files.get(call.int(1))?;
    call.process.files.insert(wanted, true).map(|fd| fd as usize)
}
