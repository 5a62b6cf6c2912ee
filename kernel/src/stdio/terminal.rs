// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The terminal of the host, for the programs' terminal: what they do with it is done there.

use hadal_abi::config::{RunConfig, StdioKind};
use hadal_abi::control::{GuestMessage, OutputStream};
use hadal_abi::terminal::{Change, Settings};
use hadal_linux::tty::console::{self, Host};
use hadal_tty::termios::Termios;
use hadal_vfs::{Owner, Result};

use crate::control;

struct Channel;

impl Host for Channel {
    fn write(&self, data: &[u8]) -> usize {
        control::output(OutputStream::Terminal, data)
    }

    fn request(&self, max_len: u32) {
        control::send(&GuestMessage::TerminalRequest { max_len });
    }

    fn change(&self, settings: &Termios, discards: bool) {
        let ([input, output, control, local], characters) = settings.parts();
        let settings = Settings { input, output, control, local, characters };
        control::send(&GuestMessage::TerminalChange(Change { settings, discards }));
    }

    fn discard(&self) {
        control::send(&GuestMessage::TerminalDiscard);
    }

    fn control_jobs(&self, is: bool) {
        control::send(&GuestMessage::JobControl(is));
    }
}

/// Makes the terminal that standard streams of a run are, and returns its path; `None`: they are no terminal that anybody
/// answers for.
pub(super) fn attach(config: &RunConfig) -> Result<Option<&'static [u8]>> {
    let Some(settings) = config.terminal.filter(|_| control::is_open()) else { return Ok(None) };
    let size = config.stdio.iter().find_map(|kind| match kind {
        StdioKind::Tty { rows, cols } => Some([*rows, *cols]),
        _ => None,
    });
    let flags = [settings.input, settings.output, settings.control, settings.local];
    let owner = Owner { uid: config.uid, gid: config.gid };
    let termios = Termios::new(flags, settings.characters);
    console::attach(&Channel, termios, size.unwrap_or_default(), owner).map(Some)
}
