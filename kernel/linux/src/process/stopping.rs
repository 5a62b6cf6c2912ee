// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Stopping a process, and continuing it.
//!
//! Whoever takes a stop signal begins the stop; every thread stops at its next chance, before it returns to program code. When the
//! last one has, the process is stopped and its parent is told. Continuing is done by whoever sends the signal for it.

use core::sync::atomic::{AtomicU32, Ordering, fence};

use hadal_hal::sync::{Rank, SpinLock, SpinLockGuard};
use hadal_sync::{WaitMode, WaitQueue};

use super::Process;
use crate::family;
use crate::task::Task;

/// What a parent can hear of a child that goes on living.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopNews {
    /// All its threads have stopped, for this signal.
    Stopped(u8),
    /// It goes on.
    Continued,
}

/// Whether a process is stopped.
pub(super) struct Stop {
    state: SpinLock<State>,
    /// Counts what ends or forbids a stop: a signal that was taken before stops nothing any more.
    turn: AtomicU32,
    /// A thread that had not stopped when somebody looked last.
    running: AtomicU32,
    /// Where stopped threads wait.
    continued: WaitQueue,
    /// Held while a signal is sent that stops or continues, which takes several steps.
    order: SpinLock<()>,
}

struct State {
    /// The signal that threads stop or have stopped for, or 0.
    signo: u8,
    /// All have.
    is_complete: bool,
    /// SIGKILL was sent: nothing stops the process any more.
    is_doomed: bool,
    /// What a parent could wait for.
    news: Option<StopNews>,
    /// What it gets a signal for: who goes on sends that, for whoever continues a process may be an interrupt.
    untold: Option<StopNews>,
}

impl Stop {
    pub(super) fn new() -> Self {
        let state = State { signo: 0, is_complete: false, is_doomed: false, news: None, untold: None };
        Self {
            state: SpinLock::ranked(Rank::Process, state),
            turn: AtomicU32::new(0),
            running: AtomicU32::new(0),
            continued: WaitQueue::new(),
            order: SpinLock::ranked(Rank::JobControl, ()),
        }
    }
}

impl Process {
    /// Who sends a signal that stops or continues holds this.
    pub(crate) fn stop_order(&self) -> SpinLockGuard<'_, ()> {
        self.stop.order.lock()
    }

    /// What [`Process::stop`] wants to know: as it was before the signal was taken.
    pub(crate) fn stop_turn(&self) -> u32 {
        self.stop.turn.load(Ordering::SeqCst)
    }

    /// Makes all threads stop; the caller then [stays](Process::stay_stopped), even if there is nothing to stop for any more:
    /// somebody has to tell what has become of it.
    pub(crate) fn stop(&self, signo: u8, turn: u32) {
        {
            let mut state = self.stop.state.lock();
            if state.signo != 0 || state.is_doomed || self.stop_turn() != turn {
                return;
            }
            (state.signo, state.is_complete) = (signo, false);
            (state.news, state.untold) = (None, None);
            family::count_stopping(true);
            self.set_stopping(true);
        }
        self.rouse();
    }

    /// The calling thread is stopped until the process goes on or ends.
    pub(crate) fn stay_stopped(&'static self, task: &'static Task) {
        task.signals.set_stopped(true);
        self.look_whether_all_stopped();
        task.thread().note_wait(Some((&"continue", 0)));
        let is_over = || (!self.is_stopping() || self.ending().is_some()).then_some(());
        // Without a deadline only the condition ends it.
        let _ = self.stop.continued.wait_until(None, WaitMode::Uninterruptible, is_over);
        task.thread().note_wait(None);
        task.signals.set_stopped(false);
        let untold = self.stop.state.lock().untold.take();
        if let Some(news) = untold {
            family::tell_of_stop(self, news);
        }
    }

    /// A thread has stopped, rests or ends: tells the parent if it was the last one that ran.
    pub(crate) fn look_whether_all_stopped(&'static self) {
        // Who stops or ends has said so before, and looks at the others after this.
        fence(Ordering::SeqCst);
        if !self.is_stopping() || self.ending().is_some() {
            return;
        }
        let turn = self.stop_turn();
        let runs = |task: &Task| !task.signals.is_stopped() && !task.signals.is_resting() && !task.ends();
        // Most often it is the one that was seen last, or none before it: so all of them together look through the list once.
        let seen = self.stop.running.load(Ordering::Relaxed);
        if self.with_thread(seen, runs) == Some(true) {
            return;
        }
        if let Some(task) = self.find_task_from(seen, runs).or_else(|| self.find_task(runs)) {
            return self.stop.running.store(task.tid(), Ordering::Relaxed);
        }
        let news = {
            let mut state = self.stop.state.lock();
            let is_over = self.stop_turn() != turn || self.ending().is_some();
            if is_over || state.signo == 0 || state.is_complete {
                return;
            }
            state.is_complete = true;
            state.news = Some(StopNews::Stopped(state.signo));
            StopNews::Stopped(state.signo)
        };
        family::tell_of_stop(self, news);
        family::continue_if_nobody_runs();
    }

    /// Continues the process if it is stopped, and lets no stop begin for a signal that was taken before.
    pub(crate) fn go_on(&self) {
        {
            let mut state = self.stop.state.lock();
            if state.signo != 0 {
                let how =
                    if state.is_complete { StopNews::Continued } else { StopNews::Stopped(state.signo) };
                (state.news, state.untold) = (Some(StopNews::Continued), Some(how));
            }
            self.end_stop(&mut state);
        }
        self.wake_stopped();
    }

    /// The same for a process that is about to end.
    pub(crate) fn go_on_to_end(&self) {
        {
            let mut state = self.stop.state.lock();
            state.is_doomed = true;
            self.end_stop(&mut state);
        }
        self.wake_stopped();
    }

    fn end_stop(&self, state: &mut State) {
        self.stop.turn.fetch_add(1, Ordering::SeqCst);
        if core::mem::take(&mut state.signo) != 0 {
            self.set_stopping(false);
            family::count_stopping(false);
        }
    }

    /// Makes stopped threads look whether they may go on.
    pub(super) fn wake_stopped(&self) {
        self.stop.continued.wake_all();
    }

    /// The process is over, or another one begins in its record.
    pub(super) fn forget_stop(&self) {
        let mut state = self.stop.state.lock();
        self.end_stop(&mut state);
        (state.is_complete, state.is_doomed) = (false, false);
        (state.news, state.untold) = (None, None);
    }

    /// Whether all threads have stopped.
    pub(crate) fn is_stopped(&self) -> bool {
        let state = self.stop.state.lock();
        state.signo != 0 && state.is_complete
    }

    /// What is new for a parent that wants to know of stops or of continuing; it stays new if `leaves`.
    pub(crate) fn stop_news(&self, of_stops: bool, of_continuing: bool, leaves: bool) -> Option<StopNews> {
        let mut state = self.stop.state.lock();
        let wanted = match state.news? {
            StopNews::Stopped(_) => of_stops,
            StopNews::Continued => of_continuing,
        };
        match wanted {
            true if leaves => state.news,
            true => state.news.take(),
            false => None,
        }
    }
}
