// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whose terminal it is, and who may use it: a session has one, of which the processes of one group are in the foreground
//! (credentials(7), termios(3), tcsetpgrp(3)).

use alloc::sync::Arc;
use core::sync::atomic::{AtomicU32, Ordering};

use super::{Terminal, find};
use crate::family;
use crate::process::Process;
use crate::signal::number::{SIGCONT, SIGHUP, SIGTTIN};
use crate::signal::{Info, send};
use crate::task::Task;
use crate::{Errno, Result};

/// Sessions that have a terminal: processes that lead none ask for no more.
static SESSIONS: AtomicU32 = AtomicU32::new(0);

fn caller() -> &'static Process {
    Task::current().process()
}

/// Sends all processes of a group a signal.
pub(super) fn signal_group(group: u32, signo: u8) {
    if group == 0 {
        return;
    }
    family::with_many(|processes| {
        for process in processes.filter(|process| process.family.group() == group) {
            // A standard signal is merged.
            let _ = send::to_process(process.process(), Info::kernel(signo));
        }
    });
}

/// Whether the terminal is the calling process's.
pub(super) fn is_own(terminal: &Terminal) -> bool {
    let session = terminal.session();
    session != 0 && session == caller().family.session()
}

/// A process's terminal.
pub(super) fn of(process: &Process) -> Option<Arc<Terminal>> {
    if SESSIONS.load(Ordering::Relaxed) == 0 {
        return None;
    }
    let session = process.family.session();
    find(|terminal| session != 0 && terminal.session() == session)
}

/// A process in the background wants to read (`SIGTTIN`) or change (`SIGTTOU`) its terminal: it gets the signal and `EINTR`, and the
/// call is made again when it goes on. `EIO` if it would not hear of the signal and must not go on.
pub(super) fn check(terminal: &Terminal, signo: u8) -> Result<()> {
    if !is_own(terminal) {
        return Ok(());
    }
    let (task, process) = (Task::current(), caller());
    let (group, foreground) = (process.family.group(), terminal.foreground());
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
    signal_group(group, signo);
    Err(Errno::EINTR)
}

fn give(terminal: &Terminal, process: &Process) {
    if terminal.session() == 0 {
        SESSIONS.fetch_add(1, Ordering::SeqCst);
    }
    terminal.set_session(process.family.session());
    terminal.set_foreground(process.family.group());
}

fn take_away(terminal: &Terminal) {
    if terminal.session() != 0 {
        terminal.set_session(0);
        terminal.set_foreground(0);
        SESSIONS.fetch_sub(1, Ordering::SeqCst);
    }
}

fn leads(process: &Process) -> bool {
    process.family.session() == process.pid()
}

/// The terminal was opened: it becomes that of a session leader without one, unless it is another session's.
pub(super) fn adopt(terminal: &Terminal) {
    let process = caller();
    if leads(process) && terminal.session() == 0 && of(process).is_none() {
        give(terminal, process);
    }
}

/// `TIOCSCTTY`: the same on demand; `takes`: even if it is another session's, for the superuser.
pub(super) fn claim(terminal: &Terminal, takes: bool) -> Result<()> {
    let process = caller();
    if leads(process) && is_own(terminal) {
        return Ok(());
    }
    if !leads(process) || of(process).is_some() {
        return Err(Errno::EPERM);
    }
    if terminal.session() != 0 && !(takes && process.credentials.is_privileged()) {
        return Err(Errno::EPERM);
    }
    give(terminal, process);
    Ok(())
}

/// `TIOCNOTTY` of a session's leader: the session has no terminal any more.
pub(super) fn renounce(terminal: &Terminal) -> Result<()> {
    if !is_own(terminal) {
        return Err(Errno::ENOTTY);
    }
    if !leads(caller()) {
        return Err(Errno::EPERM);
    }
    let foreground = terminal.foreground();
    take_away(terminal);
    signal_group(foreground, SIGHUP);
    signal_group(foreground, SIGCONT);
    Ok(())
}

/// `TIOCSPGRP`: another group of the session comes to the foreground.
pub(super) fn bring_to_front(terminal: &Terminal, group: i32) -> Result<()> {
    if !is_own(terminal) {
        return Err(Errno::ENOTTY);
    }
    let group = u32::try_from(group).map_err(|_| Errno::EINVAL)?;
    let session = caller().family.session();
    let mut members = family::all().filter(|process| process.family.group() == group);
    let member = members.next().ok_or(Errno::ESRCH)?;
    if member.family.session() != session {
        return Err(Errno::EPERM);
    }
    terminal.set_foreground(group);
    Ok(())
}

/// The person at the terminal has gone: its session's leader, and who is in the foreground, hear of it.
pub(super) fn hang_up(terminal: &Terminal) {
    let (session, foreground) = (terminal.session(), terminal.foreground());
    if session == 0 {
        return;
    }
    take_away(terminal);
    if let Some(leader) = family::find_held(session).filter(|leader| leader.pid() == session) {
        for signo in [SIGHUP, SIGCONT] {
            // Standard signals are merged.
            let _ = send::to_process(leader.process(), Info::kernel(signo));
        }
    }
    signal_group(foreground, SIGHUP);
    signal_group(foreground, SIGCONT);
}

/// A process ends: if it leads a session, that has no terminal any more, and who is in the foreground hears of it.
pub(crate) fn leader_ends(process: &Process) {
    if SESSIONS.load(Ordering::Relaxed) == 0 || !leads(process) {
        return;
    }
    let session = process.family.session();
    if let Some(terminal) = find(|terminal| terminal.session() == session) {
        let foreground = terminal.foreground();
        take_away(&terminal);
        signal_group(foreground, SIGHUP);
        signal_group(foreground, SIGCONT);
    }
}
