// SPDX-License-Identifier: Apache-2.0 OR MIT
//! All processes: who is whose parent, and in which group and session.
//!
//! Records are found and held in `records`, signals to many go by `many`, `ending` and `waiting` are the two sides of the end of a
//! process, and `stopping` is about those that are stopped. A list of children is changed under its parent's lock; who looks for a
//! process by its id goes by the thread that has the id.

mod ending;
mod many;
mod reapers;
mod records;
mod stopping;
mod waiting;

use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};

use hadal_hal::sync::{Rank, SpinLock};
use hadal_hal::threads::link::AtomicRef;
use hadal_mem::space::SpaceStats;
use hadal_sync::WaitQueue;

pub use self::ending::forget_first;
pub(crate) use self::ending::{code_of, end, end_others};
pub(crate) use self::many::join;
pub use self::many::with_many;
pub use self::records::{Held, all, find, find_by_thread, find_held, hold_again, is_it};
pub(crate) use self::records::{add, put_back, take_free};
pub(crate) use self::stopping::{
    code_of_news, continue_if_nobody_runs, could_be_continued, count_stopping, is_orphaned, tell_of_stop,
};
pub(crate) use self::waiting::{Change, Manner, News, Whom, wait, wait_until_left};
use crate::process::{ExitStatus, Process};
use crate::signal::number::{SIGCHLD, SIGCONT};
use crate::usage::{SumOfUsed, Used};
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
    used_by_children: SumOfUsed,
    /// What it has used when it has ended, but for CPU time.
    used: SumOfUsed,
    /// What it sends its parent when it ends, or 0.
    exit_signal: AtomicU8,
    /// It is the machine's program.
    is_first: AtomicBool,
    /// It has called `execve` since it was made.
    has_replaced: AtomicBool,
    group: AtomicU32,
    session: AtomicU32,
    /// It has made its session.
    leads: AtomicBool,
    /// It ends, and no group counts on it.
    leaves: AtomicBool,
    /// It ends, and has no children any more.
    has_orphaned: AtomicBool,
    /// It has no terminal, though its session may have one.
    has_let_go: AtomicBool,
    /// Those who hold the record: the process, and in the upper half observers.
    holders: AtomicU64,
    /// Where its threads wait for children, its parent for it to leave the window, and others for its end.
    changed: WaitQueue,
    /// The record that was made before.
    previous: AtomicRef<Process>,
    next_free: AtomicRef<Process>,
}

/// In its status word: it was ended by a signal.
const BY_SIGNAL: u32 = 1 << 8;
/// How long to wait before looking again what nobody tells.
const LOOK_NS: u64 = 1_000_000;

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
            used_by_children: SumOfUsed::new(),
            used: SumOfUsed::new(),
            exit_signal: AtomicU8::new(0),
            is_first: AtomicBool::new(false),
            has_replaced: AtomicBool::new(false),
            group: AtomicU32::new(0),
            session: AtomicU32::new(0),
            leads: AtomicBool::new(false),
            leaves: AtomicBool::new(false),
            has_orphaned: AtomicBool::new(false),
            has_let_go: AtomicBool::new(false),
            holders: AtomicU64::new(0),
            changed: WaitQueue::new(),
            previous: AtomicRef::none(),
            next_free: AtomicRef::none(),
        }
    }

    /// Whether the machine ends with it.
    pub(crate) fn is_first(&self) -> bool {
        self.is_first.load(Ordering::Relaxed)
    }

    /// Whether it runs or could run.
    pub(crate) fn is_alive(&self) -> bool {
        self.state.load(Ordering::Acquire) == ALIVE
    }

    /// Whether its end has been told, or it is over.
    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.state.load(Ordering::Acquire), ENDED | FREE)
    }

    /// Whether the record is no process's.
    pub(crate) fn is_free(&self) -> bool {
        self.state.load(Ordering::Acquire) == FREE
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
        self.leads.store(true, Ordering::Relaxed);
        self.has_let_go.store(false, Ordering::Relaxed);
    }

    /// Whether it has made its session.
    pub(crate) fn leads(&self) -> bool {
        self.leads.load(Ordering::Relaxed)
    }

    /// It has no terminal any more, whatever its session has.
    pub(crate) fn let_go(&self) {
        self.has_let_go.store(true, Ordering::Relaxed);
    }

    /// Whether that is so.
    pub(crate) fn has_let_go(&self) -> bool {
        self.has_let_go.load(Ordering::Relaxed)
    }

    /// Woken when it ends, among others.
    pub(crate) fn changed(&self) -> &WaitQueue {
        &self.changed
    }

    /// What children that were waited for have used, and their children.
    pub(crate) fn used_by_children(&self) -> Used {
        self.used_by_children.get()
    }

    /// It is about to end, and has used so much memory.
    pub(crate) fn note_used(&self, stats: &SpaceStats) {
        self.used.add(Used::new(0, stats));
    }

    fn status(&self) -> ExitStatus {
        let word = self.status.load(Ordering::Relaxed);
        if word & BY_SIGNAL != 0 { ExitStatus::Signaled(word as u8) } else { ExitStatus::Exited(word as u8) }
    }
}

/// Processes that were made and not waited for.
static COUNT: AtomicU32 = AtomicU32::new(0);
/// There has been more than one process.
static SEVERAL: AtomicBool = AtomicBool::new(false);

/// Whether there has been more than one process.
#[inline(always)]
pub fn are_several() -> bool {
    SEVERAL.load(Ordering::Relaxed)
}

/// Number of processes, those among them that wait to be waited for.
pub fn count() -> u32 {
    COUNT.load(Ordering::Relaxed)
}

/// Whether a process has not ended yet.
pub fn is_alive(process: &Process) -> bool {
    process.family.is_alive()
}

/// Whether a process may send another one a signal, or ask for it with 0 (kill(2)).
pub(crate) fn may_signal(sender: &Process, target: &Process, signal: i32) -> bool {
    let (of_sender, of_target) = (sender.credentials.user(), target.credentials.user());
    let ids = [of_sender.real, of_sender.effective];
    let continues = signal == SIGCONT.into() && sender.family.session() == target.family.session();
    of_sender.effective == 0
        || continues
        || ids.iter().any(|id| [of_target.real, of_target.saved].contains(id))
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
    process.family.leaves.store(false, Ordering::Relaxed);
    process.family.has_orphaned.store(false, Ordering::Relaxed);
    process.family.lead_session(process.pid());
    COUNT.fetch_add(1, Ordering::Relaxed);
    process.family.state.store(ALIVE, Ordering::Release);
}

/// There is a second process from now on.
pub(crate) fn become_several(first: &Process) {
    if !are_several() {
        first.begin_counting();
        SEVERAL.store(true, Ordering::Relaxed);
    }
}

/// A child that has [joined](join) begins, with its first thread.
pub(crate) fn begin(child: &'static Process, parent: &'static Process, exit_signal: u8) {
    let own = &child.family;
    own.is_first.store(false, Ordering::Relaxed);
    own.has_replaced.store(false, Ordering::Relaxed);
    own.used_by_children.clear();
    own.used.clear();
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
