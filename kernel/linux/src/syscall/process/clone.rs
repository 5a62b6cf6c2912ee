// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `clone(2)`: makes a thread.
//!
//! Honoured: CLONE_VM, CLONE_FS, CLONE_FILES, CLONE_SIGHAND, CLONE_THREAD (all five needed), CLONE_SYSVSEM, CLONE_SETTLS,
//! CLONE_PARENT_SETTID, CLONE_CHILD_SETTID, CLONE_CHILD_CLEARTID, CLONE_DETACHED (ignored as on Linux).
//!
//! Refused: forms that make a process (ENOSYS, with a message), namespaces and other flags (EINVAL).

use super::new_thread::{Arguments, start};
use crate::Result;
use crate::call::Call;
use crate::strace::signature;

signature!(Flags(&flags::CLONE), Address, Address, Address, Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let arguments = Arguments {
        flags: call.arg(0) as u64,
        stack: call.arg(1) as u64,
        parent_tid: call.arg(2),
        child_tid: call.arg(3),
        tls: call.arg(4) as u64,
    };
    start(call, &arguments)
}
