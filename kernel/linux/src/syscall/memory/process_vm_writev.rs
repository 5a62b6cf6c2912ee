// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `process_vm_writev(2)`: writes to memory of another process.
//!
//! Honoured: up to 1024 buffers on each side, up to 2 GiB; the id of a process, or the caller's own. What comes before the first
//! page that cannot be accessed is copied.
//!
//! Refused: processes of other users or groups and those that are not dumpable, for all but the superuser, and process 1 (`EPERM`);
//! flags (`EINVAL`).

use hadal_mem::space::FaultAccess;

use super::process_vm;
use crate::Result;
use crate::call::Call;
use crate::strace::signature;

signature!(Int, Address, Size, Address, Size, Hex);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    process_vm::copy(call, FaultAccess::Write)
}
