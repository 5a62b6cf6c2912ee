// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Memory of another process, for one that may look into it (ptrace(2)).
//!
//! The calling thread goes to the other window for the length of a copy within a page, with interrupts off: so nobody else runs
//! there, and no fault is resolved in the wrong window. A page that is not there is filled first, from outside.

use core::sync::atomic::Ordering;

use hadal_hal::interrupts::irq;
use hadal_mem::space::{FaultAccess, FaultOutcome, PAGE_SIZE};

use crate::credentials::Ids;
use crate::process::Process;
use crate::task::Task;
use crate::{Errno, Result, memory, traps};

/// Times that a page is filled again that was gone when it was to be copied.
const TRIES: usize = 100;

/// Whether a process may look into another one (`PTRACE_MODE_ATTACH_REALCREDS`).
pub(crate) fn may_trace(process: &Process, other: &Process) -> bool {
    let (own, its) = (&process.credentials, &other.credentials);
    let is_all = |ids: Ids, id| [ids.real, ids.effective, ids.saved].iter().all(|&each| each == id);
    let is_alike = is_all(its.user(), own.user().real) && is_all(its.group(), own.group().real);
    core::ptr::eq(process, other)
        || own.is_privileged()
        || is_alike && other.attributes.dumpable.load(Ordering::Relaxed) == 1
}

/// Reads bytes of a page of another process.
pub(crate) fn read(other: &Process, address: usize, buffer: &mut [u8]) -> Result<()> {
    let len = buffer.len();
    reach(other, address, len, FaultAccess::Read, || memory::read_bytes(address, buffer))
}

/// Writes bytes of a page of another process.
pub(crate) fn write(other: &Process, address: usize, data: &[u8]) -> Result<()> {
    reach(other, address, data.len(), FaultAccess::Write, || memory::write_bytes(address, data))
}

fn reach(
    other: &Process,
    address: usize,
    len: usize,
    access: FaultAccess,
    mut copy: impl FnMut() -> Result<()>,
) -> Result<()> {
    debug_assert!(address % PAGE_SIZE + len <= PAGE_SIZE);
    if Task::current().try_process().is_some_and(|own| core::ptr::eq(own, other)) {
        return copy();
    }
    for _ in 0..TRIES {
        // What the page table permits the mapping does, but a page may be there that the mapping does not show any more.
        if !other.space().check_range(address, len, access) {
            break;
        }
        let copied = {
            let _irq = irq::disable();
            other.visit(&mut copy)
        };
        if copied.is_ok() {
            return Ok(());
        }
        if traps::fault(other, address, access) != FaultOutcome::Resolved {
            break;
        }
    }
    Err(Errno::EFAULT)
}
