// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The terminal that the machine's person sits at: the host has it, with its settings, and does what they say to input and output.
//! Here is what belongs to processes: whose it is, what has been typed and not read.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicBool, Ordering};

use hadal_sync::Mutex;
use hadal_tty::termios::Termios;
use hadal_vfs::Owner;

use super::{Terminal, job};
use crate::Result;
use crate::process::Process;
use crate::signal::number::SIGWINCH;

/// Most bytes that are asked for: a line is never longer.
const REQUEST_BYTES: u32 = 2048;

/// The host's end.
pub trait Host: Sync {
    /// Shows bytes; returns how many.
    fn write(&self, data: &[u8]) -> usize;
    /// Asks for at most so many typed bytes, or a line; they come to [`supply`], or [`hang_up`] is called.
    fn request(&self, max_len: u32);
    /// Changes the settings, and drops what has been typed if it `discards`.
    fn change(&self, settings: &Termios, discards: bool);
    /// Drops what has been typed.
    fn discard(&self);
    /// A program moves jobs to the foreground and back, or none does any more.
    fn control_jobs(&self, is: bool);
}

/// A terminal's host, and whether it has been asked.
pub(super) struct Attached {
    pub(super) host: &'static dyn Host,
    is_asked: AtomicBool,
}

impl Attached {
    /// Asks for input unless an answer is due.
    pub(super) fn ask(&self) {
        if !self.is_asked.swap(true, Ordering::Relaxed) {
            self.host.request(REQUEST_BYTES);
        }
    }
}

static CONSOLE: Mutex<Option<Arc<Terminal>>> = Mutex::new(None);

fn console() -> Option<Arc<Terminal>> {
    CONSOLE.lock().clone()
}

/// Makes the terminal, or gives it the settings and size that it has now, and returns its path.
pub fn attach(
    host: &'static dyn Host,
    settings: Termios,
    [rows, cols]: [u16; 2],
    owner: Owner,
) -> Result<&'static [u8]> {
    let mut console = CONSOLE.lock();
    if console.is_none() {
        *console = Some(super::add(owner, Some(Attached { host, is_asked: AtomicBool::new(false) }))?);
    }
    if let Some(terminal) = &*console {
        let mut state = terminal.state();
        state.settings = settings;
        state.window = [rows, cols, 0, 0];
    }
    // It is the first of all.
    Ok(b"/dev/pts/0")
}

/// Makes it the terminal of a process's session.
pub fn give(process: &Process) {
    if let Some(terminal) = console() {
        terminal.possession.give(process);
    }
}

/// Takes an answer: bytes, or none at the end of input.
pub fn supply(bytes: &[u8]) {
    let Some(terminal) = console() else { return };
    if let Some(attached) = &terminal.attached {
        attached.is_asked.store(false, Ordering::Relaxed);
    }
    terminal.accept(bytes);
}

/// It has another size.
pub fn resize(rows: u16, cols: u16) {
    let Some(terminal) = console() else { return };
    let window = [rows, cols, 0, 0];
    let before = core::mem::replace(&mut terminal.state().window, window);
    if before != window {
        job::signal_foreground(&terminal, SIGWINCH);
    }
}

/// Nobody is there any more.
pub fn hang_up() {
    if let Some(terminal) = console() {
        terminal.hang_up();
    }
}

/// Sends the processes in the foreground a signal that was typed; false if there are none.
pub fn signal(signo: u8) -> bool {
    let terminal = console().filter(|terminal| terminal.possession.foreground() != 0);
    terminal.is_some_and(|terminal| {
        job::signal_foreground(&terminal, signo);
        true
    })
}
