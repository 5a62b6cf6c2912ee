// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Threads that are used again: each runs one piece of work after the other, and every piece of work finds what a new thread
//! would.
//!
//! What a thread of the program can change about itself is its signal mask, its alternate signal stack, its name and its
//! memory policy. The last three are seldom changed, so one flag says whether there is anything to do
//! ([`Task::is_altered`]).

use crate::process::Process;
use crate::signal::{alt_stack, mask};
use crate::task::Task;
use crate::{loader, numa};

/// The calling thread will be used again. What it blocks now it blocks between two pieces of work, and at the beginning of
/// those that do not [`inherit`].
pub fn begin(task: &Task) {
    task.signals.keep_mask();
}

/// The work of the calling thread has ended.
#[inline(always)]
pub fn renew(task: &Task, process: &Process) {
    let mask = task.signals.kept_mask();
    if mask != task.signals.mask() {
        mask::set(task, process, mask);
    }
    if task.is_altered() {
        undo(task, process);
    }
}

#[cold]
fn undo(task: &Task, process: &Process) {
    alt_stack::disarm(task);
    numa::set_of_thread(task, None);
    task.set_name(loader::thread_name(&process.program().name));
    task.set_altered(false);
}

/// Gives a thread that waits for work what a thread that `creator` makes has of it: signal mask, name, memory policy.
#[inline(always)]
pub fn inherit(task: &Task, creator: &Task) {
    task.signals.inherit_mask(&creator.signals);
    // The waiting thread itself if somebody has renamed it after its work.
    if creator.is_altered() || task.is_altered() {
        inherit_rest(task, creator);
    }
}

#[cold]
fn inherit_rest(task: &Task, creator: &Task) {
    numa::inherit(task, Some(creator));
    task.set_name(creator.name());
    task.set_altered(creator.is_altered());
}
