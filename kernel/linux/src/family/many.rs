// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Signals that are sent to many processes, and the children that are made meanwhile.

use core::sync::atomic::{AtomicBool, Ordering, fence};

use hadal_sync::Mutex;

use super::records::{Held, records};
use super::{FREE, MADE};
use crate::process::Process;

/// Held while signals are sent to many processes.
static TO_MANY: Mutex<()> = Mutex::new(());
/// Signals are being sent to many processes: who makes a child meanwhile waits until they are sent. So a child gets such a signal
/// itself, or its parent got it before: then who makes the child takes it first, and makes it again. Processes that make children
/// only read this.
static IS_SENT_TO_MANY: AtomicBool = AtomicBool::new(false);

/// Runs `send` with all processes that a signal to many may be for: [`all`], and children that are being made.
pub fn with_many<T>(send: impl FnOnce(&mut dyn Iterator<Item = Held>) -> T) -> T {
    let _turn = TO_MANY.lock();
    IS_SENT_TO_MANY.store(true, Ordering::Relaxed);
    // Pairs with the one in `join`: this sees the child, or who makes it sees this.
    fence(Ordering::SeqCst);
    let is_there = |process: &&'static Process| process.family.state.load(Ordering::Acquire) != FREE;
    let result = send(&mut records().filter(is_there).filter_map(Held::of));
    IS_SENT_TO_MANY.store(false, Ordering::Release);
    result
}

/// A child that is being made, and has its parent's credentials and signal actions already, is in its parent's group and gets
/// signals that are sent to many. Afterwards its parent has got those that it has missed.
pub(crate) fn join(child: &Process, parent: &Process) {
    child.family.group.store(parent.family.group(), Ordering::Relaxed);
    child.family.session.store(parent.family.session(), Ordering::Relaxed);
    child.family.leads.store(false, Ordering::Relaxed);
    child.family.leaves.store(false, Ordering::Relaxed);
    child.family.has_orphaned.store(false, Ordering::Relaxed);
    child.family.has_let_go.store(parent.family.has_let_go(), Ordering::Relaxed);
    child.family.state.store(MADE, Ordering::Release);
    fence(Ordering::SeqCst);
    if IS_SENT_TO_MANY.load(Ordering::Acquire) {
        drop(TO_MANY.lock());
    }
}
