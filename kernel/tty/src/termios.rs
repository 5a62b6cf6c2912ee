// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The settings of a terminal (termios(3)).

use linux_raw_sys::general as raw;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

bitflags::bitflags! {
    /// What is done with input.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct InputFlags: u32 {
        /// The eighth bit is dropped.
        const ISTRIP = raw::ISTRIP;
        /// A newline becomes a carriage return.
        const INLCR = raw::INLCR;
        /// Carriage returns are dropped.
        const IGNCR = raw::IGNCR;
        /// A carriage return becomes a newline.
        const ICRNL = raw::ICRNL;
        /// STOP and START hold output back and let it go on.
        const IXON = raw::IXON;
        /// So does any character.
        const IXANY = raw::IXANY;
        /// A bell for what does not fit.
        const IMAXBEL = raw::IMAXBEL;
        /// Characters are of UTF-8.
        const IUTF8 = raw::IUTF8;
        const _ = !0;
    }

    /// What is done with output.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct OutputFlags: u32 {
        /// Anything at all.
        const OPOST = raw::OPOST;
        /// A newline becomes a carriage return and a newline.
        const ONLCR = raw::ONLCR;
        /// A carriage return becomes a newline.
        const OCRNL = raw::OCRNL;
        /// No carriage return in the first column.
        const ONOCR = raw::ONOCR;
        /// A newline goes to the first column by itself.
        const ONLRET = raw::ONLRET;
        /// Tabs become spaces.
        const XTABS = raw::XTABS;
        const _ = !0;
    }

    /// Lines, echo, signals.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct LocalFlags: u32 {
        /// Characters that send signals.
        const ISIG = raw::ISIG;
        /// Lines, which can be edited.
        const ICANON = raw::ICANON;
        /// Input is shown.
        const ECHO = raw::ECHO;
        /// What is erased disappears.
        const ECHOE = raw::ECHOE;
        /// A new line after KILL.
        const ECHOK = raw::ECHOK;
        /// Newlines are shown even if nothing else is.
        const ECHONL = raw::ECHONL;
        /// Signals do not discard what waits.
        const NOFLSH = raw::NOFLSH;
        /// Processes in the background may not write.
        const TOSTOP = raw::TOSTOP;
        /// Control characters are shown as `^X`.
        const ECHOCTL = raw::ECHOCTL;
        /// KILL erases what is shown.
        const ECHOKE = raw::ECHOKE;
        /// WERASE, LNEXT, REPRINT.
        const IEXTEN = raw::IEXTEN;
        const _ = !0;
    }
}

/// Indices of control characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Control {
    /// Sends SIGINT.
    Interrupt = raw::VINTR as usize,
    /// Sends SIGQUIT.
    Quit = raw::VQUIT as usize,
    /// Takes the last character off.
    Erase = raw::VERASE as usize,
    /// Takes the line off.
    Kill = raw::VKILL as usize,
    /// Ends input, or a line without a newline.
    EndOfFile = raw::VEOF as usize,
    /// Tenths of a second that a read waits, without lines.
    Time = raw::VTIME as usize,
    /// Bytes that a read waits for, without lines.
    Minimum = raw::VMIN as usize,
    /// Lets output go on.
    Start = raw::VSTART as usize,
    /// Holds output back.
    Stop = raw::VSTOP as usize,
    /// Sends SIGTSTP.
    Suspend = raw::VSUSP as usize,
    /// Ends a line.
    EndOfLine = raw::VEOL as usize,
    /// Shows the line anew.
    Reprint = raw::VREPRINT as usize,
    /// Takes the last word off.
    WordErase = raw::VWERASE as usize,
    /// Takes the meaning off the next character.
    LiteralNext = raw::VLNEXT as usize,
    /// Ends a line, too.
    EndOfLine2 = raw::VEOL2 as usize,
}

/// `struct termios` of the kernel.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Termios {
    input: u32,
    output: u32,
    control: u32,
    local: u32,
    line: u8,
    characters: [u8; 19],
}

const _: () = assert!(size_of::<Termios>() == 36);

/// A control character that is off.
const DISABLED: u8 = 0;

impl Termios {
    /// As a terminal begins: lines, echo, signals, newlines that go to the first column.
    pub const DEFAULT: Self = Self {
        input: raw::ICRNL | raw::IXON,
        output: raw::OPOST | raw::ONLCR,
        control: raw::B38400 | raw::CS8 | raw::CREAD,
        local: raw::ISIG
            | raw::ICANON
            | raw::ECHO
            | raw::ECHOE
            | raw::ECHOK
            | raw::ECHOCTL
            | raw::ECHOKE
            | raw::IEXTEN,
        line: 0,
        // Ctrl-C, Ctrl-\, DEL, Ctrl-U, Ctrl-D, time 0, minimum 1, nothing, Ctrl-Q, Ctrl-S, Ctrl-Z, nothing, Ctrl-R, Ctrl-O, Ctrl-W,
        // Ctrl-V, nothing.
        characters: [3, 28, 127, 21, 4, 0, 1, 0, 17, 19, 26, 0, 18, 15, 23, 22, 0, 0, 0],
    };

    /// Settings of these flags (input, output, control, local) and characters.
    pub const fn new([input, output, control, local]: [u32; 4], characters: [u8; 19]) -> Self {
        Self { input, output, control, local, line: 0, characters }
    }

    /// Flags (input, output, control, local) and characters.
    pub fn parts(&self) -> ([u32; 4], [u8; 19]) {
        ([self.input, self.output, self.control, self.local], self.characters)
    }

    /// What is done with input.
    pub fn input(&self) -> InputFlags {
        InputFlags::from_bits_retain(self.input)
    }

    /// What is done with output.
    pub fn output(&self) -> OutputFlags {
        OutputFlags::from_bits_retain(self.output)
    }

    /// Lines, echo, signals.
    pub fn local(&self) -> LocalFlags {
        LocalFlags::from_bits_retain(self.local)
    }

    /// A control character's code or number.
    pub fn value(&self, which: Control) -> u8 {
        self.characters[which as usize]
    }

    /// Whether a byte is this control character, which may be off.
    pub fn is(&self, which: Control, byte: u8) -> bool {
        byte != DISABLED && self.value(which) == byte
    }
}

#[cfg(test)]
impl Termios {
    pub(crate) fn add_input(&mut self, flags: InputFlags) {
        self.input |= flags.bits();
    }

    pub(crate) fn add_local(&mut self, flags: LocalFlags) {
        self.local |= flags.bits();
    }

    pub(crate) fn remove_local(&mut self, flags: LocalFlags) {
        self.local &= !flags.bits();
    }

    pub(crate) fn set_output(&mut self, flags: OutputFlags) {
        self.output = flags.bits();
    }
}
