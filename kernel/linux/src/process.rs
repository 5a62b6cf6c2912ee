// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A program: its memory, files, signal actions, limits and threads.
//!
//! Records are never freed, but used again ([`crate::family`]), so that late wakers and `/proc` readers need no reference count
//! on the path of every system call. A process is known by the id of its first thread, whose control block stays until
//! somebody has waited for the process.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use arrayvec::ArrayVec;
use hadal_abi::calls::CallTrace;
use hadal_hal::cpu;
use hadal_hal::interrupts::apic;
use hadal_hal::memory::fallible::{self, OutOfMemory};
use hadal_hal::sync::{Rank, SpinLock};
use hadal_hal::threads::link::AtomicRef;
use hadal_mem::frames;
use hadal_mem::space::{KernelMmu, Layout, MapError, ProgramSpace};
use hadal_vfs::synthetic::Children as Entries;
use hadal_vfs::{Caller, FdTable, Location, Namespace};

use crate::Errno;
use crate::attributes::Attributes;
use crate::credentials::Credentials;
use crate::family::{self, Family};
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
    /// The window that it runs in: its own, or that of the parent that waits for it (`vfork`).
    space: AtomicRef<ProgramSpace>,
    own_space: ProgramSpace,
    /// Parent, children, group and session.
    pub(crate) family: Family,
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
    started_ns: AtomicU64,
    threads: SpinLock<ThreadSet>,
    /// Commands of `membarrier` that the program has registered for.
    pub(crate) registered_barriers: AtomicU32,
    /// 0 while running; else [`ENDING`] and the encoded [`ExitStatus`], or [`REPLACING`].
    ending: AtomicU32,
    /// CPU time of the machine's programs when this one began; of no use when there are several.
    run_ns_before: AtomicU64,
    /// CPU time of threads that have ended, since there are several processes.
    ended_ns: AtomicU64,
    /// What [`Process::run_time_ns`] has returned at most.
    run_ns: AtomicU64,
    /// What `prctl` sets and gives back.
    pub attributes: Attributes,
    /// What it was refused and Linux would have given it.
    pub refused: Refused,
    /// Its directory in `/proc`, once somebody has looked for it.
    pub directory: SpinLock<Option<Arc<dyn Entries>>>,
    /// Why the program ends, when it is for what it did in interrupt context: reported in the end.
    violation: SpinLock<Option<Violation>>,
}

/// What a process takes of kernel memory: its record and its lists of waiters.
const RECORD_BYTES: usize = 32 << 10;

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

/// What the last thread of a process leaves behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Remains {
    /// The thread's control block is nobody's.
    Nothing,
    /// The control block stays: with it the number of the process, or of its first thread.
    ControlBlock,
}

impl Process {
    /// Makes a process without threads.
    #[inline(never)]
    pub fn new(setup: Box<ProcessSetup>) -> Result<&'static Self, MapError> {
        let own_space = ProgramSpace::new(KernelMmu::new()?, frames::global(), Layout::default());
        let process = Box::leak(Box::new(Self {
            pid: AtomicU32::new(0),
            space: AtomicRef::none(),
            own_space,
            family: Family::new(),
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
            started_ns: AtomicU64::new(0),
            threads: SpinLock::ranked(Rank::Process, ThreadSet::new()),
            registered_barriers: AtomicU32::new(0),
            ending: AtomicU32::new(0),
            run_ns_before: AtomicU64::new(0),
            ended_ns: AtomicU64::new(0),
            run_ns: AtomicU64::new(0),
            attributes: Attributes::default(),
            refused: Refused::default(),
            directory: SpinLock::new(None),
            violation: SpinLock::new(None),
        }));
        process.space.store(Some(&process.own_space), Ordering::Relaxed);
        process.begin();
        family::add(process);
        Ok(process)
    }

    /// Makes a process like `parent`, in a fresh record or one that is used again: a window that is empty, or the parent's, and
    /// copies of everything else. It has no threads.
    pub(crate) fn copy(parent: &'static Self, shares_window: bool) -> crate::Result<&'static Self> {
        let process = match family::take_free() {
            Some(process) => process,
            None => Self::new_beside(parent)?,
        };
        match process.take_over(parent, shares_window) {
            Ok(()) => Ok(process),
            Err(error) => {
                process.discard();
                Err(error)
            }
        }
    }

    /// A fresh record for a copy of `parent`.
    #[inline(never)]
    fn new_beside(parent: &Self) -> crate::Result<&'static Self> {
        fallible::admit(RECORD_BYTES)?;
        let limits = *parent.limits.lock();
        let setup = Box::new(ProcessSetup {
            namespace: parent.namespace.clone(),
            cwd: (*parent.cwd()).clone(),
            umask: 0,
            credentials: parent.credentials.clone(),
            files: FdTable::new(0),
            limits,
            program: Program::default(),
            call_trace: parent.call_trace,
            fills_at_once: parent.fills_at_once,
        });
        Self::new(setup).map_err(|_| Errno::ENOMEM)
    }

    /// Makes the record that of a copy.
    #[inline(never)]
    fn take_over(&'static self, parent: &'static Self, shares_window: bool) -> crate::Result<()> {
        self.begin();
        self.set_cwd(parent.cwd());
        self.umask.store(parent.umask.load(Ordering::Relaxed), Ordering::Relaxed);
        self.credentials.take_over(&parent.credentials);
        let limits = *parent.limits.lock();
        *self.limits.lock() = limits;
        self.set_program(parent.program());
        let auxiliary = parent.auxiliary.lock().clone();
        *self.auxiliary.lock() = auxiliary;
        self.stack_start.store(parent.stack_start.load(Ordering::Relaxed), Ordering::Relaxed);
        let barriers = parent.registered_barriers.load(Ordering::Relaxed);
        self.registered_barriers.store(barriers, Ordering::Relaxed);
        self.attributes.take_over(&parent.attributes);
        self.signals.take_over(&parent.signals);
        self.files.take_over(&parent.files)?;
        if shares_window {
            self.enter_window(parent);
        } else {
            parent.space().copy_to(&self.own_space).map_err(|_| Errno::ENOMEM)?;
        }
        Ok(())
    }

    /// A fresh or used record becomes that of a process.
    fn begin(&self) {
        self.started_ns.store(hadal_time::now_ns(), Ordering::Relaxed);
        self.run_ns_before.store(hadal_sched::program_time_ns(), Ordering::Relaxed);
        self.ended_ns.store(0, Ordering::Relaxed);
        self.run_ns.store(0, Ordering::Relaxed);
        self.ending.store(0, Ordering::Release);
        self.pid.store(0, Ordering::Relaxed);
        self.refused.forget();
        let directory = self.directory.lock().take();
        drop(directory);
    }

    /// Lets go of a process that was made and has no thread.
    pub(crate) fn discard(&'static self) {
        self.leave_window();
        self.files.clear();
        family::put_back(self);
    }

    /// The window that it runs in.
    #[inline(always)]
    pub fn space(&self) -> &'static ProgramSpace {
        self.space.load(Ordering::Relaxed).expect("a process has a window")
    }

    /// Runs in another process's window from now on.
    fn enter_window(&self, other: &'static Self) {
        let owner = other.window_owner();
        owner.family.hold();
        self.space.store(Some(&owner.own_space), Ordering::Relaxed);
        self.family.set_window_of(Some(owner));
    }

    /// Whose window it runs in.
    fn window_owner(&'static self) -> &'static Self {
        self.family.window_of().unwrap_or(self)
    }

    /// Whether the window is its own.
    pub(crate) fn has_own_window(&self) -> bool {
        self.family.window_of().is_none()
    }

    /// Goes back to the window of its own, which is empty. The calling thread, if it is one of the process, loads its page table
    /// first.
    pub(crate) fn leave_window(&'static self) {
        match self.family.window_of() {
            // If others run in it, it is emptied when they have left.
            None if !self.family.is_held_once() => {}
            None => self.own_space.clear(),
            Some(owner) => {
                self.space.store(Some(&self.own_space), Ordering::Relaxed);
                self.family.set_window_of(None);
                family::let_go(owner);
            }
        }
    }

    /// Runs `act` in the process's window: for a kernel thread that looks at its memory, or a thread of its own.
    pub fn visit<R>(&self, act: impl FnOnce() -> R) -> R {
        hadal_sched::current().context().visit(self.space().switchable(), act)
    }

    /// The window of its own.
    pub(crate) fn own_space(&self) -> &ProgramSpace {
        &self.own_space
    }

    /// Monotonic time of the start.
    pub fn started_ns(&self) -> u64 {
        self.started_ns.load(Ordering::Relaxed)
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
    pub(crate) fn remove_thread(&'static self, tid: u32) -> Remains {
        let last = {
            let mut threads = self.threads.lock();
            threads.remove(tid);
            threads.is_empty()
        };
        // Afterwards the record may be another's.
        let pid = self.pid();
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
        let now = if family::are_several() {
            let live: u64 = self.tasks().map(|task| task.thread().run_time_ns()).sum();
            self.ended_ns.load(Ordering::Relaxed) + live
        } else {
            self.machine_time_ns()
        };
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

    /// The last thread has left. Returns whether nobody will wait for the process.
    fn finish(&'static self) -> bool {
        let violation = self.violation.lock().take();
        if let Some(violation) = violation {
            machine::get().violation(self, &violation);
        }
        // This brings the last of a file to the host. Nobody is left to hear of a failure.
        let _ = self.space().sync_all();
        self.files.clear();
        let status = self.ending().unwrap_or(ExitStatus::Exited(0));
        let refused = self.refused.text(&self.program().executable, status);
        if !refused.is_empty() {
            machine::get().report(&refused);
        }
        if self.family.is_first() {
            // The memory goes with the machine.
            family::end_others(self);
            machine::get().program_ended(status);
            return false;
        }
        self.signals.end();
        self.leave_window();
        family::end(self, status)
    }
}
