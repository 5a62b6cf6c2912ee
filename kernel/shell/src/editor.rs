// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Lines from a terminal that sends every key at once: what a terminal driver does, and for commands of the shell a history
//! and completion.
//!
//! Backspace, Ctrl-U (erase the line), Ctrl-C and Ctrl-D; for commands up and down (also Ctrl-P and Ctrl-N), and Tab. The
//! cursor is always at the end.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::mem;

use crate::PROMPT;
use crate::complete::complete;

/// Lines that are remembered.
const HISTORY: usize = 32;
/// Bytes of a line; more are not taken.
const LINE_MAX: usize = 1024;

const CTRL_C: u8 = 3;
const CTRL_D: u8 = 4;
const BACKSPACE: u8 = 8;
const TAB: u8 = 9;
const CTRL_N: u8 = 14;
const CTRL_P: u8 = 16;
const CTRL_U: u8 = 21;
const ESCAPE: u8 = 27;
const DELETE: u8 = 127;

/// Takes back one character on the screen.
const ERASE_ONE: &[u8] = b"\x08 \x08";

/// Who reads the lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// The shell: lines are commands.
    Shell,
    /// The program: lines are its own, and what is typed for it is not remembered.
    Program,
}

/// What a byte has led to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Nothing yet.
    None,
    /// A whole line, without its end.
    Line(Vec<u8>),
    /// Ctrl-C; the line so far is dropped.
    Interrupt,
    /// Ctrl-D on an empty line: the end of input.
    End,
}

/// How far an escape sequence has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sequence {
    None,
    Escape,
    Bracket,
}

/// The editor of one terminal.
#[derive(Debug)]
pub struct Editor {
    line: Vec<u8>,
    history: VecDeque<Vec<u8>>,
    /// The remembered line that is shown; the number of lines means: the new one.
    shown: usize,
    sequence: Sequence,
    /// Whether the last byte was a carriage return, whose line feed is not a second end.
    after_return: bool,
}

impl Default for Editor {
    fn default() -> Self {
        Self::new()
    }
}

impl Editor {
    /// An editor without history.
    pub const fn new() -> Self {
        Self {
            line: Vec::new(),
            history: VecDeque::new(),
            shown: 0,
            sequence: Sequence::None,
            after_return: false,
        }
    }

    /// Takes a byte; what the terminal is to show for it goes to `echo`.
    pub fn take(&mut self, byte: u8, reader: Reader, echo: &mut dyn FnMut(&[u8])) -> Event {
        let after_return = mem::replace(&mut self.after_return, byte == b'\r');
        if byte < b' ' {
            // No part of a sequence: somebody has pressed Escape, and now another key.
            self.sequence = Sequence::None;
        }
        match (self.sequence, byte) {
            (Sequence::Escape, b'[' | b'O') => self.sequence = Sequence::Bracket,
            (Sequence::Escape, _) => self.sequence = Sequence::None,
            (Sequence::Bracket, _) => self.arrow(byte, reader, echo),
            (Sequence::None, ESCAPE) => self.sequence = Sequence::Escape,
            (Sequence::None, b'\n') if after_return => {}
            (Sequence::None, b'\r' | b'\n') => {
                echo(b"\r\n");
                return Event::Line(self.end_line(reader));
            }
            (Sequence::None, BACKSPACE | DELETE) => self.erase_one(echo),
            (Sequence::None, CTRL_U) => self.replace(Vec::new(), echo),
            (Sequence::None, CTRL_P) if reader == Reader::Shell => self.older(echo),
            (Sequence::None, CTRL_N) if reader == Reader::Shell => self.newer(echo),
            (Sequence::None, TAB) if reader == Reader::Shell => self.complete(echo),
            (Sequence::None, CTRL_C) => {
                echo(b"^C\r\n");
                self.line.clear();
                self.shown = self.history.len();
                return Event::Interrupt;
            }
            (Sequence::None, CTRL_D) if self.line.is_empty() => return Event::End,
            (Sequence::None, b' '..) if self.line.len() < LINE_MAX => {
                self.line.push(byte);
                echo(&[byte]);
            }
            (Sequence::None, _) => {}
        }
        Event::None
    }

    fn end_line(&mut self, reader: Reader) -> Vec<u8> {
        let line = mem::take(&mut self.line);
        if reader == Reader::Shell && !line.is_empty() && self.history.back() != Some(&line) {
            if self.history.len() == HISTORY {
                self.history.pop_front();
            }
            self.history.push_back(line.clone());
        }
        self.shown = self.history.len();
        line
    }

    /// Removes the last character: in UTF-8 all bytes from its first one on.
    fn erase_one(&mut self, echo: &mut dyn FnMut(&[u8])) {
        while let Some(byte) = self.line.pop() {
            if byte & 0xc0 != 0x80 {
                echo(ERASE_ONE);
                break;
            }
        }
    }

    fn replace(&mut self, line: Vec<u8>, echo: &mut dyn FnMut(&[u8])) {
        while !self.line.is_empty() {
            self.erase_one(echo);
        }
        echo(&line);
        self.line = line;
    }

    fn arrow(&mut self, byte: u8, reader: Reader, echo: &mut dyn FnMut(&[u8])) {
        // Digits and semicolons belong to longer sequences, which mean nothing here.
        if byte.is_ascii_digit() || byte == b';' {
            return;
        }
        self.sequence = Sequence::None;
        match (reader, byte) {
            (Reader::Shell, b'A') => self.older(echo),
            (Reader::Shell, b'B') => self.newer(echo),
            _ => {}
        }
    }

    /// Shows the remembered line before this one.
    fn older(&mut self, echo: &mut dyn FnMut(&[u8])) {
        if let Some(older) = self.shown.checked_sub(1) {
            self.show(older, echo);
        }
    }

    /// Shows the remembered line after this one, or an empty one.
    fn newer(&mut self, echo: &mut dyn FnMut(&[u8])) {
        if self.shown < self.history.len() {
            self.show(self.shown + 1, echo);
        }
    }

    fn show(&mut self, index: usize, echo: &mut dyn FnMut(&[u8])) {
        self.shown = index;
        self.replace(self.history.get(index).cloned().unwrap_or_default(), echo);
    }

    /// Puts in what is certain of the last word; where nothing is, lists what it may become.
    fn complete(&mut self, echo: &mut dyn FnMut(&[u8])) {
        let Ok(line) = core::str::from_utf8(&self.line) else { return };
        let completion = complete(line);
        let more = completion.common(&line[completion.start..]).as_bytes();
        let is_whole = completion.words.len() == 1;
        if self.line.len() + more.len() >= LINE_MAX {
            return;
        }
        if !more.is_empty() || is_whole {
            self.line.extend_from_slice(more);
            echo(more);
            if is_whole {
                self.line.push(b' ');
                echo(b" ");
            }
        } else if !completion.words.is_empty() {
            echo(b"\r\n");
            for word in &completion.words {
                echo(word.as_bytes());
                echo(b"  ");
            }
            echo(b"\r\n");
            echo(PROMPT.as_bytes());
            echo(&self.line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is on the screen after some keys, and the events that were not `None`.
    fn type_keys(editor: &mut Editor, keys: &[u8]) -> (Vec<u8>, Vec<Event>) {
        type_for(Reader::Shell, editor, keys)
    }

    fn type_for(reader: Reader, editor: &mut Editor, keys: &[u8]) -> (Vec<u8>, Vec<Event>) {
        let mut screen: Vec<u8> = Vec::new();
        let mut events = Vec::new();
        for &key in keys {
            let event = editor.take(key, reader, &mut |bytes| {
                for &byte in bytes {
                    match byte {
                        8 => drop(screen.pop()),
                        // A blank between two steps back wipes out and is wiped out itself.
                        byte => screen.push(byte),
                    }
                }
            });
            events.extend(Some(event).filter(|event| *event != Event::None));
        }
        (screen, events)
    }

    fn line(text: &str) -> Event {
        Event::Line(text.as_bytes().to_vec())
    }

    #[test]
    fn lines_end_once() {
        let mut editor = Editor::new();
        let (screen, events) = type_keys(&mut editor, b"one\rtwo\nthree\r\n\r\n");
        assert_eq!(events, [line("one"), line("two"), line("three"), line("")]);
        assert_eq!(screen, b"one\r\ntwo\r\nthree\r\n\r\n");
    }

    #[test]
    fn mistakes_are_taken_back() {
        let mut editor = Editor::new();
        let (_, events) = type_keys(&mut editor, b"abx\x7fc\x08\x08\x08\x08ok\r");
        assert_eq!(events, [line("ok")]);
        let (_, events) = type_keys(&mut editor, "x\u{20ac}\x7fy\r".as_bytes());
        assert_eq!(events, [line("xy")]);
        let (_, events) = type_keys(&mut editor, b"nonsense\x15run\r");
        assert_eq!(events, [line("run")]);
    }

    #[test]
    fn control_keys_are_events() {
        let mut editor = Editor::new();
        assert_eq!(type_keys(&mut editor, b"abc\x03\x04").1, [Event::Interrupt, Event::End]);
        assert_eq!(type_keys(&mut editor, b"a\x04b\r").1, [line("ab")]);
    }

    #[test]
    fn arrows_walk_through_the_history() {
        let mut editor = Editor::new();
        type_keys(&mut editor, b"first\rsecond\rsecond\r");
        assert_eq!(type_keys(&mut editor, b"\x1b[A\r").1, [line("second")]);
        assert_eq!(type_keys(&mut editor, b"new\x1b[A\x1b[A\x1b[A\r").1, [line("first")]);
        assert_eq!(type_keys(&mut editor, b"\x1b[A\x1b[B\r").1, [line("")]);
        assert_eq!(type_keys(&mut editor, b"\x1b[3~x\r").1, [line("x")]);
    }

    #[test]
    fn a_dropped_line_is_not_remembered() {
        let mut editor = Editor::new();
        type_keys(&mut editor, b"first\rsecond\r");
        assert_eq!(type_keys(&mut editor, b"\x10\x10\x03").1, [Event::Interrupt]);
        assert_eq!(type_keys(&mut editor, b"\x10\r").1, [line("second")]);
    }

    #[test]
    fn control_keys_end_a_sequence() {
        let mut editor = Editor::new();
        for begun in [&b"\x1b"[..], b"\x1b[", b"\x1b[3", b"\x1b\x1b"] {
            assert_eq!(type_keys(&mut editor, &[begun, b"\x03"].concat()).1, [Event::Interrupt]);
            assert_eq!(type_keys(&mut editor, &[b"x", begun, b"\r"].concat()).1, [line("x")]);
        }
        assert_eq!(type_keys(&mut editor, b"\x1b\x1b[A\r").1, [line("x")]);
    }

    #[test]
    fn control_keys_walk_through_the_history() {
        let mut editor = Editor::new();
        type_keys(&mut editor, b"first\rsecond\r");
        assert_eq!(type_keys(&mut editor, b"\x10\x10\x10\r").1, [line("first")]);
        assert_eq!(type_keys(&mut editor, b"\x10\x10\x0e\r").1, [line("first")]);
        assert_eq!(type_keys(&mut editor, b"\x10\x0e\x0e\r").1, [line("")]);
    }

    #[test]
    fn the_history_has_a_limit() {
        let mut editor = Editor::new();
        for number in 0..2 * HISTORY {
            type_keys(&mut editor, alloc::format!("line {number}\r").as_bytes());
        }
        let keys = [&[CTRL_P; 3 * HISTORY][..], b"\r"].concat();
        assert_eq!(type_keys(&mut editor, &keys).1, [line(&alloc::format!("line {HISTORY}"))]);
    }

    #[test]
    fn tab_puts_in_what_is_certain() {
        let mut editor = Editor::new();
        assert_eq!(
            type_keys(&mut editor, b"th\t\r"),
            (b"threads \r\n".to_vec(), alloc::vec![line("threads ")])
        );
        assert_eq!(type_keys(&mut editor, b"trace \tn\t\r").1, [line("trace on ")]);
        assert_eq!(type_keys(&mut editor, b"halt\t\r").1, [line("halt ")]);
        assert_eq!(type_keys(&mut editor, b"nonsense\t\r").0, b"nonsense\r\n");
    }

    #[test]
    fn tab_lists_what_a_word_may_become() {
        let mut editor = Editor::new();
        let (screen, events) = type_keys(&mut editor, b"m\t\t");
        assert_eq!(
            String::from_utf8(screen).unwrap(),
            "m\r\nmemory  modules  \r\nhadal> m\r\nmemory  modules  \r\nhadal> m"
        );
        assert_eq!(events, []);
        assert_eq!(type_keys(&mut editor, b"o\t\r").1, [line("modules ")]);
    }

    #[test]
    fn lines_of_the_program_are_its_own() {
        let mut editor = Editor::new();
        type_keys(&mut editor, b"run\r");
        assert_eq!(type_for(Reader::Program, &mut editor, b"th\t\x10\x1b[Asecret\r").1, [line("thsecret")]);
        assert_eq!(type_keys(&mut editor, b"\x10\r").1, [line("run")]);
    }

    #[test]
    fn lines_have_a_limit() {
        let mut editor = Editor::new();
        let keys = alloc::vec![b'x'; LINE_MAX + 100];
        type_keys(&mut editor, &keys);
        assert_eq!(type_keys(&mut editor, b"\t\r").1, [Event::Line(alloc::vec![b'x'; LINE_MAX])]);
    }
}
