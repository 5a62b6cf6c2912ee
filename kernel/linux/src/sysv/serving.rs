// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How those who wait for an object go on: under its lock it is decided who, and they are woken when it is released.

use arrayvec::ArrayVec;
use hadal_hal::sync::{SpinLock, SpinLockGuard};
use hadal_sched::Thread;

/// Threads that are woken at a time.
const WOKEN: usize = 16;

/// Threads to be woken.
pub(super) type Woken = ArrayVec<&'static Thread, WOKEN>;

/// Serves those who wait after a change of the state, some at a time, and releases its lock. `step` notes whom to wake, and says
/// whether there are more than fit.
pub(super) fn serve<'a, S>(
    lock: &'a SpinLock<S>,
    mut state: SpinLockGuard<'a, S>,
    step: impl Fn(&mut S, &mut Woken) -> bool,
) {
    loop {
        let mut woken = Woken::new();
        let more = step(&mut state, &mut woken);
        drop(state);
        for thread in woken {
            thread.unpark();
        }
        if !more {
            return;
        }
        state = lock.lock();
    }
}
