// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What `process_vm_readv` and `process_vm_writev` share.

use hadal_mem::space::{FaultAccess, PAGE_SIZE};

use crate::call::Call;
use crate::files::segments::{Memory, Segments};
use crate::{Errno, Result, family, first, memory, other_memory};

/// Bytes that are copied before another thread gets its turn.
const TURN: usize = 1 << 20;

/// Copies between the buffers of the calling process and those of another one, from front to front: what the call reads is
/// written to the former. Returns how much was copied; `EFAULT` if that is nothing.
pub(super) fn copy(call: &Call<'_>, access: FaultAccess) -> Result<usize> {
    let (pid, flags) = (call.int(0), call.arg(5));
    if flags != 0 {
        return Err(Errno::EINVAL);
    }
    let mut local = Segments::vector(call.arg(1), call.arg(2))?;
    if local.len() == 0 {
        return Ok(0);
    }
    let mut remote = Segments::vector(call.arg(3), call.arg(4))?;
    if remote.len() == 0 {
        return Ok(0);
    }
    if pid == first::PID as i32 {
        return Err(Errno::EPERM);
    }
    let other = u32::try_from(pid).ok().and_then(family::find_held).ok_or(Errno::ESRCH)?;
    if !other_memory::may_trace(call.process, &other) {
        return Err(Errno::EPERM);
    }
    if other.family.has_ended() || other.ending().is_some() {
        return Err(Errno::ESRCH);
    }
    let mut page = memory::buffer(PAGE_SIZE)?;
    let (mut done, mut since_turn) = (0, 0);
    while let (Some((here, here_len)), Some((there, there_len))) = (local.front(), remote.front()) {
        // Neither part crosses a border of pages, so each is copied whole or not at all.
        let in_page = |address: usize, len: usize| len.min(PAGE_SIZE - address % PAGE_SIZE);
        let len = in_page(here, here_len).min(in_page(there, there_len));
        let part = &mut page[..len];
        let copied = if access == FaultAccess::Read {
            other_memory::read(&other, there, part).and_then(|()| memory::write_bytes(here, part))
        } else {
            memory::read_bytes(here, part).and_then(|()| other_memory::write(&other, there, part))
        };
        if copied.is_err() {
            break;
        }
        (done, since_turn) = (done + len, since_turn + len);
        local.skip(len)?;
        remote.skip(len)?;
        if since_turn >= TURN {
            since_turn = 0;
            if !call.process.goes_on() {
                break;
            }
        }
    }
    if done > 0 { Ok(done) } else { Err(Errno::EFAULT) }
}
