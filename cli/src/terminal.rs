// SPDX-License-Identifier: Apache-2.0 OR MIT
//! This process's terminal, which is the guest's: programs there change its settings, read it, and are told of its size. When the
//! run is over, or stopped, the terminal is as it was.

use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use hadal_abi::control::HostMessage;
use hadal_abi::terminal::{CHARACTERS, Change, Settings, Size};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Signal, kill_current_process_group};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, OutputModes, QueueSelector, SpecialCodeIndex, Termios, isatty,
    tcflush, tcgetattr, tcgetpgrp, tcgetwinsize, tcsetattr,
};

use crate::job_control::own_group;

/// Control characters by their places in Linux's `struct termios`.
const CODES: [SpecialCodeIndex; 17] = [
    SpecialCodeIndex::VINTR,
    SpecialCodeIndex::VQUIT,
    SpecialCodeIndex::VERASE,
    SpecialCodeIndex::VKILL,
    SpecialCodeIndex::VEOF,
    SpecialCodeIndex::VTIME,
    SpecialCodeIndex::VMIN,
    SpecialCodeIndex::VSWTC,
    SpecialCodeIndex::VSTART,
    SpecialCodeIndex::VSTOP,
    SpecialCodeIndex::VSUSP,
    SpecialCodeIndex::VEOL,
    SpecialCodeIndex::VREPRINT,
    SpecialCodeIndex::VDISCARD,
    SpecialCodeIndex::VWERASE,
    SpecialCodeIndex::VLNEXT,
    SpecialCodeIndex::VEOL2,
];

/// The first standard stream that is a terminal, in this order.
fn first_of(streams: [BorrowedFd<'static>; 3]) -> Option<BorrowedFd<'static>> {
    streams.into_iter().find(|stream| isatty(stream))
}

fn input() -> Option<BorrowedFd<'static>> {
    first_of([rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr()])
}

/// Whether something is typed, or nobody is there any more.
fn is_readable(fd: BorrowedFd<'_>) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&now)).is_ok_and(|ready| ready > 0)
}

/// Where programs' output to the terminal goes.
pub(crate) fn output() -> BorrowedFd<'static> {
    let streams = [rustix::stdio::stdout(), rustix::stdio::stderr(), rustix::stdio::stdin()];
    first_of(streams).unwrap_or(rustix::stdio::stdout())
}

/// Whether this process may read the terminal and change it: in the background it would be stopped.
fn is_in_front(fd: BorrowedFd<'_>) -> bool {
    // Of a terminal that is not this session's nobody is stopped.
    let Ok(group) = tcgetpgrp(fd) else { return true };
    own_group().is_none_or(|own| group.as_raw_nonzero().get() == own)
}

/// The settings that the terminal has, if a standard stream is one.
pub(crate) fn settings() -> Option<Settings> {
    let fd = input()?;
    let mut mode = tcgetattr(fd).ok()?;
    if !is_in_front(fd) {
        // They are those of whoever is: a shell that edits a line.
        mode.input_modes |= InputModes::ICRNL;
        mode.output_modes |= OutputModes::OPOST | OutputModes::ONLCR;
        mode.local_modes |= LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN;
    }
    let mut characters = [0; CHARACTERS];
    for (to, code) in characters.iter_mut().zip(CODES) {
        *to = mode.special_codes[code];
    }
    Some(Settings {
        input: mode.input_modes.bits(),
        output: mode.output_modes.bits(),
        control: mode.control_modes.bits(),
        local: mode.local_modes.bits(),
        characters,
    })
}

/// What programs in the guest may do with the terminal.
#[derive(Debug)]
pub(crate) struct Terminal {
    fd: BorrowedFd<'static>,
    /// Whether programs have changed it, and to what.
    changed: Mutex<Option<Changed>>,
    /// Held by who reads what is typed.
    keyboard: Mutex<()>,
    /// A shell in the guest gets what is typed to stop a program, too.
    controls_jobs: AtomicBool,
}

#[derive(Debug)]
struct Changed {
    before: Termios,
    now: Termios,
}

impl Terminal {
    /// The terminal of this process, if it has one.
    pub(crate) fn open() -> Option<Self> {
        Some(Self {
            fd: input()?,
            changed: Mutex::new(None),
            keyboard: Mutex::new(()),
            controls_jobs: AtomicBool::new(false),
        })
    }

    fn changed(&self) -> MutexGuard<'_, Option<Changed>> {
        // A value is put there whole.
        self.changed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps what is typed from programs, even from one that has asked before it ended, until this is dropped.
    pub(crate) fn keyboard(&self) -> MutexGuard<'_, ()> {
        self.keyboard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the settings those of a program, but for the speed, and what the host's own job control goes by.
    pub(crate) fn change(&self, change: &Change) {
        let mut changed = self.changed();
        let before = changed.take().map(|changed| changed.before);
        let Some(before) = before.or_else(|| tcgetattr(self.fd).ok()) else { return };
        let mut now = before.clone();
        now.input_modes = InputModes::from_bits_retain(change.settings.input);
        now.output_modes = OutputModes::from_bits_retain(change.settings.output);
        let hosts = now.local_modes & LocalModes::TOSTOP;
        let programs = LocalModes::from_bits_retain(change.settings.local) - LocalModes::TOSTOP;
        now.local_modes = programs | hosts;
        for (&value, code) in change.settings.characters.iter().zip(CODES) {
            now.special_codes[code] = value;
        }
        let when = if change.discards { OptionalActions::Flush } else { OptionalActions::Drain };
        self.set(when, &now);
        *changed = Some(Changed { before, now });
    }

    fn set(&self, when: OptionalActions, mode: &Termios) {
        // It fails if the terminal is gone, which reading tells.
        let _ = tcsetattr(self.fd, when, mode);
    }

    /// Drops what has been typed and not read.
    pub(crate) fn discard(&self) {
        let _ = tcflush(self.fd, QueueSelector::IFlush);
    }

    /// A program in the guest begins to move jobs to the foreground and back, or ends to.
    pub(crate) fn control_jobs(&self, is: bool) {
        self.controls_jobs.store(is, Ordering::SeqCst);
    }

    /// Whether what is typed to stop a program is for one in the guest.
    pub(crate) fn controls_jobs(&self) -> bool {
        self.controls_jobs.load(Ordering::SeqCst)
    }

    /// Makes it what it was, for as long as somebody else has it.
    pub(crate) fn lend(&self) {
        if let Some(changed) = &*self.changed() {
            self.set(OptionalActions::Drain, &changed.before);
        }
    }

    /// Makes it again what programs have made of it.
    pub(crate) fn take_back(&self) {
        if let Some(changed) = &*self.changed() {
            self.set(OptionalActions::Drain, &changed.now);
        }
    }

    /// The programs that have changed it are gone.
    pub(crate) fn restore(&self) {
        if let Some(changed) = self.changed().take() {
            self.set(OptionalActions::Drain, &changed.before);
        }
    }

    /// Its size, for the guest.
    pub(crate) fn size(&self) -> Option<HostMessage> {
        let size = tcgetwinsize(self.fd).ok()?;
        Some(HostMessage::TerminalSize(Size { rows: size.ws_row, cols: size.ws_col }))
    }

    /// Waits for input and reads it: as the terminal's settings say, a line or what there is.
    pub(crate) fn read(&self, max_len: u32) -> HostMessage {
        let mut buffer = vec![0; max_len as usize];
        loop {
            // As a read would, which comes only when there is something: by then somebody else may have it.
            if !is_in_front(self.fd) {
                let _ = kill_current_process_group(Signal::TTIN);
            }
            let mut waits = [PollFd::new(&self.fd, PollFlags::IN)];
            if poll(&mut waits, None).is_ok() && waits[0].revents().contains(PollFlags::HUP) {
                return HostMessage::TerminalGone;
            }
            let _keyboard = self.keyboard();
            // It may have been for somebody else.
            if !is_readable(self.fd) {
                continue;
            }
            match rustix::io::read(self.fd, &mut buffer) {
                // Without lines that is none.
                Ok(0) if !self.has_lines() => {}
                Ok(len) => {
                    buffer.truncate(len);
                    return HostMessage::TerminalInput(buffer);
                }
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(_) => return HostMessage::TerminalGone,
            }
        }
    }

    fn has_lines(&self) -> bool {
        tcgetattr(self.fd).is_ok_and(|mode| mode.local_modes.contains(LocalModes::ICANON))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.restore();
    }
}
