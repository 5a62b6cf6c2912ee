// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Who becomes the parent of children whose parent ends: the nearest ancestor that has asked for that (`PR_SET_CHILD_SUBREAPER`),
//! or process 1, which waits for all.

use core::sync::atomic::Ordering;

use super::ending::{bury, parent_of, tell_new_parent};
use super::records::Held;
use crate::first;
use crate::process::Process;
use crate::signal::number::SIGCHLD;
use crate::signal::{Info, send};

/// The nearest ancestor of a process that takes orphans; `None` is process 1.
pub(super) fn reaper_above(process: &Process) -> Option<Held> {
    let mut at = parent_of(process)?;
    loop {
        let own = &at.family;
        let takes = at.attributes.is_subreaper.load(Ordering::Relaxed);
        if takes && own.is_alive() && !own.leaves.load(Ordering::SeqCst) {
            return Some(at);
        }
        at = parent_of(&at)?;
    }
}

/// Gives the children of a process that ends another parent. They get the signal that they have asked for.
pub(super) fn orphan_children(process: &'static Process) {
    loop {
        let reaper = reaper_above(process);
        let (child, _held) = {
            let mut children = process.family.children.lock();
            let Some(child) = *children else {
                process.family.has_orphaned.store(true, Ordering::Relaxed);
                return;
            };
            *children = child.family.older.load(Ordering::Relaxed);
            // From here on it may end and be forgotten, and its record be used again.
            let held = Held::of(child);
            become_child(child, reaper.as_ref());
            (child, held)
        };
        let signo = child.attributes.parent_death_signal.load(Ordering::Relaxed);
        if signo != 0 && child.family.is_alive() {
            // Real-time signals may find their queue full, as on Linux.
            let _ = send::to_process(child, Info::kernel(signo));
        }
        settle(child, reaper);
        if tell_new_parent(child) {
            bury(child);
        }
    }
}

/// Says who the parent of a child is from now on.
fn become_child(child: &'static Process, parent: Option<&Held>) {
    let own = &child.family;
    own.exit_signal.store(SIGCHLD, Ordering::Relaxed);
    own.parent_id.store(parent.map_or(first::PID, |parent| parent.pid()), Ordering::Relaxed);
    own.parent.store(parent.map(Held::process), Ordering::SeqCst);
}

/// Puts a child on the list of its new parent, or of the next one above if that has ended meanwhile.
fn settle(child: &'static Process, mut reaper: Option<Held>) {
    while let Some(parent) = reaper {
        {
            let mut children = parent.family.children.lock();
            if !parent.family.has_orphaned.load(Ordering::Relaxed) {
                child.family.older.store(*children, Ordering::Relaxed);
                *children = Some(child);
                return;
            }
        }
        reaper = reaper_above(&parent);
        become_child(child, reaper.as_ref());
    }
}
