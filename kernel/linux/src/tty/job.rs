// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whose terminal it is, and who may use it: a session has one, of which the processes of one group are in the foreground
//! (credentials(7), termios(3), tcsetpgrp(3)).

use alloc::sync::Arc;
use core::sync::atomic::{AtomicU32, Ordering};

use hadal_sync::Mutex;

use super::{Terminal, find};
use crate::family;
use crate::process::Process;
use crate::signal::number::{SIGCONT, SIGHUP, SIGTTIN};
use crate::signal::{Info, send};
use crate::task::Task;
use crate::{Errno, Result};

/// Held while a terminal becomes a session's, or is it no longer.
static CHANGE: Mutex<()> = Mutex::new(());
/// Sessions that have a terminal: where there is none nobody asks further.
static SESSIONS: AtomicU32 = AtomicU32::new(0);

/// The session whose terminal it is, and the process group in the foreground; 0: none.
#[derive(Default)]
pub(super) struct Possession {
    session: AtomicU32,
    foreground: AtomicU32,
}

impl Possession {
    /// The session, or 0.
    pub(super) fn session(&self) -> u32 {
        self.session.load(Ordering::SeqCst)
    }

    /// The group in the foreground, or 0.
    pub(super) fn foreground(&self) -> u32 {
        self.foreground.load(Ordering::SeqCst)
    }

    /// The terminal becomes the session's of a process, whose group is in the foreground.
    pub(super) fn give(&self, process: &Process) {
        self.foreground.store(process.family.group(), Ordering::SeqCst);
        if self.session.swap(process.family.session(), Ordering::SeqCst) == 0 {
            SESSIONS.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// It is nobody's any more.
    fn take_away(&self) {
        self.foreground.store(0, Ordering::SeqCst);
        if self.session.swap(0, Ordering::SeqCst) != 0 {
            SESSIONS.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

impl Drop for Possession {
    fn drop(&mut self) {
        self.take_away();
    }
}

fn caller() -> &'static Process {
    Task::current().process()
}

/// Sends all processes of a group of a session signals.
fn signal_group(session: u32, group: u32, signals: &[u8]) {
    if session == 0 || group == 0 {
        return;
    }
    family::with_many(|processes| {
        let is_meant = |process: &Process| family::group_and_session(process) == (group, session);
        for process in processes.filter(|process| is_meant(process)) {
            for &signo in signals {
                // Standard signals are merged.
                let _ = send::to_process(process.process(), Info::kernel(signo));
            }
        }
    });
}

/// Sends who is in the foreground a signal.
pub(super) fn signal_foreground(terminal: &Terminal, signo: u8) {
    signal_group(terminal.possession.session(), terminal.possession.foreground(), &[signo]);
}

/// Whether a process's session has this terminal, and the process has not let go of it.
fn has(process: &Process, terminal: &Terminal) -> bool {
    let session = terminal.possession.session();
    session != 0 && session == process.family.session() && !process.family.has_let_go()
}

/// Whether the terminal is the calling process's.
pub(super) fn is_own(terminal: &Terminal) -> bool {
    has(caller(), terminal)
}

/// A process's terminal.
pub(super) fn of(process: &Process) -> Option<Arc<Terminal>> {
    if SESSIONS.load(Ordering::Relaxed) == 0 {
        return None;
    }
    find(|terminal| has(process, terminal) && !terminal.state().is_hung_up)
}

/// A process in the background wants to read (`SIGTTIN`) or change (`SIGTTOU`) its terminal: it gets the signal and `EINTR`, and the
/// call is made again when it goes on. `EIO` if it would not hear of the signal and must not go on.
pub(super) fn check(terminal: &Terminal, signo: u8) -> Result<()> {
    if !is_own(terminal) {
        return Ok(());
    }
    let (task, process) = (Task::current(), caller());
    let (group, session) = family::group_and_session(process);
    let foreground = terminal.possession.foreground();
    if foreground == 0 || foreground == group {
        return Ok(());
    }
    let is_unheard = task.signals.mask().contains(signo) || process.signals.ignored().contains(signo);
    match signo {
        SIGTTIN if is_unheard => return Err(Errno::EIO),
        _ if is_unheard => return Ok(()),
        _ if family::is_orphaned(group, None) => return Err(Errno::EIO),
        _ => {}
    }
    signal_group(session, group, &[signo]);
    Err(Errno::EINTR)
}

/// The terminal was opened: it becomes that of a session leader without one, unless it is another session's.
pub(super) fn adopt(terminal: &Terminal) {
    let process = caller();
    if process.family.leads() {
        let _turn = CHANGE.lock();
        let is_hung_up = terminal.state().is_hung_up;
        if terminal.possession.session() == 0 && !is_hung_up && of(process).is_none() {
            terminal.possession.give(process);
        }
    }
}

/// `TIOCSCTTY`: the same on demand; `takes`: even if it is another session's, for the superuser.
pub(super) fn claim(terminal: &Terminal, takes: bool) -> Result<()> {
    let process = caller();
    let _turn = CHANGE.lock();
    if process.family.leads() && is_own(terminal) {
        return Ok(());
    }
    if !process.family.leads() || of(process).is_some() {
        return Err(Errno::EPERM);
    }
    if terminal.possession.session() != 0 && !(takes && process.credentials.is_privileged()) {
        return Err(Errno::EPERM);
    }
    if terminal.state().is_hung_up {
        return Err(Errno::EIO);
    }
    terminal.possession.give(process);
    Ok(())
}

/// `TIOCNOTTY`: the process has no terminal any more, nor, if it is the leader, has its session.
pub(super) fn renounce(terminal: &Terminal) -> Result<()> {
    if !is_own(terminal) {
        return Err(Errno::ENOTTY);
    }
    if caller().family.leads() {
        take_from(terminal, caller().family.session());
    } else {
        caller().family.let_go();
    }
    Ok(())
}

/// Takes a terminal from a session, if it is its; who is in the foreground is hung up.
fn take_from(terminal: &Terminal, session: u32) {
    let foreground = {
        let _turn = CHANGE.lock();
        if session == 0 || terminal.possession.session() != session {
            return;
        }
        let foreground = terminal.possession.foreground();
        terminal.possession.take_away();
        foreground
    };
    if let Some(attached) = &terminal.attached {
        attached.host.control_jobs(false);
    }
    signal_group(session, foreground, &[SIGHUP, SIGCONT]);
}

/// `TIOCSPGRP`: another group of the session comes to the foreground.
pub(super) fn bring_to_front(terminal: &Terminal, group: i32) -> Result<()> {
    if !is_own(terminal) {
        return Err(Errno::ENOTTY);
    }
    let group = u32::try_from(group).map_err(|_| Errno::EINVAL)?;
    let session = caller().family.session();
    let mut members = family::all().filter(|process| process.family.group() == group).peekable();
    members.peek().ok_or(Errno::ESRCH)?;
    if !members.any(|member| member.family.session() == session) {
        return Err(Errno::EPERM);
    }
    let _turn = CHANGE.lock();
    if terminal.possession.session() == session {
        terminal.possession.foreground.store(group, Ordering::SeqCst);
    }
    Ok(())
}

/// The person at the terminal has gone: its session's leader hears of it. Who is in the foreground does when the leader ends.
pub(super) fn hang_up(terminal: &Terminal) {
    let session = terminal.possession.session();
    let Some(leader) = (session != 0).then(|| family::find_held(session)).flatten() else { return };
    if leader.pid() == session && leader.family.leads() {
        for signo in [SIGHUP, SIGCONT] {
            // Standard signals are merged.
            let _ = send::to_process(leader.process(), Info::kernel(signo));
        }
    }
}

/// A process ends: if it leads a session, that has no terminal any more, and who is in the foreground hears of it.
pub(crate) fn leader_ends(process: &Process) {
    if SESSIONS.load(Ordering::Relaxed) == 0 || !process.family.leads() {
        return;
    }
    let session = process.family.session();
    if let Some(terminal) = find(|terminal| terminal.possession.session() == session) {
        take_from(&terminal, session);
    }
}
