// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `unshare(2)`: gives the process for itself what it has together with others.
//!
//! Honoured: CLONE_FILES, CLONE_FS, CLONE_SYSVSEM (what the process has done to semaphores is undone); CLONE_THREAD,
//! CLONE_SIGHAND and CLONE_VM where nothing of the kind is shared.
//!
//! Refused: a process with several threads; CLONE_SIGHAND or CLONE_VM where it is shared, as on Linux; namespaces (all EINVAL).

use linux_raw_sys::general::{CLONE_FILES, CLONE_FS, CLONE_SIGHAND, CLONE_SYSVSEM, CLONE_THREAD, CLONE_VM};

use crate::call::Call;
use crate::strace::signature;
use crate::{Errno, Result};

signature!(Flags(&flags::CLONE));

const KNOWN: u32 = CLONE_FILES | CLONE_FS | CLONE_SIGHAND | CLONE_SYSVSEM | CLONE_THREAD | CLONE_VM;

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (process, flags) = (call.process, call.uint(0));
    let is_shared = flags & (CLONE_SIGHAND | CLONE_VM) != 0 && process.signals.shares_actions()
        || flags & CLONE_VM != 0 && !process.has_window_alone();
    if flags & !KNOWN != 0 || flags != 0 && process.thread_count() > 1 || is_shared {
        return Err(Errno::EINVAL);
    }
    if flags & CLONE_FS != 0 {
        process.unshare_paths()?;
    }
    if flags & CLONE_FILES != 0 {
        process.unshare_files()?;
    }
    if flags & CLONE_SYSVSEM != 0 {
        process.undo.end(process.pid());
    }
    Ok(0)
}
