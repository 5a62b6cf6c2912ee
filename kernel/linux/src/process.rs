// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A program: its memory, files, signal actions, limits and threads.
//!
//! Processes are leaked: a record outlives its program, so that late wakers and `/proc` readers need no reference count on
//! the path of every system call.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use arrayvec::ArrayVec;
use hadal_abi::calls::CallTrace;
use hadal_hal::cpu;
use hadal_hal::interrupts::apic;
use hadal_hal::memory::fallible::OutOfMemory;
use hadal_hal::sync::{Rank, SpinLock};
use hadal_mem::space::ProgramSpace;
use hadal_vfs::synthetic::Children;
use hadal_vfs::{Caller, FdTable, Location, Namespace};
use spin::Once;

use crate::attributes::Attributes;
use crate::credentials::Credentials;
use crate::futex::Futexes;
use crate::machine;
use crate::program::Program;
use crate::refused::Refused;
use crate::signal::ProcessSignals;
use crate::signal::number::SIGSEGV;
use crate::task::Task;
use crate::thread_set::ThreadSet;
use crate::violation::Violation;

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitStatus {
    /// By `exit_group`, or its last thread's `exit`: the low 8 bits of the status.
    Exited(u8),
    /// By a signal.
    Signaled(u8),
}

/// Soft and hard limit of one resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// What is enforced.
    pub soft: u64,
    /// What `soft` may be raised to.
    pub hard: u64,
}

/// No limit (`RLIM64_INFINITY`).
pub const UNLIMITED: u64 = u64::MAX;
/// Number of resources that `prlimit64` knows.
pub const LIMIT_COUNT: usize = 16;

/// What a process is made from.
pub struct ProcessSetup {
    /// The namespace that paths are looked up in.
    pub namespace: Arc<Namespace>,
    /// Working directory.
    pub cwd: Location,
    /// File mode creation mask.
    pub umask: u32,
    /// Credentials.
    pub credentials: Credentials,
    /// Open files: standard input, output and error.
    pub files: FdTable,
    /// Resource limits by number (`RLIMIT_*`).
    pub limits: [Limit; LIMIT_COUNT],
    /// What it runs.
    pub program: Program,
    /// System calls that are watched: lines go to [`machine::Machine::trace`], counts are kept ([`crate::strace::counts`]).
    pub call_trace: Option<CallTrace>,
    /// Memory is filled when it is mapped ([`crate::filling`]), not at the first touch.
    pub fills_at_once: bool,
}

/// A program with its threads.
pub struct Process {
    pid: AtomicU32,
    /// The program's window of the address space.
    pub space: ProgramSpace,
    /// Where paths are looked up.
    pub namespace: Arc<Namespace>,
    /// The root directory at the start, for absolute paths: they start anywhere.
    pub root: Location,
    cwd: SpinLock<Arc<Location>>,
    /// File mode creation mask.
    pub umask: AtomicU32,
    /// Who the program runs as.
    pub credentials: Credentials,
    /// Open files.
    pub files: FdTable,
    /// Actions, process-wide pending signals, timers that send signals.
    pub signals: ProcessSignals,
    /// Threads that wait on words of program memory.
    pub futexes: Futexes,
    /// Resource limits by number.
    pub limits: SpinLock<[Limit; LIMIT_COUNT]>,
    program: SpinLock<Arc<Program>>,
    /// Auxiliary vector as the program got it, for `/proc/self/auxv`.
    pub auxiliary: SpinLock<Vec<u8>>,
    /// Stack pointer at the start, for `/proc/self/stat`.
    pub stack_start: AtomicUsize,
    /// System calls that are watched.
    pub call_trace: Option<CallTrace>,
    /// Memory is filled when it is mapped.
    pub fills_at_once: bool,
    /// Monotonic time of the start.
    pub started_ns: u64,
    threads: SpinLock<ThreadSet>,
    /// Commands of `membarrier` that the program has registered for.
    pub(crate) registered_barriers: AtomicU32,
    /// 0 while running; else [`ENDING`] and the encoded [`ExitStatus`], or [`REPLACING`].
    ending: AtomicU32,
    /// CPU time of the machine's programs when this one began.
    run_ns_before: u64,
    /// What [`Process::run_time_ns`] has returned at most.
    run_ns: AtomicU64,
    /// What `prctl` sets and gives back.
    pub attributes: Attributes,
    /// What it was refused and Linux would have given it.
    pub refused: Refused,
    /// Its directory in `/proc`, once somebody has looked for it.
    pub directory: Once<Arc<dyn Children>>,
    /// Why the program ends, when it is for what it did in interrupt context: reported in the end.
    violation: SpinLock<Option<Violation>>,
}

/// Threads that are listed at once.
const BATCH: usize = 64;

const ENDING: u32 = 1 << 31;
const BY_SIGNAL: u32 = 1 << 8;
/// One thread replaces the program, and all others leave as if it ended.
const REPLACING: u32 = 1 << 9;

/// How long threads may take to leave before they are interrupted in a way that cannot be turned off.
const NMI_DELAY_NS: u64 = 50_000_000;

/// How long to wait before looking again whether they have.
const LEAVING_NS: u64 = 50_000;

/// The timer of [`Process::end`]: program code in ring 0 may have turned interrupts off.
fn send_nmis(_: usize) {
    let own = cpu::current_id();
    for other in (0..cpu::count()).filter(|&other| other != own) {
        let Some(thread) = hadal_sched::running_on(other) else { continue };
        if Task::of(thread).try_process().is_some_and(|process| process.ending().is_some()) {
            apic::send_nmi(other);
        }
    }
}

impl Process {
    /// Makes a process without threads.
    pub fn new(setup: Box<ProcessSetup>, space: ProgramSpace) -> &'static Self {
        Box::leak(Box::new(Self {
            pid: AtomicU32::new(0),
            space,
            root: setup.namespace.root(),
            namespace: setup.namespace,
            cwd: SpinLock::ranked(Rank::Process, Arc::new(setup.cwd)),
            umask: AtomicU32::new(setup.umask),
            credentials: setup.credentials,
            files: setup.files,
            signals: ProcessSignals::new(),
            futexes: Futexes::default(),
            limits: SpinLock::ranked(Rank::Process, setup.limits),
            program: SpinLock::ranked(Rank::Process, Arc::new(setup.program)),
            auxiliary: SpinLock::new(Vec::new()),
            stack_start: AtomicUsize::new(0),
            call_trace: setup.call_trace,
            fills_at_once: setup.fills_at_once,
            started_ns: hadal_time::now_ns(),
            threads: SpinLock::ranked(Rank::Process, ThreadSet::new()),
            registered_barriers: AtomicU32::new(0),
            ending: AtomicU32::new(0),
            run_ns_before: hadal_sched::program_time_ns(),
            run_ns: AtomicU64::new(0),
            attributes: Attributes::default(),
            refused: Refused::default(),
            directory: Once::new(),
            violation: SpinLock::new(None),
        }))
    }

    /// Process id: the thread id of the first thread.
    pub fn pid(&self) -> u32 {
        self.pid.load(Ordering::Relaxed)
    }

    /// What it runs.
    pub fn program(&self) -> Arc<Program> {
        self.program.lock().clone()
    }

    /// From now on it runs another program.
    pub(crate) fn set_program(&self, program: Arc<Program>) {
        let previous = core::mem::replace(&mut *self.program.lock(), program);
        drop(previous);
    }

    /// The working directory.
    pub fn cwd(&self) -> Arc<Location> {
        self.cwd.lock().clone()
    }

    /// Changes the working directory.
    pub fn set_cwd(&self, location: Arc<Location>) {
        let previous = core::mem::replace(&mut *self.cwd.lock(), location);
        drop(previous);
    }

    /// On whose behalf paths are used.
    pub fn caller(&self) -> Caller<'_> {
        let (uid, gid) = self.credentials.effective();
        self.caller_as(uid, gid)
    }

    /// On whose behalf `access` asks.
    pub fn real_caller(&self) -> Caller<'_> {
        self.caller_as(self.credentials.user().real, self.credentials.group().real)
    }

    fn caller_as(&self, uid: u32, gid: u32) -> Caller<'_> {
        Caller {
            uid,
            gid,
            groups: &self.credentials.groups,
            umask: self.umask.load(Ordering::Relaxed),
            is_guest: self.credentials.are_new(uid, gid),
        }
    }

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
    pub(crate) fn remove_thread(&'static self, tid: u32) {
        let last = {
            let mut threads = self.threads.lock();
            threads.remove(tid);
            threads.is_empty()
        };
        if last {
            self.finish();
        }
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

    /// Shows `look` the ids of the live threads, ascending, some at a time without the lock, until it finds something.
    fn look_through<T>(&self, mut look: impl FnMut(&[u32]) -> Option<T>) -> Option<T> {
        let mut from = 0;
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
        let task = |&tid: &u32| Task::of(hadal_sched::thread(tid - 1));
        self.look_through(|batch| batch.iter().map(task).find(|task| fits(task)))
    }

    /// CPU time of all threads, past and present.
    pub fn run_time_ns(&self) -> u64 {
        let now = hadal_sched::program_time_ns().saturating_sub(self.run_ns_before);
        // CPUs are looked at one after the other, so a later look may miss what an earlier one saw.
        self.run_ns.fetch_max(now, Ordering::Relaxed).max(now)
    }

    /// The status that the process is ending with, or `None` while it runs.
    pub fn ending(&self) -> Option<ExitStatus> {
        let ending = self.ending.load(Ordering::Acquire);
        (ending & ENDING != 0).then(|| {
            let number = ending as u8;
            if ending & BY_SIGNAL != 0 { ExitStatus::Signaled(number) } else { ExitStatus::Exited(number) }
        })
    }

    /// In the middle of a call that takes long: lets other threads run that are due, and says whether the process is to go
    /// on.
    pub fn goes_on(&self) -> bool {
        hadal_sched::attend();
        self.ending().is_none()
    }

    /// Starts to end the process: the first status wins, and every thread leaves at its next chance, wherever it is. The
    /// calling thread goes on; it exits when it returns to program code.
    pub fn end(&self, status: ExitStatus) {
        let code = match status {
            ExitStatus::Exited(code) => ENDING | u32::from(code),
            ExitStatus::Signaled(number) => ENDING | BY_SIGNAL | u32::from(number),
        };
        let first = |now| (now == 0 || now == ENDING | REPLACING).then_some(code);
        if self.ending.fetch_update(Ordering::AcqRel, Ordering::Relaxed, first).is_ok() {
            self.drive_out();
        }
    }

    /// Makes every thread look whether it has to leave, wherever it is.
    fn drive_out(&self) {
        for task in self.tasks() {
            task.thread().set_interrupted(true);
            task.thread().poke();
        }
        // Threads of a program are few against the machine's life; without memory for the timer the host's limit is left.
        let _ = hadal_sched::call_at(hadal_time::now_ns() + NMI_DELAY_NS, send_nmis, 0);
    }

    /// Ends all threads but the calling one; false if the process ends, and the caller has to leave, too.
    pub(crate) fn end_other_threads(&self) -> bool {
        let begun = self.ending.compare_exchange(0, ENDING | REPLACING, Ordering::AcqRel, Ordering::Relaxed);
        if begun.is_err() {
            return false;
        }
        if self.thread_count() > 1 {
            self.drive_out();
        }
        while self.thread_count() > 1 {
            hadal_sched::sleep_until(hadal_time::now_ns() + LEAVING_NS);
        }
        self.ending.compare_exchange(ENDING | REPLACING, 0, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Ends the process as if by SIGSEGV for something that it did in interrupt context, or with interrupts off; the first
    /// counts. From any context: the report is made when the last thread leaves.
    pub fn end_for(&self, violation: Violation) {
        {
            let mut first = self.violation.lock();
            if first.is_some() || self.ending().is_some() {
                return;
            }
            *first = Some(violation);
        }
        self.end(ExitStatus::Signaled(SIGSEGV));
    }

    fn finish(&'static self) {
        let violation = self.violation.lock().take();
        if let Some(violation) = violation {
            machine::get().violation(self, &violation);
        }
        // This brings the last of a file to the host; the memory goes with the machine. Nobody is left to hear of a failure.
        let _ = self.space.sync_all();
        self.files.clear();
        let status = self.ending().unwrap_or(ExitStatus::Exited(0));
        let refused = self.refused.text(&self.program().executable, status);
        if !refused.is_empty() {
            machine::get().report(&refused);
        }
        machine::get().program_ended(status);
    }
}
