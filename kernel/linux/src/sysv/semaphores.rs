// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A set of semaphores, and the threads that wait for it.
//!
//! Whoever changes values carries out the operations of those who wait and can go on, the longest waiting first, under the set's
//! lock. A few at a time: then the lock is released, and they are woken.

mod values;

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use hadal_hal::memory::fallible;
use hadal_hal::sync::{Rank, SpinLock, SpinLockGuard};
use hadal_sched::{Thread, Wake, current, park};
use smallvec::SmallVec;

use super::ids::{Place, Table};
use super::operation::{self, Attempt, Operation, Semaphore};
use super::permissions::{CHANGE, Permissions, READ};
use super::serving::{Woken, serve};
use super::{now, undo};
use crate::process::Process;
use crate::{Errno, Result};

pub(crate) use values::Waits;

/// Sets that there may be (`SEMMNI`).
pub const COUNT_MAX: usize = 32000;
/// Semaphores of a set (`SEMMSL`).
pub const SIZE_MAX: usize = 32000;
/// Semaphores of all sets (`SEMMNS`).
pub const ALL_MAX: usize = COUNT_MAX * SIZE_MAX;
/// Operations of a call (`SEMOPM`).
pub const OPERATIONS_MAX: usize = 500;

/// Operations of a call; as many as most have take no memory.
pub(crate) type Operations = SmallVec<[Operation; 4]>;

static SETS: Table<Set> = Table::new(COUNT_MAX);

pub(crate) fn table() -> &'static Table<Set> {
    &SETS
}

/// Finds the set with a key, or makes one of `size` semaphores; returns its id. `EINVAL` for a size that no set may have, or that is
/// more than this one has.
pub(crate) fn get(process: &Process, key: i32, size: i32, flags: i32) -> Result<i32> {
    let size = usize::try_from(size).ok().filter(|&size| size <= SIZE_MAX).ok_or(Errno::EINVAL)?;
    let caller = process.caller();
    let check = |set: &Set| {
        if set.size < size {
            return Err(Errno::EINVAL);
        }
        set.state.lock().permissions.check(&caller, flags as u32)
    };
    let make = || {
        if size == 0 {
            return Err(Errno::EINVAL);
        }
        let semaphores = fallible::filled(Semaphore::default(), size)?;
        let permissions = Permissions::new(key, &caller, flags);
        Ok(move |place: Place| Set::new(place, permissions, semaphores))
    };
    SETS.find_or_make(key, flags, check, make)
}

/// A set.
pub(crate) struct Set {
    id: i32,
    size: usize,
    state: SpinLock<State>,
}

struct State {
    permissions: Permissions,
    operated: i64,
    changed: i64,
    semaphores: Vec<Semaphore>,
    /// What is added at the end of processes, by the number of their list.
    adjustments: BTreeMap<u64, Vec<i16>>,
    /// Threads that wait, in the order in which they have come.
    waiting: BTreeMap<u64, Arc<Waiter>>,
    arrived: u64,
    /// It is in the table no more.
    is_gone: bool,
}

/// A thread that waits.
struct Waiter {
    thread: &'static Thread,
    pid: u32,
    operations: Operations,
    /// The number of the list for its adjustments, if it has any.
    list: Option<u64>,
    /// Index of the operation that has to wait.
    blocked: AtomicUsize,
    /// What has become of it, once it does not wait any more: an error, or 0.
    outcome: AtomicU32,
}

impl Waiter {
    fn result(&self) -> Result<()> {
        match self.outcome.load(Ordering::Relaxed) {
            0 => Ok(()),
            number => Err(Errno::from_raw(number)),
        }
    }
}

impl State {
    /// Attempts operations.
    fn attempt(
        semaphores: &mut [Semaphore],
        adjustments: &mut BTreeMap<u64, Vec<i16>>,
        operations: &[Operation],
        list: Option<u64>,
        pid: u32,
    ) -> Attempt {
        match list {
            None => operation::attempt(semaphores, &mut [], operations, pid),
            // They stay as long as the process lives or waits.
            Some(list) => match adjustments.get_mut(&list) {
                Some(adjustments) => operation::attempt(semaphores, adjustments, operations, pid),
                None => Attempt::Failed(Errno::EIDRM),
            },
        }
    }

    /// Carries out what waits and can be done. True if there is more than can be woken at once: to be called again.
    fn serve(&mut self, woken: &mut Woken) -> bool {
        let Self { semaphores, adjustments, waiting, is_gone, operated, .. } = self;
        loop {
            let (mut from, mut progress) = (0, false);
            while let Some((&turn, waiter)) = waiting.range(from..).next() {
                if woken.is_full() {
                    return true;
                }
                from = turn + 1;
                let attempt = if *is_gone {
                    Attempt::Failed(Errno::EIDRM)
                } else {
                    Self::attempt(semaphores, adjustments, &waiter.operations, waiter.list, waiter.pid)
                };
                let outcome = match attempt {
                    Attempt::Blocked(index) => {
                        waiter.blocked.store(index, Ordering::Relaxed);
                        continue;
                    }
                    Attempt::Done => {
                        *operated = now();
                        progress |= alters(&waiter.operations);
                        0
                    }
                    Attempt::Failed(error) => error.raw(),
                };
                waiter.outcome.store(u32::from(outcome), Ordering::Relaxed);
                woken.push(waiter.thread);
                waiting.remove(&turn);
            }
            if !progress {
                return false;
            }
        }
    }

    /// `EINVAL` for a semaphore that is not there.
    fn semaphore(&mut self, number: i32) -> Result<(usize, &mut Semaphore)> {
        let number = usize::try_from(number).map_err(|_| Errno::EINVAL)?;
        self.semaphores.get_mut(number).map(|semaphore| (number, semaphore)).ok_or(Errno::EINVAL)
    }
}

/// Whether operations change values.
fn alters(operations: &[Operation]) -> bool {
    operations.iter().any(|operation| operation.change != 0)
}

impl Set {
    fn new(place: Place, permissions: Permissions, semaphores: Vec<Semaphore>) -> Self {
        let size = semaphores.len();
        let state = State {
            permissions: permissions.at(place.sequence),
            operated: 0,
            changed: now(),
            semaphores,
            adjustments: BTreeMap::new(),
            waiting: BTreeMap::new(),
            arrived: 0,
            is_gone: false,
        };
        Self { id: place.id(), size, state: SpinLock::ranked(Rank::Files, state) }
    }

    /// Number of its semaphores.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Carries out the operations of a call, and waits until a monotonic time for when that can be. `EAGAIN` when the time is over,
    /// `EINTR`, `EIDRM`.
    pub(crate) fn operate(
        &self,
        process: &Process,
        operations: Operations,
        deadline_ns: Option<u64>,
    ) -> Result<()> {
        if operations.iter().any(|operation| usize::from(operation.number) >= self.size) {
            return Err(Errno::EFBIG);
        }
        let (pid, wanted) = (process.pid(), if alters(&operations) { CHANGE } else { READ });
        let list = if operations.iter().any(Operation::is_undone) {
            Some(self.prepare_adjustments(process)?)
        } else {
            None
        };
        let mut state = self.state.lock();
        state.permissions.check(&process.caller(), wanted)?;
        if state.is_gone {
            return Err(Errno::EIDRM);
        }
        let State { semaphores, adjustments, .. } = &mut *state;
        match State::attempt(semaphores, adjustments, &operations, list, pid) {
            Attempt::Done => {
                state.operated = now();
                if alters(&operations) {
                    self.serve(state);
                }
                Ok(())
            }
            Attempt::Failed(error) => Err(error),
            Attempt::Blocked(index) => {
                fallible::admit(fallible::SMALL_BYTES)?;
                let (blocked, outcome) = (AtomicUsize::new(index), AtomicU32::new(0));
                let waiter = Waiter { thread: current(), pid, operations, list, blocked, outcome };
                let waiter = fallible::arc(waiter)?;
                let turn = state.arrived;
                state.arrived += 1;
                state.waiting.insert(turn, waiter.clone());
                drop(state);
                self.wait(turn, &waiter, deadline_ns)
            }
        }
    }

    /// Waits until the calling thread has been served.
    fn wait(&self, turn: u64, waiter: &Waiter, deadline_ns: Option<u64>) -> Result<()> {
        let thread = current();
        thread.note_wait(Some((&"semaphores", core::ptr::from_ref(self) as u64)));
        let mut timed_out = false;
        let result = loop {
            let given_up =
                if thread.interrupted() { Some(Errno::EINTR) } else { timed_out.then_some(Errno::EAGAIN) };
            let mut state = self.state.lock();
            if !state.waiting.contains_key(&turn) {
                break waiter.result();
            }
            if let Some(error) = given_up {
                state.waiting.remove(&turn);
                break Err(error);
            }
            drop(state);
            timed_out = park(deadline_ns) == Wake::TimedOut;
        };
        thread.note_wait(None);
        result
    }

    /// Serves those who wait after a change, and releases the lock.
    fn serve<'a>(&'a self, state: SpinLockGuard<'a, State>) {
        serve(&self.state, state, State::serve);
    }

    /// Sees to it that the process has adjustments here; returns the number of its list.
    fn prepare_adjustments(&self, process: &Process) -> Result<u64> {
        let list = undo::list_with(process, self.id)?;
        if !self.state.lock().adjustments.contains_key(&list) {
            let new = fallible::filled(0i16, self.size)?;
            fallible::admit(fallible::SMALL_BYTES)?;
            self.state.lock().adjustments.entry(list).or_insert(new);
        }
        Ok(list)
    }

    /// The processes with a list have ended.
    pub(super) fn undo(&self, list: u64, pid: u32) {
        let mut state = self.state.lock();
        let Some(adjustments) = state.adjustments.remove(&list) else { return };
        if operation::undo(&mut state.semaphores, &adjustments, pid) {
            state.operated = now();
            self.serve(state);
        }
    }
}
