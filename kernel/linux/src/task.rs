// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A thread of a Linux program: what the scheduler's thread does not know.
//!
//! Tasks live in a type-stable table with the same index as their [`Thread`], which has a link to its task: so the current one
//! is found without a lock, and a reference never dangles. The thread id is the index plus one.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use hadal_hal::memory::fallible::OutOfMemory;
use hadal_hal::sync::{Rank, SpinLock};
use hadal_hal::threads::companion::Companions;
use hadal_hal::threads::head;
use hadal_hal::threads::link::AtomicRef;
use hadal_hal::threads::table::ThreadTable;
use hadal_hal::trace::{self, Kind};
use hadal_hal::trap::TrapFrame;
use hadal_sched::{SpawnError, Thread};

use crate::family;
use crate::futex;
use crate::machine;
use crate::numa;
use crate::process::{Process, Remains};
use crate::restart::Interruption;
use crate::schedule::Schedule;
use crate::signal::{self, TaskSignals, alt_stack};

/// Longest thread name with its NUL (`PR_SET_NAME`).
pub const NAME_LEN: usize = 16;

/// Linux state of one thread. What every system call touches comes first, and a power of two is found by a shift.
#[repr(C, align(512))]
pub struct Task {
    process: AtomicRef<Process>,
    /// Number of the system call in progress, or `u64::MAX` outside of one.
    pub call_number: AtomicU64,
    /// Instruction pointer in program code when somebody asked last, for reports; see [`Task::note_place`].
    last_rip: AtomicU64,
    /// Stack pointer there.
    last_rsp: AtomicU64,
    /// Frame pointer there.
    last_rbp: AtomicU64,
    /// Address of the registered rseq area, or 0.
    pub rseq: AtomicUsize,
    /// CPU that the area names; without one, the CPU where [`rseq::has_moved`](crate::rseq::has_moved) found none.
    pub rseq_cpu: AtomicU32,
    /// Word before the abort address of its critical sections.
    pub rseq_signature: AtomicU32,
    index: u32,
    /// It is in [`Task::exit`].
    ends: AtomicBool,
    /// See [`Task::is_altered`].
    altered: AtomicBool,
    /// What an interrupted system call has left.
    pub(crate) interruption: Interruption,
    /// Signal mask, pending signals, alternate stack.
    pub signals: TaskSignals,
    /// Where 0 is written and a waiter woken when the thread ends (`set_tid_address`), or 0.
    pub clear_child_tid: AtomicUsize,
    /// Head of the robust futex list, or 0.
    pub robust_list: AtomicUsize,
    /// Policy and priority.
    pub schedule: Schedule,
    name: [AtomicU64; NAME_LEN / size_of::<u64>()],
    /// The process that it ends as the last of its threads, for that time; or 0.
    ended_pid: AtomicU32,
    /// Where a new thread stores its id first, or 0 (`CLONE_CHILD_SETTID`).
    pub(crate) set_child_tid: AtomicUsize,
    /// First registers of a thread that `clone` has made: the creator's, changed as it says.
    pub(crate) first_frame: SpinLock<TrapFrame>,
}

static TASKS: ThreadTable<Task> = ThreadTable::new();

/// Leads from the scheduler's threads to their tasks, from the first time on that somebody has asked for one.
static LINKS: Companions<Task> = Companions::new();

impl Task {
    /// Makes the tasks of the threads around an index; false when memory is out.
    pub fn prepare_table(index: u32) -> bool {
        TASKS.prepare(index, Self::new) && numa::prepare_table(index)
    }

    fn new(index: u32) -> Self {
        Self {
            index,
            ends: AtomicBool::new(false),
            altered: AtomicBool::new(false),
            process: AtomicRef::none(),
            interruption: Interruption::new(),
            signals: TaskSignals::new(),
            clear_child_tid: AtomicUsize::new(0),
            robust_list: AtomicUsize::new(0),
            rseq: AtomicUsize::new(0),
            rseq_signature: AtomicU32::new(0),
            rseq_cpu: AtomicU32::new(0),
            call_number: AtomicU64::new(u64::MAX),
            last_rip: AtomicU64::new(0),
            last_rsp: AtomicU64::new(0),
            last_rbp: AtomicU64::new(0),
            schedule: Schedule::new(),
            name: [const { AtomicU64::new(0) }; 2],
            ended_pid: AtomicU32::new(0),
            set_child_tid: AtomicUsize::new(0),
            first_frame: SpinLock::ranked(Rank::Process, TrapFrame::program(0, 0)),
        }
    }

    /// The task that belongs to a scheduler thread.
    #[inline]
    pub fn of(thread: &Thread) -> &'static Task {
        LINKS.get(thread.personality()).unwrap_or_else(|| Self::link(thread))
    }

    #[cold]
    fn link(thread: &Thread) -> &'static Task {
        let task = TASKS.get(thread.id(), Task::new);
        LINKS.set(thread.personality(), Some(task));
        task
    }

    /// The calling task.
    #[inline]
    pub fn current() -> &'static Task {
        LINKS.get(head::running().personality()).unwrap_or_else(|| Self::link(hadal_sched::current()))
    }

    /// The calling task, of a thread that has been in program code: to make it ready for that took [`Task::of`].
    ///
    /// # Panics
    /// If the thread is another one.
    #[inline]
    pub(crate) fn of_program() -> &'static Task {
        LINKS.get(head::running().personality()).unwrap_or_else(|| panic!("a program thread has a task"))
    }

    /// The live task of `process` with a thread id.
    pub fn find(process: &Process, tid: u32) -> Option<&'static Task> {
        process.has_thread(tid).then(|| Self::of(hadal_sched::thread(tid - 1)))
    }

    /// The scheduler's thread.
    pub fn thread(&self) -> &'static Thread {
        hadal_sched::thread(self.index)
    }

    /// Thread id, as the program sees it.
    pub fn tid(&self) -> u32 {
        self.index + 1
    }

    /// The process, while the task is alive.
    #[inline]
    pub fn try_process(&self) -> Option<&'static Process> {
        self.process.load(Ordering::Acquire)
    }

    /// The process.
    ///
    /// # Panics
    /// If the thread belongs to none: a kernel thread.
    #[inline]
    pub fn process(&self) -> &'static Process {
        self.try_process().expect("a program thread has a process")
    }

    /// Makes a reused or fresh task the first or another thread of a process, everything as for a new Linux thread of
    /// `parent`, or of nobody. [`Task::publish`] comes when it is ready to run.
    pub fn prepare(&self, process: &'static Process, parent: Option<&Task>) {
        self.interruption.reset();
        self.ends.store(false, Ordering::Relaxed);
        // The thread that had this place before.
        if self.is_altered() {
            alt_stack::disarm(self);
        }
        self.set_altered(parent.is_some_and(Task::is_altered));
        self.signals.reset(parent.map(|parent| &parent.signals));
        self.clear_child_tid.store(0, Ordering::Relaxed);
        self.robust_list.store(0, Ordering::Relaxed);
        self.rseq.store(0, Ordering::Relaxed);
        self.call_number.store(u64::MAX, Ordering::Relaxed);
        self.schedule.inherit(self.thread(), parent.map(|parent| &parent.schedule));
        numa::inherit(self, parent);
        self.set_name(parent.map_or([0; NAME_LEN], Task::name));
        self.process.store(Some(process), Ordering::Release);
    }

    /// Makes another thread of `parent`'s process that begins in the kernel with `entry(arg)`. It is complete and runs once
    /// [`Thread::start`] is called.
    pub fn spawn(
        parent: &Task,
        entry: fn(usize) -> !,
        arg: usize,
        fs_base: u64,
    ) -> Result<&'static Task, SpawnError> {
        let process = parent.process();
        let thread = hadal_sched::create(entry, arg, None)?;
        if !thread.context().set_program(process.space().switchable(), fs_base, false) {
            hadal_sched::discard(thread);
            return Err(SpawnError::NoMemory);
        }
        let task = Task::of(thread);
        task.prepare(process, Some(parent));
        if task.publish().is_err() {
            hadal_sched::discard(thread);
            return Err(SpawnError::NoMemory);
        }
        // A process that is ending or stopping while its thread is being made must not miss it.
        if process.calls_off() {
            thread.set_interrupted(true);
        }
        Ok(task)
    }

    /// Puts the thread on its process's list. From now on signals and the end of the process find it; what they ask for
    /// waits until it is started.
    /// On failure it has no process any more.
    pub fn publish(&self) -> Result<(), OutOfMemory> {
        self.process().add_thread(self.tid()).inspect_err(|_| self.process.store(None, Ordering::Relaxed))
    }

    /// Whether the thread has run its last instruction of the program.
    pub fn ends(&self) -> bool {
        self.ends.load(Ordering::Relaxed)
    }

    /// Remembers where program code was when an interrupt asked the thread to look for signals.
    pub(crate) fn note_place(&self, frame: &TrapFrame) {
        self.last_rip.store(frame.rip, Ordering::Relaxed);
        self.last_rsp.store(frame.rsp, Ordering::Relaxed);
        self.last_rbp.store(frame.rbp, Ordering::Relaxed);
    }

    /// What was noted says nothing any more.
    pub(crate) fn forget_place(&self) {
        self.last_rip.store(0, Ordering::Relaxed);
    }

    /// Instruction, stack and frame pointer that were noted last, if any were.
    pub fn noted_place(&self) -> Option<[u64; 3]> {
        let noted =
            [&self.last_rip, &self.last_rsp, &self.last_rbp].map(|register| register.load(Ordering::Relaxed));
        (noted[0] != 0).then_some(noted)
    }

    /// The thread's name, NUL-padded. While somebody changes it, it may begin as one of the two names and end as the other, as on
    /// Linux.
    pub fn name(&self) -> [u8; NAME_LEN] {
        zerocopy::transmute!(self.name.each_ref().map(|word| word.load(Ordering::Relaxed)))
    }

    /// Whether alternate stack, name or memory policy may be other than those of a thread that nobody has touched.
    #[inline]
    pub(crate) fn is_altered(&self) -> bool {
        self.altered.load(Ordering::Relaxed)
    }

    pub(crate) fn set_altered(&self, is: bool) {
        self.altered.store(is, Ordering::Relaxed);
    }

    /// Gives the thread a name of its own; the last byte stays NUL.
    pub fn rename(&self, name: [u8; NAME_LEN]) {
        self.set_altered(true);
        self.set_name(name);
    }

    /// Sets the name; the last byte stays NUL.
    pub(crate) fn set_name(&self, mut name: [u8; NAME_LEN]) {
        name[NAME_LEN - 1] = 0;
        let [a, b] = trace::text_words(&name);
        trace::point_of(self.index, Kind::ThreadName, a, b);
        let words: [u64; 2] = zerocopy::transmute!(name);
        self.name.iter().zip(words).for_each(|(to, word)| to.store(word, Ordering::Relaxed));
    }

    /// Ends the calling thread. The program's stack is not touched any more: this runs on the
    /// kernel stack, and afterwards the stack may be reused by whoever waits for the thread id to become 0.
    pub fn exit(&'static self) -> ! {
        let process = self.process();
        self.ends.store(true, Ordering::Relaxed);
        machine::get().thread_ends();
        futex::exit_robust_list(self);
        let clear = self.clear_child_tid.swap(0, Ordering::Relaxed);
        futex::clear_and_wake(process, clear);
        signal::leave(self, process);
        if family::are_several() {
            process.note_run_time(self.thread().run_time_ns());
            process.look_whether_all_stopped();
        }
        if self.tid() != process.pid() {
            self.process.store(None, Ordering::Release);
        }
        match process.remove_thread(self.tid()) {
            Remains::Nothing => hadal_sched::exit(),
            Remains::ControlBlock => hadal_sched::exit_kept(),
        }
    }

    /// Runs `act`, which takes from the process of `pid` what it has, as the last of its threads: [`Task::try_process`] does not find
    /// that any more.
    pub(crate) fn end_as(&self, pid: u32, act: impl FnOnce()) {
        self.ended_pid.store(pid, Ordering::Relaxed);
        act();
        self.ended_pid.store(0, Ordering::Relaxed);
    }

    /// The process that the calling thread ends ([`Task::end_as`]), or 0.
    pub(crate) fn ended_pid(&self) -> u32 {
        self.ended_pid.load(Ordering::Relaxed)
    }

    /// The process whose first thread it was is over.
    pub(crate) fn leave_process(&self) {
        self.process.store(None, Ordering::Release);
    }
}
