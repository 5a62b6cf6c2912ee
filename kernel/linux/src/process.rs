// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A program: its memory, files, signal actions, limits and threads.
//!
//! Records are never freed, but used again ([`crate::family`]), so that late wakers and `/proc` readers need no reference count
//! on the path of every system call. A process is known by the id of its first thread, whose control block stays until
//! somebody has waited for the process. How one is copied, which window it runs in, what it shares with others, which threads it
//! has, and how it ends: `process/`.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use hadal_abi::calls::CallTrace;
use hadal_hal::memory::fallible;
use hadal_hal::sync::{Rank, SpinLock};
use hadal_hal::threads::link::AtomicRef;
use hadal_mem::space::{MapError, ProgramSpace};
use hadal_vfs::synthetic::Children as Entries;
use hadal_vfs::{Caller, FdTable, Location, MAX_DESCRIPTORS, Namespace, OpenFile};
use linux_raw_sys::general::{RLIMIT_FSIZE, RLIMIT_NOFILE, RLIMIT_NPROC};

use crate::Errno;
use crate::attributes::Attributes;
use crate::credentials::Credentials;
use crate::family::{self, Family};
use crate::futex::Futexes;
use crate::program::Program;
use crate::refused::Refused;
use crate::shared::Own;
use crate::signal::ProcessSignals;
use crate::sysv::undo::Undo;
use crate::thread_set::ThreadSet;
use crate::violation::Violation;

mod copying;
mod ending;
mod mapping_limits;
mod sharing;
mod stopping;
mod task_limit;
mod threads;
mod window;

use mapping_limits::MappingLimits;
use sharing::Paths;
use stopping::Stop;
pub(crate) use stopping::StopNews;
pub(crate) use threads::Remains;
use window::{Place, Window};

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

/// What the machine's program is made from.
pub struct ProcessSetup {
    /// What every record is made from.
    pub record: RecordSetup,
    /// Working directory.
    pub cwd: Location,
    /// File mode creation mask.
    pub umask: u32,
    /// Open files with their descriptors: standard input, output and error.
    pub files: Vec<(i32, Arc<OpenFile>)>,
}

/// What the record of a process is made from.
pub struct RecordSetup {
    /// The namespace that paths are looked up in.
    pub namespace: Arc<Namespace>,
    /// Credentials.
    pub credentials: Credentials,
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
    /// The window that it runs in, as [`Place`] says: its own, or that of another process.
    space: AtomicRef<ProgramSpace>,
    place: Place,
    /// Parent, children, group and session.
    pub(crate) family: Family,
    /// Where paths are looked up.
    pub namespace: Arc<Namespace>,
    /// The root directory at the start, for absolute paths: they start anywhere.
    pub root: Location,
    paths: Own<Paths>,
    /// Who the program runs as.
    pub credentials: Credentials,
    /// Open files.
    files: Own<FdTable>,
    /// Actions, process-wide pending signals, timers that send signals.
    pub signals: ProcessSignals,
    /// Threads that wait on words of program memory.
    pub futexes: Futexes,
    /// Resource limits by number.
    pub limits: Box<SpinLock<[Limit; LIMIT_COUNT]>>,
    /// Those of them that bound mappings: every mapping asks for them.
    mapping_limits: MappingLimits,
    /// `RLIMIT_FSIZE` of them: every write asks for it.
    file_limit: AtomicU64,
    /// `RLIMIT_NPROC`.
    task_limit: AtomicU64,
    /// `RLIMIT_NOFILE` of them: every new descriptor asks for it.
    descriptor_limit: AtomicU32,
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
    /// 0 while running; else as `ending.rs` says.
    ending: AtomicU32,
    /// Whether it is stopped, and what of that its parent does not know yet.
    stop: Stop,
    /// CPU time of the machine's programs when this one began; of no use when there are several.
    run_ns_before: AtomicU64,
    /// CPU time of threads that have ended, since there are several processes.
    ended_ns: AtomicU64,
    /// What [`Process::run_time_ns`] has returned at most.
    run_ns: AtomicU64,
    /// What `prctl` sets and gives back.
    pub attributes: Attributes,
    /// What its end does to System V semaphores.
    pub(crate) undo: Undo,
    /// What it was refused and Linux would have given it.
    pub refused: Refused,
    /// Its directory in `/proc`, once somebody has looked for it.
    pub directory: SpinLock<Option<Arc<dyn Entries>>>,
    /// Why the program ends, when it is for what it did in interrupt context: reported in the end.
    violation: SpinLock<Option<Violation>>,
}

impl Process {
    /// Makes a process without threads.
    pub fn new(setup: ProcessSetup) -> crate::Result<&'static Self> {
        let ProcessSetup { record, cwd, umask, files } = setup;
        let process = Self::make(Box::new(record)).map_err(|_| Errno::ENOMEM)?;
        process.begin_first(cwd, umask, files).inspect_err(|_| process.discard())?;
        Ok(process)
    }

    /// Makes a record for a process that has nothing yet of what processes may share.
    #[inline(never)]
    fn make(setup: Box<RecordSetup>) -> Result<&'static Self, MapError> {
        let window = Window::take()?;
        // Apart: the record is built on a kernel stack.
        let limits = fallible::boxed(SpinLock::ranked(Rank::Process, setup.limits));
        let limits = limits.map_err(|_| MapError::NoMemory)?;
        let process = Box::leak(Box::new(Self {
            pid: AtomicU32::new(0),
            space: AtomicRef::none(),
            place: Place::of(window),
            family: Family::new(),
            root: setup.namespace.root(),
            namespace: setup.namespace,
            paths: Own::none(),
            credentials: setup.credentials,
            files: Own::none(),
            signals: ProcessSignals::new(),
            futexes: Futexes::new(window.words()),
            limits,
            mapping_limits: MappingLimits::none(),
            file_limit: AtomicU64::new(u64::MAX),
            task_limit: AtomicU64::new(u64::MAX),
            descriptor_limit: AtomicU32::new(0),
            program: SpinLock::ranked(Rank::Process, Arc::new(setup.program)),
            auxiliary: SpinLock::new(Vec::new()),
            stack_start: AtomicUsize::new(0),
            call_trace: setup.call_trace,
            fills_at_once: setup.fills_at_once,
            started_ns: AtomicU64::new(0),
            threads: SpinLock::ranked(Rank::ProcessThreads, ThreadSet::new()),
            registered_barriers: AtomicU32::new(0),
            ending: AtomicU32::new(0),
            stop: Stop::new(),
            run_ns_before: AtomicU64::new(0),
            ended_ns: AtomicU64::new(0),
            run_ns: AtomicU64::new(0),
            attributes: Attributes::default(),
            undo: Undo::new(),
            refused: Refused::default(),
            directory: SpinLock::new(None),
            violation: SpinLock::new(None),
        }));
        process.set_own_window(window);
        process.note_limits(&process.limits.lock());
        process.begin();
        family::add(process);
        Ok(process)
    }

    /// The window that it runs in.
    #[inline(always)]
    pub fn space(&self) -> &'static ProgramSpace {
        self.space.load(Ordering::Relaxed).expect("a process has a window")
    }

    /// Runs `act` in the process's window: for a kernel thread that looks at its memory, or a thread of its own.
    pub fn visit<R>(&self, act: impl FnOnce() -> R) -> R {
        hadal_sched::current().context().visit(self.space().switchable(), act)
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

    /// Limits have changed; their lock is held.
    pub(crate) fn note_limits(&self, limits: &[Limit; LIMIT_COUNT]) {
        self.mapping_limits.note(limits);
        self.file_limit.store(limits[RLIMIT_FSIZE as usize].soft, Ordering::Relaxed);
        self.task_limit.store(limits[RLIMIT_NPROC as usize].soft, Ordering::Relaxed);
        let descriptors = limits[RLIMIT_NOFILE as usize].soft.min(MAX_DESCRIPTORS.into());
        self.descriptor_limit.store(descriptors as u32, Ordering::Relaxed);
    }

    /// How long it may make files, in bytes.
    #[inline]
    pub(crate) fn file_limit(&self) -> u64 {
        self.file_limit.load(Ordering::Relaxed)
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
            umask: self.umask(),
            is_guest: self.credentials.are_new(uid, gid),
        }
    }
}
