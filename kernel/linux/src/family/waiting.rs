// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Waiting for children: until one has ended, stopped or gone on, or has left its parent's window.

use core::sync::atomic::Ordering;

use hadal_sync::{WaitError, WaitMode};

use super::ending::{bury, claim_ended, unlink_locked};
use super::{ENDED, LOOK_NS};
use crate::process::{ExitStatus, Process, StopNews};
use crate::signal;
use crate::signal::number::SIGCHLD;
use crate::task::Task;
use crate::usage::Used;

/// Whom a wait is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whom {
    /// Any child.
    Any,
    /// The one with this id.
    Id(u32),
    /// The one with this record, which the caller holds.
    Record(*const Process),
    /// Those of a process group.
    Group(u32),
}

/// What has become of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    Ended(ExitStatus),
    Of(StopNews),
}

/// A child that has ended, stopped, or gone on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    pub(crate) pid: u32,
    pub(crate) uid: u32,
    pub(crate) news: News,
    /// By the child and by those that it has waited for.
    pub(crate) used: Used,
}

/// How to wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    /// For one to end (`WEXITED`), to stop (`WSTOPPED`), to go on (`WCONTINUED`).
    pub(crate) for_end: bool,
    pub(crate) for_stop: bool,
    pub(crate) for_continuing: bool,
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
    Changed(Change, &'static Process),
    /// Such a child, which goes on.
    Alive,
    Nobody,
}

/// Waits for a child: `None` if only looked for; [`WaitError::TimedOut`] stands for: there is no such child.
pub(crate) fn wait(
    process: &'static Process,
    whom: Whom,
    manner: Manner,
) -> core::result::Result<Option<Change>, WaitError> {
    let look = || match look_for(process, whom, manner) {
        Found::Changed(change, child) => Some(Ok((change, child))),
        Found::Alive if manner.looks_only => Some(Err(false)),
        Found::Alive => None,
        Found::Nobody => Some(Err(true)),
    };
    match process.family.changed.wait_until(None, WaitMode::Interruptible, look)? {
        Ok((change, child)) => {
            if !manner.leaves && matches!(change.news, News::Ended(_)) {
                process.family.used_by_children.add(change.used);
                bury(child);
            }
            Ok(Some(change))
        }
        Err(false) => Ok(None),
        Err(true) => Err(WaitError::TimedOut),
    }
}

/// Looks for a child; one that has ended is taken off the list, and other news are old, unless it is to be left.
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
            Whom::Record(record) => core::ptr::eq(child, record),
            Whom::Group(group) => child.family.group() == group,
        };
        if !fits || !(if is_clone { manner.clones } else { manner.ordinary }) {
            continue;
        }
        let news = if child.family.state.load(Ordering::Acquire) != ENDED {
            let news = child.stop_news(manner.for_stop, manner.for_continuing, manner.leaves);
            let Some(news) = news else {
                found = Found::Alive;
                continue;
            };
            News::Of(news)
        } else if manner.for_end {
            News::Ended(child.family.status())
        } else {
            continue;
        };
        let change = Change {
            pid: child.pid(),
            uid: child.credentials.user().real,
            news,
            used: Used { run_ns: child.run_time_ns(), ..child.family.used.get() }
                .and(child.family.used_by_children()),
        };
        if !manner.leaves && matches!(news, News::Ended(_)) {
            unlink_locked(child, &mut children);
            claim_ended(child);
        }
        return Found::Changed(change, child);
    }
    found
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
