// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A terminal: what is typed and what is to be shown, between the one side that is a person or a program that plays one (the
//! master), and the other that programs read and write (the slave).

use alloc::collections::VecDeque;
use alloc::sync::Arc;

use hadal_hal::memory::fallible::{self, MakeRoom};
use hadal_sync::{Mutex, MutexGuard, WaitQueue};
use hadal_tty::input::{CAPACITY, Input, Typed};
use hadal_tty::output::{Cursor, MOST_AT_ONCE};
use hadal_tty::termios::Termios;
use hadal_vfs::Owner;

use super::console::Attached;
use super::job::{self, Possession};
use crate::Result;
use crate::signal::number::{SIGINT, SIGQUIT, SIGTSTP};

/// Bytes for the screen that wait to be taken.
const SCREEN_BYTES: usize = 4096;

/// Rows, columns, and the same in pixels (`struct winsize`).
pub(super) type Window = [u16; 4];

pub(super) struct Terminal {
    number: u32,
    /// Who opened the master.
    owner: Owner,
    state: Mutex<State>,
    /// Where the slave's side waits.
    pub(super) slaves: WaitQueue,
    /// Where the master's does.
    pub(super) masters: WaitQueue,
    /// Whose it is.
    pub(super) possession: Possession,
    /// Who plays the master, if no program does.
    pub(super) attached: Option<Attached>,
}

/// What both sides share.
pub(super) struct State {
    pub(super) settings: Termios,
    pub(super) window: Window,
    pub(super) input: Input,
    cursor: Cursor,
    /// For the screen.
    pub(super) screen: VecDeque<u8>,
    /// The master says that the slave may not be opened yet.
    pub(super) is_locked: bool,
    /// The master is gone.
    pub(super) is_hung_up: bool,
    /// Open files of the slave.
    pub(super) slaves: usize,
    /// There was one.
    pub(super) was_open: bool,
}

impl Terminal {
    pub(super) fn new(number: u32, owner: Owner, attached: Option<Attached>) -> Result<Arc<Self>> {
        let mut state = State {
            settings: Termios::DEFAULT,
            window: [0; 4],
            input: Input::default(),
            cursor: Cursor::default(),
            screen: VecDeque::new(),
            is_locked: attached.is_none(),
            is_hung_up: false,
            slaves: 0,
            was_open: false,
        };
        // Typing and showing ask for no memory.
        state.screen.make_room(SCREEN_BYTES)?;
        fallible::admit(CAPACITY)?;
        state.input.reserve();
        Ok(fallible::arc(Self {
            number,
            owner,
            state: Mutex::new(state),
            slaves: WaitQueue::new(),
            masters: WaitQueue::new(),
            possession: Possession::default(),
            attached,
        })?)
    }

    /// Its number.
    pub(super) fn number(&self) -> u32 {
        self.number
    }

    pub(super) fn owner(&self) -> Owner {
        self.owner
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Takes typed bytes while there is room for them; returns how many.
    pub(super) fn type_in(&self, bytes: &[u8]) -> usize {
        let mut taken = 0;
        for &byte in bytes {
            let typed = {
                let mut state = self.state.lock();
                if !state.input.has_room(&state.settings) {
                    break;
                }
                state.take(byte)
            };
            taken += 1;
            if let Some(typed) = typed {
                let signo = match typed {
                    Typed::Interrupt => SIGINT,
                    Typed::Quit => SIGQUIT,
                    Typed::Suspend => SIGTSTP,
                };
                job::signal_foreground(self, signo);
            }
        }
        if taken > 0 {
            self.slaves.wake_all();
            // What is echoed.
            self.masters.wake_all();
        }
        taken
    }

    /// Shows bytes while there is room for them; returns how many.
    pub(super) fn show(&self, bytes: &[u8]) -> usize {
        let mut state = self.state.lock();
        let mut shown = 0;
        while shown < bytes.len() && state.can_show() {
            state.show(bytes[shown]);
            shown += 1;
        }
        drop(state);
        if shown > 0 {
            self.masters.wake_all();
        }
        shown
    }

    /// Changes the settings. `discards`: what is typed and not read yet is dropped.
    pub(super) fn set(&self, settings: Termios, discards: bool) {
        // Before anybody asks for more.
        if let Some(attached) = &self.attached {
            attached.host.change(&settings, discards);
        }
        let mut state = self.state.lock();
        let before = core::mem::replace(&mut state.settings, settings);
        state.input.change(&before, &settings);
        if discards {
            state.input.discard();
        }
        drop(state);
        self.slaves.wake_all();
        self.masters.wake_all();
    }

    /// Nothing, or not enough, is there to be read.
    pub(super) fn ask(&self) {
        if let Some(attached) = &self.attached {
            attached.ask();
        }
    }

    /// Takes what the host has edited.
    pub(super) fn accept(&self, bytes: &[u8]) {
        let mut state = self.state.lock();
        let settings = state.settings;
        state.input.accept(&settings, bytes);
        drop(state);
        self.slaves.wake_all();
    }

    /// The master has gone.
    pub(super) fn hang_up(&self) {
        self.state.lock().is_hung_up = true;
        self.slaves.wake_all();
        job::hang_up(self);
    }
}

impl State {
    /// Whether a byte can be shown, whatever it becomes.
    pub(super) fn can_show(&self) -> bool {
        !self.input.holds_output() && self.screen.len() + MOST_AT_ONCE <= SCREEN_BYTES
    }

    fn show(&mut self, byte: u8) {
        let screen = &mut self.screen;
        self.cursor.write(&self.settings, byte, |bytes| screen.extend(bytes));
    }

    /// Takes a typed byte; what the screen has no room for is not echoed.
    fn take(&mut self, byte: u8) -> Option<Typed> {
        let screen = &mut self.screen;
        let mut put = |bytes: &[u8]| {
            if screen.len() + bytes.len() <= SCREEN_BYTES {
                screen.extend(bytes);
            }
        };
        self.input.take(&self.settings, &mut self.cursor, byte, &mut put)
    }
}
