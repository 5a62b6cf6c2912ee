// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What becomes of typed bytes: lines that are edited, echo, signals (N_TTY of Linux; POSIX, general terminal interface).

use alloc::collections::VecDeque;

use crate::output::{Cursor, TAB_COLUMNS, is_shown};
use crate::termios::{Control, InputFlags, LocalFlags, Termios};

/// Most bytes that wait to be read.
pub const CAPACITY: usize = 4096;
/// Most lines.
const MOST_LINES: usize = 512;

/// A signal for the processes in the foreground.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Typed {
    /// SIGINT.
    Interrupt,
    /// SIGQUIT.
    Quit,
    /// SIGTSTP.
    Suspend,
}

/// Typed bytes that wait to be read.
#[derive(Debug, Default)]
pub struct Input {
    /// Finished lines, then what is being edited; without lines all of it can be read.
    bytes: VecDeque<u8>,
    /// Lengths of the lines; none is longer than what waits.
    lines: VecDeque<u16>,
    /// Bytes of finished lines.
    finished: usize,
    /// The next byte is taken as it is.
    is_literal: bool,
    /// Output is held back.
    is_held: bool,
    /// Column where the line that is edited begins.
    origin: u32,
}

impl Input {
    /// Whether output is held back (Ctrl-S).
    pub fn holds_output(&self) -> bool {
        self.is_held
    }

    /// Asks for the memory that it takes at most.
    pub fn reserve(&mut self) {
        self.bytes.reserve(CAPACITY);
        self.lines.reserve(MOST_LINES);
    }

    /// Holds output back, or lets it go on.
    pub fn hold_output(&mut self, is: bool) {
        self.is_held = is;
    }

    /// Whether a byte can be taken without losing one that a read could make room for.
    pub fn has_room(&self, settings: &Termios) -> bool {
        let is_editing = settings.local().contains(LocalFlags::ICANON) && self.lines.is_empty();
        is_editing || self.bytes.len() + 1 < CAPACITY && self.lines.len() < MOST_LINES
    }

    /// How many bytes wait to be read, of all finished lines.
    pub fn waiting(&self, settings: &Termios) -> usize {
        if settings.local().contains(LocalFlags::ICANON) { self.finished } else { self.bytes.len() }
    }

    /// How many bytes can be read at once, 0 being the end of input; `None`: nothing can be read yet.
    pub fn readable(&self, settings: &Termios) -> Option<usize> {
        if settings.local().contains(LocalFlags::ICANON) {
            self.lines.front().map(|&len| len.into())
        } else {
            (!self.bytes.is_empty()).then_some(self.bytes.len())
        }
    }

    /// Takes what can be read into a buffer: of lines the first, or its beginning. Returns the number of bytes.
    pub fn read(&mut self, settings: &Termios, buffer: &mut [u8]) -> usize {
        let len = self.readable(settings).unwrap_or(0).min(buffer.len());
        for (to, from) in buffer.iter_mut().zip(self.bytes.drain(..len)) {
            *to = from;
        }
        self.finished -= len.min(self.finished);
        if let Some(line) = self.lines.front_mut() {
            *line -= len as u16;
            // An empty one is read once, as the end of input.
            if *line == 0 {
                self.lines.pop_front();
            }
        }
        len
    }

    /// Drops all that waits.
    pub fn discard(&mut self) {
        self.bytes.clear();
        self.lines.clear();
        self.finished = 0;
        self.is_literal = false;
    }

    /// The settings change: what waits can be read as it has been typed.
    pub fn change(&mut self, from: &Termios, to: &Termios) {
        let is_canonical = |settings: &Termios| settings.local().contains(LocalFlags::ICANON);
        if is_canonical(from) != is_canonical(to) {
            self.lines.clear();
            self.finished = 0;
            if is_canonical(to) && !self.bytes.is_empty() {
                self.finish_line();
            }
        }
        if !to.input().contains(InputFlags::IXON) {
            self.is_held = false;
        }
    }

    /// Takes what somebody else has edited and shown already: with lines, one that is finished, and nothing is the end of input.
    /// What there is no room for is lost.
    pub fn accept(&mut self, settings: &Termios, bytes: &[u8]) {
        let room = (CAPACITY - 1).saturating_sub(self.bytes.len());
        let bytes = &bytes[..bytes.len().min(room)];
        if !settings.local().contains(LocalFlags::ICANON) {
            self.bytes.extend(bytes);
            return;
        }
        let is_empty = bytes.is_empty();
        for line in bytes.split_inclusive(|&byte| byte == b'\n').chain(is_empty.then_some(bytes)) {
            if self.lines.len() == MOST_LINES {
                return;
            }
            self.bytes.extend(line);
            self.finish_line();
        }
    }

    /// Takes a typed byte. What is shown of it goes to `put`; the signal that it sends is returned.
    pub fn take(
        &mut self,
        settings: &Termios,
        cursor: &mut Cursor,
        mut byte: u8,
        put: &mut impl FnMut(&[u8]),
    ) -> Option<Typed> {
        let (input, local) = (settings.input(), settings.local());
        if input.contains(InputFlags::ISTRIP) {
            byte &= 0x7f;
        }
        if core::mem::take(&mut self.is_literal) {
            self.add(settings, cursor, byte, put);
            return None;
        }
        if input.contains(InputFlags::IXON) {
            if settings.is(Control::Start, byte) || settings.is(Control::Stop, byte) {
                self.is_held = settings.is(Control::Stop, byte) && !settings.is(Control::Start, byte);
                return None;
            }
            if input.contains(InputFlags::IXANY) {
                self.is_held = false;
            }
        }
        if local.contains(LocalFlags::ISIG)
            && let Some(typed) = signal_of(settings, byte)
        {
            if !local.contains(LocalFlags::NOFLSH) {
                self.discard();
            }
            self.is_held = false;
            echo(settings, cursor, byte, put);
            return Some(typed);
        }
        match byte {
            b'\r' if input.contains(InputFlags::IGNCR) => return None,
            b'\r' if input.contains(InputFlags::ICRNL) => byte = b'\n',
            b'\n' if input.contains(InputFlags::INLCR) => byte = b'\r',
            _ => {}
        }
        if local.contains(LocalFlags::ICANON) && self.edit(settings, cursor, byte, put) {
            return None;
        }
        self.add(settings, cursor, byte, put);
        None
    }

    /// Takes a byte that edits or ends a line; false if it is another one.
    fn edit(
        &mut self,
        settings: &Termios,
        cursor: &mut Cursor,
        byte: u8,
        put: &mut impl FnMut(&[u8]),
    ) -> bool {
        let local = settings.local();
        let is_extended = local.contains(LocalFlags::IEXTEN);
        let is_echoed = local.contains(LocalFlags::ECHO);
        match byte {
            _ if settings.is(Control::Erase, byte) => self.erase(settings, cursor, put),
            _ if settings.is(Control::Kill, byte) => self.kill(settings, cursor, byte, put),
            _ if is_extended && settings.is(Control::WordErase, byte) => {
                self.erase_word(settings, cursor, put)
            }
            _ if is_extended && settings.is(Control::LiteralNext, byte) => {
                self.is_literal = true;
                if is_echoed && local.contains(LocalFlags::ECHOCTL) {
                    put(b"^\x08");
                }
            }
            _ if is_extended && is_echoed && settings.is(Control::Reprint, byte) => {
                echo(settings, cursor, byte, put);
                cursor.write(settings, b'\n', &mut *put);
                self.origin = cursor.column();
                self.edited().for_each(|byte| echo(settings, cursor, byte, put));
            }
            b'\n' => {
                if is_echoed || local.contains(LocalFlags::ECHONL) {
                    cursor.write(settings, b'\n', &mut *put);
                }
                self.end_line(Some(byte), cursor);
            }
            _ if settings.is(Control::EndOfFile, byte) => self.end_line(None, cursor),
            _ if settings.is(Control::EndOfLine, byte)
                || is_extended && settings.is(Control::EndOfLine2, byte) =>
            {
                echo(settings, cursor, byte, put);
                self.end_line(Some(byte), cursor);
            }
            _ => return false,
        }
        true
    }

    fn add(&mut self, settings: &Termios, cursor: &mut Cursor, byte: u8, put: &mut impl FnMut(&[u8])) {
        // A line can always be ended.
        if self.bytes.len() + 1 >= CAPACITY {
            if settings.input().contains(InputFlags::IMAXBEL) {
                put(b"\x07");
            }
            return;
        }
        if self.bytes.len() == self.finished {
            self.origin = cursor.column();
        }
        self.bytes.push_back(byte);
        echo(settings, cursor, byte, put);
    }

    fn end_line(&mut self, byte: Option<u8>, cursor: &Cursor) {
        if self.bytes.len() >= CAPACITY || self.lines.len() >= MOST_LINES {
            return;
        }
        self.bytes.extend(byte);
        self.finish_line();
        self.origin = cursor.column();
    }

    fn finish_line(&mut self) {
        self.lines.push_back((self.bytes.len() - self.finished) as u16);
        self.finished = self.bytes.len();
    }

    /// What is being edited.
    fn edited(&self) -> impl Iterator<Item = u8> {
        self.bytes.range(self.finished..).copied()
    }

    /// Takes the last character off; `None` if there is none.
    fn pop(&mut self, settings: &Termios) -> Option<u8> {
        let is_utf8 = settings.input().contains(InputFlags::IUTF8);
        while self.bytes.len() > self.finished {
            let byte = self.bytes.pop_back()?;
            if !is_utf8 || byte & 0xc0 != 0x80 || self.bytes.len() == self.finished {
                return Some(byte);
            }
        }
        None
    }

    fn erase(&mut self, settings: &Termios, cursor: &mut Cursor, put: &mut impl FnMut(&[u8])) {
        if let Some(byte) = self.pop(settings) {
            self.show_erased(settings, cursor, byte, put);
        }
    }

    fn erase_word(&mut self, settings: &Termios, cursor: &mut Cursor, put: &mut impl FnMut(&[u8])) {
        let mut in_word = false;
        while let Some(last) = self.edited().last() {
            let is_part = last.is_ascii_alphanumeric() || last == b'_' || last >= 0x80;
            if in_word && !is_part {
                return;
            }
            in_word |= is_part;
            self.erase(settings, cursor, put);
        }
    }

    fn kill(&mut self, settings: &Termios, cursor: &mut Cursor, byte: u8, put: &mut impl FnMut(&[u8])) {
        let local = settings.local();
        if local.contains(LocalFlags::ECHO | LocalFlags::ECHOE | LocalFlags::ECHOK | LocalFlags::ECHOKE) {
            while self.bytes.len() > self.finished {
                self.erase(settings, cursor, put);
            }
            return;
        }
        self.bytes.truncate(self.finished);
        if local.contains(LocalFlags::ECHO) {
            echo(settings, cursor, byte, put);
            if local.contains(LocalFlags::ECHOK) {
                cursor.write(settings, b'\n', &mut *put);
            }
        }
    }

    /// A character has been taken off: takes it off the screen.
    fn show_erased(&self, settings: &Termios, cursor: &mut Cursor, byte: u8, put: &mut impl FnMut(&[u8])) {
        let local = settings.local();
        if !local.contains(LocalFlags::ECHO) {
            return;
        }
        if !local.contains(LocalFlags::ECHOE) {
            return echo(settings, cursor, settings.value(Control::Erase), put);
        }
        let columns = match byte {
            b'\t' => cursor.column().saturating_sub(self.column_of_end(settings)).min(TAB_COLUMNS),
            _ if byte.is_ascii_control() => 2 * u32::from(local.contains(LocalFlags::ECHOCTL)),
            _ => 1,
        };
        for _ in 0..columns {
            [8, b' ', 8].iter().for_each(|&byte| cursor.write(settings, byte, &mut *put));
        }
    }

    /// Where the cursor is behind what is being edited.
    fn column_of_end(&self, settings: &Termios) -> u32 {
        self.edited().fold(self.origin, |column, byte| match byte {
            b'\t' => (column | (TAB_COLUMNS - 1)).wrapping_add(1),
            _ if byte.is_ascii_control() => {
                column.wrapping_add(2 * u32::from(settings.local().contains(LocalFlags::ECHOCTL)))
            }
            _ => column.wrapping_add(u32::from(is_shown(byte))),
        })
    }
}

fn signal_of(settings: &Termios, byte: u8) -> Option<Typed> {
    match byte {
        _ if settings.is(Control::Interrupt, byte) => Some(Typed::Interrupt),
        _ if settings.is(Control::Quit, byte) => Some(Typed::Quit),
        _ if settings.is(Control::Suspend, byte) => Some(Typed::Suspend),
        _ => None,
    }
}

/// Shows a typed byte.
fn echo(settings: &Termios, cursor: &mut Cursor, byte: u8, put: &mut impl FnMut(&[u8])) {
    let local = settings.local();
    if !local.contains(LocalFlags::ECHO) {
        return;
    }
    if local.contains(LocalFlags::ECHOCTL) && byte.is_ascii_control() && byte != b'\t' && byte != b'\n' {
        cursor.write(settings, b'^', &mut *put);
        cursor.write(settings, byte ^ 0x40, &mut *put);
    } else {
        cursor.write(settings, byte, &mut *put);
    }
}

#[cfg(test)]
mod tests;
