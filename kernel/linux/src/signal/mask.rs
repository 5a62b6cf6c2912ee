// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Changing what the calling thread blocks, for good or for the time of one call.

use core::sync::atomic::Ordering;

use super::{SigSet, interrupted, send};
use crate::call::Call;
use crate::memory;
use crate::process::Process;
use crate::task::Task;
use crate::{Errno, Result};

/// Bytes of a signal set in program memory: the size that every call takes as an argument.
pub const SET_BYTES: usize = size_of::<SigSet>();

/// Reads a signal set argument of `size` bytes; null means `None`.
#[inline]
pub fn read(address: usize, size: usize) -> Result<Option<SigSet>> {
    if address == 0 {
        return Ok(None);
    }
    if size != SET_BYTES {
        return Err(Errno::EINVAL);
    }
    memory::read(address).map(Some)
}

/// Blocks exactly these signals in the calling thread. A signal of the process that it no longer takes goes to another
/// thread; one that it takes from now on is delivered before it returns to program code, or is gone if it is ignored.
#[inline(always)]
pub fn set(task: &Task, process: &Process, mask: SigSet) {
    replace(task, process, task.signals.mask(), mask);
}

/// [`set`] for who has looked at the present mask, which nobody but the thread changes.
#[inline(always)]
pub fn replace(task: &Task, process: &Process, previous: SigSet, mask: SigSet) {
    let mask = mask.blockable();
    if mask == previous {
        return;
    }
    task.signals.mask.set(mask);
    // C libraries block signals around much that they do, when hardly ever one is pending.
    if super::has_news(task, process) {
        attend_to_pending(task, process, previous, mask);
    }
}

/// The calling thread, whose mask has changed, looks at what is pending.
#[inline(never)]
fn attend_to_pending(task: &Task, process: &Process, previous: SigSet, mask: SigSet) {
    send::retarget(process, mask.minus(previous));
    let ignored = previous.minus(mask).intersection(process.signals.ignored());
    while super::take(task, process, ignored).is_some() {}
    interrupted(task, process);
}

/// Runs `wait` with another mask, if one is given: `ppoll`, `pselect6`, `epoll_pwait`. A signal that ends the wait is
/// delivered under that mask; the handler's frame restores the old one.
pub fn during<R>(
    call: &mut Call<'_>,
    mask: Option<SigSet>,
    wait: impl FnOnce(&mut Call<'_>) -> Result<R>,
) -> Result<R> {
    let Some(mask) = mask else { return wait(call) };
    begin(call.task, call.process, mask);
    let result = wait(call);
    // After `EINTR` delivery restores the mask, also when it turns out that there is nothing to deliver.
    if !matches!(result, Err(Errno::EINTR)) {
        end(call.task, call.process);
    }
    result
}

/// Sets a mask that [`end`] or the delivery of a signal undoes.
pub(crate) fn begin(task: &Task, process: &Process, mask: SigSet) {
    task.signals.saved_mask.set(task.signals.mask());
    task.signals.has_saved_mask.store(true, Ordering::Relaxed);
    set(task, process, mask);
}

/// Takes the mask to go back to, if a call has set another.
pub(super) fn take_saved(task: &Task) -> Option<SigSet> {
    let signals = &task.signals;
    if !signals.has_saved_mask.load(Ordering::Relaxed) {
        return None;
    }
    signals.has_saved_mask.store(false, Ordering::Relaxed);
    Some(signals.saved_mask.get())
}

/// Undoes [`begin`].
pub(crate) fn end(task: &Task, process: &Process) {
    if let Some(mask) = take_saved(task) {
        set(task, process, mask);
    }
}
