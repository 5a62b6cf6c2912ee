// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The threads of a process, and the time that they have run.

use core::sync::atomic::Ordering;

use arrayvec::ArrayVec;
use hadal_hal::memory::fallible::OutOfMemory;

use super::Process;
use crate::family;
use crate::task::Task;
use crate::thread_set::ThreadSet;

/// Threads that are listed at once.
const BATCH: usize = 64;

/// What the last thread of a process leaves behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Remains {
    /// The thread's control block is nobody's.
    Nothing,
    /// The control block stays: with it the number of the process, or of its first thread.
    ControlBlock,
}

impl Process {
    pub(crate) fn add_thread(&self, tid: u32) -> Result<(), OutOfMemory> {
        loop {
            {
                let mut threads = self.threads.lock();
                if threads.has_room_for(tid) {
                    if threads.is_empty() {
                        self.pid.store(tid, Ordering::Relaxed);
                    }
                    threads.insert(tid);
                    return Ok(());
                }
            }
            self.make_room_for_thread(tid)?;
        }
    }

    #[cold]
    fn make_room_for_thread(&self, tid: u32) -> Result<(), OutOfMemory> {
        let room = ThreadSet::room_for(tid)?;
        let unneeded = self.threads.lock().grow(room);
        // With the lock open.
        drop(unneeded);
        Ok(())
    }

    /// Takes a thread that ends off the list; the last one ends the program.
    pub(crate) fn remove_thread(&'static self, tid: u32) -> Remains {
        let (pid, last) = {
            let mut threads = self.threads.lock();
            // Once the thread is off the list, the others may leave and the record be another's.
            let pid = self.pid();
            threads.remove(tid);
            (pid, threads.is_empty())
        };
        let is_buried = last && self.finish();
        match (tid == pid, is_buried) {
            (true, false) => return Remains::ControlBlock,
            (false, true) => hadal_sched::release(hadal_sched::thread(pid - 1)),
            (true, true) | (false, false) => {}
        }
        Remains::Nothing
    }

    /// A thread ends that has run for so long.
    pub(crate) fn note_run_time(&self, ns: u64) {
        self.ended_ns.fetch_add(ns, Ordering::Relaxed);
    }

    /// There are several processes from now on: the time of threads that have ended is known from here on.
    pub(crate) fn begin_counting(&self) {
        let live: u64 = self.tasks().map(|task| task.thread().run_time_ns()).sum();
        self.ended_ns.store(self.machine_time_ns().saturating_sub(live), Ordering::Relaxed);
    }

    /// CPU time of the machine's programs since it has begun.
    fn machine_time_ns(&self) -> u64 {
        hadal_sched::program_time_ns().saturating_sub(self.run_ns_before.load(Ordering::Relaxed))
    }

    /// Whether a live thread has this id.
    pub fn has_thread(&self, tid: u32) -> bool {
        self.threads.lock().contains(tid)
    }

    /// Ids of the live threads, ascending; each is looked for when it is asked for, so that there may be many.
    pub fn thread_ids(&self) -> impl Iterator<Item = u32> {
        let mut last = 0;
        core::iter::from_fn(move || {
            last = self.threads.lock().from(last + 1).next()?;
            Some(last)
        })
    }

    /// Shows `look` the ids of the live threads from one on, ascending, some at a time without the lock, until it finds
    /// something.
    fn look_through<T>(&self, mut from: u32, mut look: impl FnMut(&[u32]) -> Option<T>) -> Option<T> {
        loop {
            let batch: ArrayVec<u32, BATCH> = self.threads.lock().from(from).take(BATCH).collect();
            if let Some(found) = look(&batch) {
                return Some(found);
            }
            from = *batch.last().filter(|_| batch.is_full())? + 1;
        }
    }

    /// Runs `act` on the live thread with an id, which does not end meanwhile; `None` if there is none. The list of threads is
    /// locked: `act` takes spin locks only.
    pub(crate) fn with_thread<T>(&self, tid: u32, act: impl FnOnce(&'static Task) -> T) -> Option<T> {
        let threads = self.threads.lock();
        threads.contains(tid).then(|| act(Task::of(hadal_sched::thread(tid - 1))))
    }

    /// Number of live threads.
    pub fn thread_count(&self) -> usize {
        self.threads.lock().len()
    }

    /// Number of live threads that run or could run.
    pub fn runnable_count(&self) -> usize {
        self.tasks().filter(|task| !task.thread().is_parked()).count()
    }

    /// The live threads.
    pub fn tasks(&self) -> impl Iterator<Item = &'static Task> {
        self.thread_ids().map(|tid| Task::of(hadal_sched::thread(tid - 1)))
    }

    /// The live thread with the lowest id that `fits`. Usable with interrupts off, where it should be found soon.
    pub(crate) fn find_task(&self, fits: impl Fn(&Task) -> bool) -> Option<&'static Task> {
        self.find_task_from(0, fits)
    }

    /// The same among those whose ids are not below `tid`.
    pub(crate) fn find_task_from(&self, tid: u32, fits: impl Fn(&Task) -> bool) -> Option<&'static Task> {
        let task = |&tid: &u32| Task::of(hadal_sched::thread(tid - 1));
        self.look_through(tid, |batch| batch.iter().map(task).find(|task| fits(task)))
    }

    /// CPU time of all threads, past and present.
    pub fn run_time_ns(&self) -> u64 {
        let now = if family::are_several() {
            let live: u64 = self.tasks().map(|task| task.thread().run_time_ns()).sum();
            self.ended_ns.load(Ordering::Relaxed) + live
        } else {
            self.machine_time_ns()
        };
        // CPUs are looked at one after the other, so a later look may miss what an earlier one saw.
        self.run_ns.fetch_max(now, Ordering::Relaxed).max(now)
    }
}
