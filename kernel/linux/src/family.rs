// SPDX-License-Identifier: Apache-2.0 OR MIT
//! All processes: who is whose parent, which have ended and wait to be waited for, and records that are used again.
//!
//! A record is held by the process until somebody has waited for it, and by who is about to do something with a process that is not
//! his ([`Held`]); when nobody holds it, it goes to the free ones. A list of children is changed under its parent's lock; who looks for a process by its id
//! goes by the thread that has the id.

use core::ops::Deref;
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering, fence};

use hadal_hal::sync::{Rank, SpinLock};
use hadal_hal::threads::link::AtomicRef;
use hadal_sync::{Mutex, WaitError, WaitMode, WaitQueue};

use crate::process::{ExitStatus, Process};
use crate::signal::action::{ActionFlags, Disposition};
use crate::signal::number::{SIGCHLD, SIGKILL};
use crate::signal::{self, Info, send};
use crate::task::Task;
use crate::{Errno, Result, first};

/// A process's place among the others.
pub(crate) struct Family {
    /// Who made it; nobody is process 1.
    parent: AtomicRef<Process>,
    /// The parent's id.
    parent_id: AtomicU32,
    /// The newest child, which leads to the others.
    children: SpinLock<Option<&'static Process>>,
    /// The next older child of the same parent, under the parent's lock.
    older: AtomicRef<Process>,
    state: AtomicU8,
    /// Its [`ExitStatus`], when it has ended.
    status: AtomicU32,
    /// CPU time of children that were waited for.
    children_ns: AtomicU64,
    /// What it sends its parent when it ends, or 0.
    exit_signal: AtomicU8,
    /// It is the machine's program.
    is_first: AtomicBool,
    /// It has called `execve` since it was made.
    has_replaced: AtomicBool,
    group: AtomicU32,
    session: AtomicU32,
    /// Those who hold the record: the process, and in the upper half observers.
    holders: AtomicU64,
    /// Where its threads wait for children, and its parent for it to leave the window.
    changed: WaitQueue,
    /// The record that was made before.
    previous: AtomicRef<Process>,
    next_free: AtomicRef<Process>,
}

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

const FREE: u8 = 0;
const ALIVE: u8 = 1;
const ENDED: u8 = 2;
/// It is being made, and gets the signals that are sent to many already.
const MADE: u8 = 3;

impl Family {
    pub(crate) fn new() -> Self {
        Self {
            parent: AtomicRef::none(),
            parent_id: AtomicU32::new(first::PID),
            children: SpinLock::ranked(Rank::Family, None),
            older: AtomicRef::none(),
            state: AtomicU8::new(FREE),
            status: AtomicU32::new(0),
            children_ns: AtomicU64::new(0),
            exit_signal: AtomicU8::new(0),
            is_first: AtomicBool::new(false),
            has_replaced: AtomicBool::new(false),
            group: AtomicU32::new(0),
            session: AtomicU32::new(0),
            holders: AtomicU64::new(0),
            changed: WaitQueue::new(),
            previous: AtomicRef::none(),
            next_free: AtomicRef::none(),
        }
    }

    fn hold(&self) {
        self.holders.fetch_add(PROCESS, Ordering::Relaxed);
    }

    /// Whether the machine ends with it.
    pub(crate) fn is_first(&self) -> bool {
        self.is_first.load(Ordering::Relaxed)
    }

    /// Whether it runs or could run.
    pub(crate) fn is_alive(&self) -> bool {
        self.state.load(Ordering::Acquire) == ALIVE
    }

    /// Its process group.
    pub(crate) fn group(&self) -> u32 {
        self.group.load(Ordering::Relaxed)
    }

    /// Its session.
    pub(crate) fn session(&self) -> u32 {
        self.session.load(Ordering::Relaxed)
    }

    /// Whether it has called `execve` since it was made.
    pub(crate) fn has_replaced(&self) -> bool {
        self.has_replaced.load(Ordering::Acquire)
    }

    /// Makes it the leader of a session and a group of its own.
    pub(crate) fn lead_session(&self, pid: u32) {
        self.session.store(pid, Ordering::Relaxed);
        self.group.store(pid, Ordering::Relaxed);
    }

    /// CPU time of children that were waited for.
    pub(crate) fn children_ns(&self) -> u64 {
        self.children_ns.load(Ordering::Relaxed)
    }

    fn status(&self) -> ExitStatus {
        let word = self.status.load(Ordering::Relaxed);
        if word & BY_SIGNAL != 0 { ExitStatus::Signaled(word as u8) } else { ExitStatus::Exited(word as u8) }
    }
}

const BY_SIGNAL: u32 = 1 << 8;

/// All records, the newest first.
static NEWEST: SpinLock<Option<&'static Process>> = SpinLock::new(None);
/// Those that nobody holds.
static FREE_RECORDS: SpinLock<Option<&'static Process>> = SpinLock::ranked(Rank::Process, None);
/// Processes that were made and not waited for.
static COUNT: AtomicU32 = AtomicU32::new(0);
/// There has been more than one process.
static SEVERAL: AtomicBool = AtomicBool::new(false);

/// Whether there has been more than one process.
#[inline(always)]
pub fn are_several() -> bool {
    SEVERAL.load(Ordering::Relaxed)
}

/// Adds a new record.
pub(crate) fn add(process: &'static Process) {
    process.family.hold();
    let mut newest = NEWEST.lock();
    process.family.previous.store(*newest, Ordering::Relaxed);
    *newest = Some(process);
}

/// A record that nobody holds.
pub(crate) fn take_free() -> Option<&'static Process> {
    let mut free = FREE_RECORDS.lock();
    let process = (*free)?;
    *free = process.family.next_free.load(Ordering::Relaxed);
    process.family.hold();
    Some(process)
}

/// Gives a record back that [`add`] or [`take_free`] has held.
pub(crate) fn put_back(process: &'static Process) {
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

fn records() -> impl Iterator<Item = &'static Process> {
    let newest = *NEWEST.lock();
    core::iter::successors(newest, |process| process.family.previous.load(Ordering::Relaxed))
}

/// Processes that live or wait to be waited for.
pub fn all() -> impl Iterator<Item = &'static Process> {
    records().filter(|process| matches!(process.family.state.load(Ordering::Acquire), ALIVE | ENDED))
}

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
    child.family.state.store(MADE, Ordering::Release);
    fence(Ordering::SeqCst);
    if IS_SENT_TO_MANY.load(Ordering::Acquire) {
        drop(TO_MANY.lock());
    }
}

/// Number of processes, those among them that wait to be waited for.
pub fn count() -> u32 {
    COUNT.load(Ordering::Relaxed)
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

/// Whether a process has not ended yet.
pub fn is_alive(process: &Process) -> bool {
    process.family.is_alive()
}

/// Whether a process may send another one signals (kill(2)).
pub(crate) fn may_signal(sender: &Process, target: &Process) -> bool {
    let (of_sender, of_target) = (sender.credentials.user(), target.credentials.user());
    let ids = [of_sender.real, of_sender.effective];
    of_sender.effective == 0 || ids.iter().any(|id| [of_target.real, of_target.saved].contains(id))
}

/// The id of a process's parent.
pub fn parent_id(process: &Process) -> u32 {
    process.family.parent_id.load(Ordering::Relaxed)
}

/// Group and session of the process that an id means, 0 being the calling one; `ESRCH` if there is none.
pub(crate) fn places_of(caller: &Process, id: i32) -> Result<(u32, u32)> {
    let id = u32::try_from(id).map_err(|_| Errno::ESRCH)?;
    if id == first::PID {
        return Ok((first::PID, first::PID));
    }
    let process = match id {
        0 => caller,
        id => find(id).or_else(|| find_by_thread(id)).ok_or(Errno::ESRCH)?,
    };
    Ok(group_and_session(process))
}

/// Moves the process with an id to a group, as [`crate::syscall`]'s `setpgid` says.
pub(crate) fn set_group(caller: &'static Process, pid: u32, group: u32) -> Result<()> {
    let process = if pid == caller.pid() { caller } else { find(pid).ok_or(Errno::ESRCH)? };
    let own = &process.family;
    if pid != caller.pid() {
        let is_child = own.parent.load(Ordering::Acquire).is_some_and(|parent| core::ptr::eq(parent, caller));
        match () {
            () if !is_child => return Err(Errno::ESRCH),
            () if own.session() != caller.family.session() => return Err(Errno::EPERM),
            () if own.has_replaced() => return Err(Errno::EACCES),
            () => {}
        }
    }
    let is_there =
        || all().any(|other| (other.family.group(), other.family.session()) == (group, own.session()));
    if own.session() == pid || group != pid && !is_there() {
        return Err(Errno::EPERM);
    }
    own.group.store(group, Ordering::Relaxed);
    Ok(())
}

/// Process group and session of a process.
pub fn group_and_session(process: &Process) -> (u32, u32) {
    (process.family.group(), process.family.session())
}

/// The machine's program begins, with its first thread.
pub(crate) fn begin_first(process: &'static Process) {
    process.family.is_first.store(true, Ordering::Relaxed);
    process.family.lead_session(process.pid());
    COUNT.fetch_add(1, Ordering::Relaxed);
    process.family.state.store(ALIVE, Ordering::Release);
}

/// There is a second process from now on.
pub(crate) fn become_several(first: &Process) {
    if !are_several() {
        first.begin_counting();
        // Before the caller looks for what a second process cannot live with.
        SEVERAL.store(true, Ordering::SeqCst);
    }
}

/// A child that has [joined](join) begins, with its first thread.
pub(crate) fn begin(child: &'static Process, parent: &'static Process, exit_signal: u8) {
    let own = &child.family;
    own.is_first.store(false, Ordering::Relaxed);
    own.has_replaced.store(false, Ordering::Relaxed);
    own.children_ns.store(0, Ordering::Relaxed);
    own.exit_signal.store(exit_signal, Ordering::Relaxed);
    own.parent_id.store(parent.pid(), Ordering::Relaxed);
    own.parent.store(Some(parent), Ordering::Release);
    COUNT.fetch_add(1, Ordering::Relaxed);
    own.state.store(ALIVE, Ordering::Release);
    let mut children = parent.family.children.lock();
    own.older.store(*children, Ordering::Relaxed);
    *children = Some(child);
}

/// The process gets another program, whose end is told as that of every program, whatever the process was made with.
pub(crate) fn end_by_sigchld(process: &Process) {
    process.family.exit_signal.store(SIGCHLD, Ordering::Relaxed);
}

/// The process has another program: whoever waits for it to leave a window goes on.
pub(crate) fn note_replaced(process: &Process) {
    process.family.has_replaced.store(true, Ordering::Release);
    if let Some(parent) = process.family.parent.load(Ordering::Acquire) {
        parent.family.changed.wake_all();
    }
}

/// Waits until a child has ended or has another program, or the caller has to leave.
pub(crate) fn wait_until_left(task: &Task, process: &Process, child: &'static Process, pid: u32) {
    let has_left = || {
        let is_over = child.pid() != pid || !child.family.is_alive() || child.family.has_replaced();
        (is_over || signal::must_leave(task, process)).then_some(())
    };
    // Of signals only those end this wait that end the process, and they wake nobody here.
    let look_again = || Some(hadal_time::now_ns() + LOOK_NS);
    while process.family.changed.wait_until(look_again(), WaitMode::Uninterruptible, has_left).is_err() {}
}

/// The last thread of a process leaves. Returns whether nobody will wait for it.
pub(crate) fn end(process: &'static Process, status: ExitStatus) -> bool {
    orphan_children(process);
    // Somebody may wait for it before this is over, and then the record must not be another's yet.
    let _held = Held::of(process);
    end_held(process, status)
}

/// The parent of a process, held; `None` if that is process 1.
fn parent_of(process: &Process) -> Option<Held> {
    loop {
        let parent = process.family.parent.load(Ordering::Acquire)?;
        let held = Held::of(parent);
        // One that ends gives its children away before its record is free.
        if process.family.parent.load(Ordering::Acquire).is_some_and(|now| core::ptr::eq(now, parent))
            && held.is_some()
        {
            return held;
        }
    }
}

fn end_held(process: &'static Process, status: ExitStatus) -> bool {
    let own = &process.family;
    let word = match status {
        ExitStatus::Exited(code) => u32::from(code),
        ExitStatus::Signaled(signo) => BY_SIGNAL | u32::from(signo),
    };
    own.status.store(word, Ordering::Relaxed);
    loop {
        let parent = parent_of(process);
        let parent = parent.as_ref().map(Held::process);
        let Some(parent) = parent.filter(|parent| wants_to_know(parent, process)) else {
            // Of process 1's children nobody asks.
            if unlink(process, parent) {
                forget(process);
                if let Some(parent) = parent {
                    notify(parent, process, status);
                }
                return true;
            }
            continue;
        };
        own.state.store(ENDED, Ordering::Release);
        notify(parent, process, status);
        // A parent that has ended meanwhile may not have seen it.
        if own.parent.load(Ordering::Acquire).is_some() || !claim_ended(process) {
            return false;
        }
    }
}

/// Whether a parent waits for its children, or may do so.
fn wants_to_know(parent: &Process, child: &Process) -> bool {
    if child.family.exit_signal.load(Ordering::Relaxed) != SIGCHLD {
        return true;
    }
    let action = signal::action_of(parent, SIGCHLD);
    action.disposition != Disposition::Ignore && !action.flags.contains(ActionFlags::NOCLDWAIT)
}

/// Tells a parent that a child has ended.
fn notify(parent: &'static Process, child: &Process, status: ExitStatus) {
    const TICK_NS: u64 = 10_000_000;
    let signo = child.family.exit_signal.load(Ordering::Relaxed);
    if signo != 0 {
        let (code, value) = code_of(status);
        let who = (child.pid(), child.credentials.user().real);
        // A standard signal is merged; others may find their queue full, as on Linux.
        let info = Info::child(signo, code, who, value, child.run_time_ns() / TICK_NS);
        let _ = send::to_process(parent, info);
    }
    parent.family.changed.wake_all();
}

/// `si_code` and `si_status` of an end.
pub(crate) fn code_of(status: ExitStatus) -> (i32, i32) {
    const EXITED: i32 = linux_raw_sys::general::CLD_EXITED as i32;
    const KILLED: i32 = linux_raw_sys::general::CLD_KILLED as i32;
    match status {
        ExitStatus::Exited(code) => (EXITED, code.into()),
        ExitStatus::Signaled(signo) => (KILLED, signo.into()),
    }
}

/// Takes a child off its parent's list; false if the parent is another one by now.
fn unlink(child: &'static Process, parent: Option<&'static Process>) -> bool {
    let Some(parent) = parent else { return child.family.parent.load(Ordering::Acquire).is_none() };
    let mut children = parent.family.children.lock();
    unlink_locked(child, &mut children)
}

fn unlink_locked(child: &'static Process, children: &mut Option<&'static Process>) -> bool {
    let next = child.family.older.load(Ordering::Relaxed);
    if children.is_some_and(|newest| core::ptr::eq(newest, child)) {
        *children = next;
        return true;
    }
    let mut at = *children;
    while let Some(process) = at {
        let older = process.family.older.load(Ordering::Relaxed);
        if older.is_some_and(|older| core::ptr::eq(older, child)) {
            process.family.older.store(next, Ordering::Relaxed);
            return true;
        }
        at = older;
    }
    false
}

/// The children of a process that ends are process 1's, which waits for all. They get the signal that they have asked for.
fn orphan_children(process: &'static Process) {
    loop {
        let (child, _held) = {
            let mut children = process.family.children.lock();
            let Some(child) = *children else { return };
            *children = child.family.older.load(Ordering::Relaxed);
            child.family.parent_id.store(first::PID, Ordering::Relaxed);
            // From here on it may end and be forgotten, and its record be used again.
            let held = Held::of(child);
            child.family.parent.store(None, Ordering::Release);
            (child, held)
        };
        let signo = child.attributes.parent_death_signal.load(Ordering::Relaxed);
        if signo != 0 && child.family.is_alive() {
            // Real-time signals may find their queue full, as on Linux.
            let _ = send::to_process(child, Info::kernel(signo));
        }
        // Whoever sees that it has ended, and that nobody is its parent, is the one to bury it.
        if claim_ended(child) {
            bury(child);
        }
    }
}

/// Takes the right to bury a child that has ended.
fn claim_ended(child: &Process) -> bool {
    child.family.state.compare_exchange(ENDED, ALIVE, Ordering::AcqRel, Ordering::Relaxed).is_ok()
}

/// A process is over: its id and its record are free.
fn forget(process: &'static Process) {
    COUNT.fetch_sub(1, Ordering::Relaxed);
    Task::of(hadal_sched::thread(process.pid() - 1)).leave_process();
    put_back(process);
}

/// The machine's program is over, and the machine goes on.
pub fn forget_first(process: &'static Process) {
    bury(process);
}

/// The same for one whose first thread has kept its control block.
fn bury(process: &'static Process) {
    let leader = hadal_sched::thread(process.pid() - 1);
    forget(process);
    hadal_sched::release(leader);
}

/// Whom a wait is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whom {
    /// Any child.
    Any,
    /// The one with this id.
    Id(u32),
    /// Those of a process group.
    Group(u32),
}

/// A child that has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    pub(crate) pid: u32,
    pub(crate) uid: u32,
    pub(crate) status: ExitStatus,
    pub(crate) run_ns: u64,
}

/// How to wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    /// Not at all: only look (`WNOHANG`).
    pub(crate) looks_only: bool,
    /// The child stays to be waited for (`WNOWAIT`).
    pub(crate) leaves: bool,
    /// Children that send no SIGCHLD count as well (`__WALL`), or alone (`__WCLONE`).
    pub(crate) clones: bool,
    pub(crate) ordinary: bool,
}

/// What there is among the children.
enum Found {
    Ended(Ended, &'static Process),
    /// Such a child, which goes on.
    Alive,
    Nobody,
}

/// Waits for a child to end: `None` if only looked for; [`WaitError::TimedOut`] stands for: there is no such child.
pub(crate) fn wait(
    process: &'static Process,
    whom: Whom,
    manner: Manner,
) -> core::result::Result<Option<Ended>, WaitError> {
    let look = || match look_for(process, whom, manner) {
        Found::Ended(ended, child) => Some(Ok((ended, child))),
        Found::Alive if manner.looks_only => Some(Err(false)),
        Found::Alive => None,
        Found::Nobody => Some(Err(true)),
    };
    match process.family.changed.wait_until(None, WaitMode::Interruptible, look)? {
        Ok((ended, child)) => {
            if !manner.leaves {
                process
                    .family
                    .children_ns
                    .fetch_add(ended.run_ns + child.family.children_ns(), Ordering::Relaxed);
                bury(child);
            }
            Ok(Some(ended))
        }
        Err(false) => Ok(None),
        Err(true) => Err(WaitError::TimedOut),
    }
}

/// Looks for a child; one that has ended is taken off the list, unless it is to be left.
fn look_for(process: &Process, whom: Whom, manner: Manner) -> Found {
    let mut children = process.family.children.lock();
    let mut found = Found::Nobody;
    let mut at = *children;
    while let Some(child) = at {
        at = child.family.older.load(Ordering::Relaxed);
        let is_clone = child.family.exit_signal.load(Ordering::Relaxed) != SIGCHLD;
        let fits = match whom {
            Whom::Any => true,
            Whom::Id(pid) => child.pid() == pid,
            Whom::Group(group) => child.family.group() == group,
        };
        if !fits || !(if is_clone { manner.clones } else { manner.ordinary }) {
            continue;
        }
        if child.family.state.load(Ordering::Acquire) != ENDED {
            found = Found::Alive;
            continue;
        }
        let ended = Ended {
            pid: child.pid(),
            uid: child.credentials.user().real,
            status: child.family.status(),
            run_ns: child.run_time_ns(),
        };
        if !manner.leaves {
            unlink_locked(child, &mut children);
            claim_ended(child);
        }
        return Found::Ended(ended, child);
    }
    found
}

/// How long processes that the machine's program leaves behind may take to end.
const LEAVING_NS: u64 = 1_000_000_000;
const LOOK_NS: u64 = 1_000_000;

/// The machine's program has ended: ends the other processes, so that what they have written to files is there.
pub(crate) fn end_others(first: &'static Process) {
    let others = || all().filter(|process| process.family.is_alive() && !core::ptr::eq(*process, first));
    let count = others().count();
    if count == 0 {
        return orphan_children(first);
    }
    let until = hadal_time::now_ns() + LEAVING_NS;
    while others().next().is_some() && hadal_time::now_ns() < until {
        // Again and again: one of them may just have made another.
        others().for_each(|process| process.end(ExitStatus::Signaled(SIGKILL)));
        hadal_sched::sleep_until(hadal_time::now_ns() + LOOK_NS);
    }
    orphan_children(first);
    let (what, were) = if count == 1 { ("process", "was") } else { ("processes", "were") };
    crate::machine::get().report(&alloc::format!(
        "hadal: {count} {what} that the program had left behind {were} ended with it\n"
    ));
}
