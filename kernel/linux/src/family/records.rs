// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Records of processes: who holds one, those that are used again, and how one is found.
//!
//! A record is held by the process until somebody has waited for it, and by who is about to do something with a process that is not
//! his ([`Held`]); when nobody holds it, it goes to the free ones.

use core::ops::Deref;
use core::sync::atomic::Ordering;

use hadal_hal::sync::{Rank, SpinLock};

use super::{ALIVE, ENDED, FREE};
use crate::process::Process;
use crate::task::Task;

/// The process that holds a record, and somebody else who does.
const PROCESS: u64 = 1;
const OBSERVER: u64 = 1 << 32;

/// A process whose record does not become another's for as long as this lives.
pub struct Held(&'static Process);

impl Held {
    /// Holds a record that somebody holds.
    pub fn of(process: &'static Process) -> Option<Self> {
        let more = |holders| (holders != 0).then_some(holders + OBSERVER);
        let held = process.family.holders.fetch_update(Ordering::AcqRel, Ordering::Relaxed, more);
        // Not made otherwise: one that is dropped lets go.
        held.is_ok().then(|| Self(process))
    }

    /// The process. Its record may become another's when this is dropped.
    pub fn process(&self) -> &'static Process {
        self.0
    }
}

impl Deref for Held {
    type Target = Process;

    fn deref(&self) -> &Process {
        self.0
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        release(self.0, OBSERVER);
    }
}

/// All records, the newest first.
static NEWEST: SpinLock<Option<&'static Process>> = SpinLock::new(None);
/// Those that nobody holds.
static FREE_RECORDS: SpinLock<Option<&'static Process>> = SpinLock::ranked(Rank::Process, None);

fn hold(process: &Process) {
    process.family.holders.fetch_add(PROCESS, Ordering::Relaxed);
}

/// Adds a new record.
pub(crate) fn add(process: &'static Process) {
    hold(process);
    let mut newest = NEWEST.lock();
    process.family.previous.store(*newest, Ordering::Relaxed);
    *newest = Some(process);
}

/// A record that nobody holds.
pub(crate) fn take_free() -> Option<&'static Process> {
    let mut free = FREE_RECORDS.lock();
    let process = (*free)?;
    *free = process.family.next_free.load(Ordering::Relaxed);
    hold(process);
    Some(process)
}

/// Gives a record back that [`add`] or [`take_free`] has held.
pub(crate) fn put_back(process: &'static Process) {
    process.signals.leave_actions();
    process.family.state.store(FREE, Ordering::Release);
    release(process, PROCESS);
}

fn release(process: &'static Process, holder: u64) {
    if process.family.holders.fetch_sub(holder, Ordering::AcqRel) == holder {
        process.give_up_window();
        let mut free = FREE_RECORDS.lock();
        process.family.next_free.store(*free, Ordering::Relaxed);
        *free = Some(process);
    }
}

/// All records that there are.
pub(super) fn records() -> impl Iterator<Item = &'static Process> {
    let newest = *NEWEST.lock();
    core::iter::successors(newest, |process| process.family.previous.load(Ordering::Relaxed))
}

/// Processes that live or wait to be waited for.
pub fn all() -> impl Iterator<Item = &'static Process> {
    records().filter(|process| matches!(process.family.state.load(Ordering::Acquire), ALIVE | ENDED))
}

/// The process with an id, or with a thread that has it, held.
pub fn find_held(id: u32) -> Option<Held> {
    let find = || find(id).or_else(|| find_by_thread(id));
    let held = Held::of(find()?)?;
    // It is not another one that has got the record before it was held.
    find().is_some_and(|found| core::ptr::eq(found, held.process())).then_some(held)
}

/// Holds a process that had an id when it was found. `None` if it is over: then its record is nobody's, or that of a process with
/// another id.
pub fn hold_again(process: &'static Process, pid: u32) -> Option<Held> {
    Held::of(process).filter(|held| is_it(held, pid))
}

/// Whether a process that somebody holds is the one with an id, and nobody has waited for it.
pub fn is_it(process: &Held, pid: u32) -> bool {
    process.pid() == pid && process.family.state.load(Ordering::Acquire) != FREE
}

/// The process with an id.
pub fn find(pid: u32) -> Option<&'static Process> {
    let process = Task::of(hadal_sched::find_thread(pid.checked_sub(1)?)?).try_process()?;
    let is_there = matches!(process.family.state.load(Ordering::Acquire), ALIVE | ENDED);
    (process.pid() == pid && is_there).then_some(process)
}

/// The live process that has a thread with an id.
pub fn find_by_thread(tid: u32) -> Option<&'static Process> {
    let process = Task::of(hadal_sched::find_thread(tid.checked_sub(1)?)?).try_process()?;
    process.has_thread(tid).then_some(process)
}
