// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `clone(2)`: makes a thread, or a process.
//!
//! Honoured: for a thread CLONE_VM, CLONE_FS, CLONE_FILES, CLONE_SIGHAND, CLONE_THREAD (all five needed); for a process
//! CLONE_VM, CLONE_FS, CLONE_FILES, CLONE_SIGHAND (with CLONE_VM), CLONE_VFORK, CLONE_PIDFD and the signal that it ends with;
//! for both CLONE_SYSVSEM, CLONE_SETTLS, CLONE_PARENT_SETTID, CLONE_CHILD_SETTID, CLONE_CHILD_CLEARTID, CLONE_DETACHED (ignored
//! as on Linux).
//!
//! Refused: a process of a program that has made threads, keys, events, timers or handlers by `hadal/hrt.h` (ENOSYS, with a
//! message); namespaces and other flags (EINVAL).

use linux_raw_sys::general::{CLONE_PARENT_SETTID, CLONE_PIDFD, CSIGNAL};

use super::new_thread::{Arguments, start};
use crate::call::Call;
use crate::strace::signature;
use crate::{Errno, Result};

signature!(Flags(&flags::CLONE), Address, Address, Address, Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    const BOTH: usize = (CLONE_PIDFD | CLONE_PARENT_SETTID) as usize;
    if call.arg(0) & BOTH == BOTH {
        return Err(Errno::EINVAL);
    }
    let arguments = Arguments {
        flags: call.arg(0) as u64,
        stack: call.arg(1) as u64,
        parent_tid: call.arg(2),
        child_tid: call.arg(3),
        // One word for both, as on Linux.
        pidfd: call.arg(2),
        tls: call.arg(4) as u64,
        exit_signal: (call.arg(0) & CSIGNAL as usize) as u64,
    };
    start(call, &arguments)
}
