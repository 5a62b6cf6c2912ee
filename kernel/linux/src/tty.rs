// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Terminals: pseudo-terminals (pty(7)), and job control on them.
//!
//! What becomes of bytes is in `kernel/tty`; here are [`Terminal`]s with their two sides ([`master`], [`slave`]), who may use them
//! ([`job`]), their requests ([`requests`]) and where they are found ([`devices`]).

pub mod console;
pub mod devices;
mod job;
mod master;
mod requests;
mod slave;
mod terminal;
mod termio;

use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;

use hadal_hal::memory::fallible::MakeRoom;
use hadal_sync::Mutex;
use hadal_vfs::Owner;

use self::console::Attached;
pub(crate) use self::job::leader_ends;
use self::terminal::Terminal;
use crate::process::Process;
use crate::task::Task;
use crate::{Errno, Result};

/// Most pseudo-terminals at a time (`kernel.pty.max`).
const MOST: usize = 4096;

/// All terminals by number; places of those that are gone are used again.
static TERMINALS: Mutex<Vec<Weak<Terminal>>> = Mutex::new(Vec::new());

/// Makes the caller's terminal; `ENOSPC` if there are too many.
fn make() -> Result<Arc<Terminal>> {
    let (uid, gid) = Task::current().process().credentials.effective();
    add(Owner { uid, gid }, None)
}

/// Makes a terminal with the lowest free number.
fn add(owner: Owner, attached: Option<Attached>) -> Result<Arc<Terminal>> {
    let mut terminals = TERMINALS.lock();
    let number = terminals.iter().position(|each| each.strong_count() == 0).unwrap_or(terminals.len());
    if number >= MOST {
        return Err(Errno::ENOSPC);
    }
    if number == terminals.len() {
        terminals.make_room(1)?;
        terminals.push(Weak::new());
    }
    let terminal = Terminal::new(number as u32, owner, attached)?;
    terminals[number] = Arc::downgrade(&terminal);
    Ok(terminal)
}

/// Device number and foreground group of a process's terminal, if it has one.
pub fn of(process: &Process) -> Option<(u32, u32)> {
    let terminal = job::of(process)?;
    Some((devices::encoded(terminal.number()), terminal.possession.foreground()))
}

/// The terminal with a number.
fn numbered(number: usize) -> Option<Arc<Terminal>> {
    TERMINALS.lock().get(number)?.upgrade()
}

/// The first terminal that fits.
fn find(fits: impl Fn(&Terminal) -> bool) -> Option<Arc<Terminal>> {
    // One that is let go of may be the last reference: not with the list locked.
    let mut number = 0;
    loop {
        let terminal = {
            let terminals = TERMINALS.lock();
            let live = terminals.get(number..)?.iter().position(|each| each.strong_count() != 0)?;
            number += live + 1;
            terminals[number - 1].upgrade()
        };
        if let Some(terminal) = terminal.filter(|terminal| fits(terminal)) {
            return Some(terminal);
        }
    }
}
