// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The trace of a run: fixed-size records as the kernel keeps them and as they travel, and what the host needs besides.
//!
//! A [`Record`] is four little-endian words: time-stamp counter, tag, and two words whose meaning [`Kind`] gives. The tag is
//! kind (bits 0 to 7), thread (8 to 31) and the low half of the record's number in its CPU's buffer (32 to 63). The guest
//! sends a [`Head`] when recording begins. At the end of the run it sends each CPU's records, oldest first, in as many pieces
//! as they need, a [`PieceHead`] before each, and the names of threads. A piece can be made without memory: a kernel that has
//! failed sends them, too.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

/// Bytes of a record.
pub const RECORD_LEN: usize = 32;

/// Target of an [`Kind::IpiSend`] or [`Kind::EventNotify`] to all CPUs but the sender.
pub const ALL_BUT_SELF: u64 = u64::MAX;

/// Declares [`Kind`] and the way back from its number.
macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $number:literal,)*) => {
        /// What happened. `thread` is the record's own: the one that ran on the CPU, unless said otherwise.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Kind {
            $($(#[$doc])* $name = $number,)*
        }

        impl Kind {
            /// The kind with a number.
            pub fn from_number(number: u8) -> Option<Self> {
                match number {
                    $($number => Some(Self::$name),)*
                    _ => None,
                }
            }
        }
    };
}

kinds! {
    /// The CPU goes from `thread` to another one. `a`: the other, [`Left`] in the high half.
    Switch = 1,
    /// `thread` made a waiting one runnable. `a`: that one, the CPU that it is sent to in the high half.
    Wake = 2,
    /// An interprocessor interrupt was sent. `a`: target CPU or [`ALL_BUT_SELF`]; `b`: vector.
    IpiSend = 3,
    /// An interrupt was taken. `a`: vector; `b`: interrupted instruction.
    InterruptEnter = 4,
    /// Its handler is done. `a`: vector.
    InterruptExit = 5,
    /// A system call began. `a`: number; `b`: first argument.
    CallEnter = 6,
    /// It ended. `a`: result.
    CallExit = 7,
    /// An exception, by program code or by the kernel on program memory. `a`: address or instruction; `b`: vector, the error
    /// code in the high half.
    FaultEnter = 8,
    /// It was handled. `a`: vector; `b`: 1 if the access was made possible, 0 if it became a signal or an error.
    FaultExit = 9,
    /// A signal was delivered. `a`: number; `b`: handler, or 0 for the default action.
    Signal = 10,
    /// `thread` made another one. `a`: that one; `b`: where in the kernel it starts.
    ThreadCreate = 11,
    /// `thread` ends.
    ThreadExit = 12,
    /// `thread` (any) is called so from now on. `a`, `b`: the name, padded with NUL.
    ThreadName = 13,
    /// An active message was sent. `a`: target CPU or [`ALL_BUT_SELF`]; `b`: event.
    EventNotify = 14,
    /// The action of an event begins. `a`: event; `b`: argument.
    EventEnter = 15,
    /// It ended. `a`: event.
    EventExit = 16,
    /// A timer's time came. `a`: the thread that it wakes or the function that it calls; `b`: which ([`TIMER_WAKES`] or
    /// [`TIMER_CALLS`]).
    TimerFire = 17,
    /// The idle thread stops the CPU until the next interrupt.
    IdleEnter = 18,
    /// The CPU goes on.
    IdleLeave = 19,
    /// The program says something. `a`, `b`: text, padded with NUL.
    Mark = 20,
    /// A thread was moved to another CPU's queue. `a`: that thread, the CPU in the high half; `b`: the CPU it was taken from.
    Migrate = 21,
    /// Recording was turned off; what comes behind it was recorded later.
    Stop = 22,
}

/// [`Kind::TimerFire`]: a thread's time-out has passed.
pub const TIMER_WAKES: u64 = 0;
/// [`Kind::TimerFire`]: a function is called.
pub const TIMER_CALLS: u64 = 1;

/// In what state a thread gave the CPU up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Left {
    /// Ready to go on: it yielded, or its slice ended.
    Ready = 0,
    /// It waits to be woken.
    Waiting = 1,
    /// It has ended.
    Ended = 2,
}

impl Left {
    /// The high half of [`Kind::Switch`]'s first word.
    pub fn from_number(number: u32) -> Option<Self> {
        match number {
            0 => Some(Self::Ready),
            1 => Some(Self::Waiting),
            2 => Some(Self::Ended),
            _ => None,
        }
    }
}

/// Two numbers of 32 bits in one word of a record.
pub const fn pair(low: u32, high: u32) -> u64 {
    low as u64 | (high as u64) << 32
}

/// A text of up to 16 bytes as the two words of a record; a longer one is cut.
pub fn text_words(text: &[u8]) -> [u64; 2] {
    let mut bytes = [0; 16];
    let len = text.len().min(bytes.len());
    bytes[..len].copy_from_slice(&text[..len]);
    let word = |at: usize| u64::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 7].map(|byte| bytes[at + byte]));
    [word(0), word(8)]
}

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Time-stamp counter.
    pub time: u64,
    /// What happened.
    pub kind: Kind,
    /// Index of the thread in the scheduler's table.
    pub thread: u32,
    /// First word.
    pub a: u64,
    /// Second word.
    pub b: u64,
}

impl Record {
    /// The tag of a record with a number in its buffer.
    pub const fn tag(kind: Kind, thread: u32, number: u64) -> u64 {
        kind as u64 | (thread as u64 & 0xff_ffff) << 8 | number << 32
    }

    /// The record in four words, as it is stored; `None` for a kind that this version does not know.
    pub fn from_words([time, tag, a, b]: [u64; 4]) -> Option<Self> {
        let kind = Kind::from_number(tag as u8)?;
        Some(Self { time, kind, thread: (tag >> 8) as u32 & 0xff_ffff, a, b })
    }

    /// [`Record::from_words`] on the wire.
    pub fn from_bytes(bytes: &[u8; RECORD_LEN]) -> Option<Self> {
        Self::from_words(words(bytes))
    }

    /// The text of a [`Kind::ThreadName`] or [`Kind::Mark`].
    pub fn text(&self) -> String {
        let bytes = [self.a.to_le_bytes(), self.b.to_le_bytes()].concat();
        let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
        String::from_utf8_lossy(text).into_owned()
    }
}

/// One moment on two clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timestamp {
    /// Time-stamp counter.
    pub tsc: u64,
    /// Nanoseconds since boot.
    pub ns: u64,
}

/// A thread and what it is called, for threads whose own records are overwritten.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadName {
    /// Index in the scheduler's table.
    pub thread: u32,
    /// Its name, or the function that a thread of the kernel was made for.
    pub name: String,
    /// Whether it is, or was, a thread of the program.
    pub of_program: bool,
}

/// What the host has to know before it can read records; sent when recording begins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// When recording began.
    pub start: Timestamp,
    /// Index of each CPU's idle thread.
    pub idle_threads: Vec<u32>,
    /// Interrupt vectors with a purpose; others are given to interrupt lines when the program asks for them.
    pub vectors: Vec<(u8, String)>,
}

/// Bytes of an encoded [`PieceHead`].
pub const PIECE_HEAD_LEN: usize = 32;

/// What stands before the records of one CPU, or some of them, on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PieceHead {
    /// Whose records these are.
    pub cpu: u32,
    /// Records that the CPU made in all, those included that newer ones have overwritten.
    pub made: u64,
    /// When recording ended.
    pub end: Timestamp,
}

impl PieceHead {
    /// The head on the wire.
    pub fn to_bytes(self) -> [u8; PIECE_HEAD_LEN] {
        let mut bytes = [0; PIECE_HEAD_LEN];
        let words = [self.cpu.into(), self.made, self.end.tsc, self.end.ns];
        for (place, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *place = word.to_le_bytes();
        }
        bytes
    }

    /// Splits a piece into its head and the records; `None` if it is no piece.
    pub fn split(piece: &[u8]) -> Option<(Self, &[[u8; RECORD_LEN]])> {
        let (head, rest) = piece.split_first_chunk::<PIECE_HEAD_LEN>()?;
        let (records, []) = rest.as_chunks() else { return None };
        let [cpu, made, tsc, ns] = words(head);
        let head = Self { cpu: u32::try_from(cpu).ok()?, made, end: Timestamp { tsc, ns } };
        Some((head, records))
    }
}

/// Four words on the wire.
fn words(bytes: &[u8; RECORD_LEN]) -> [u64; 4] {
    let mut words = [0; 4];
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_hold_kind_thread_and_number() {
        let tag = Record::tag(Kind::Wake, 0x12_3456, 0x9_8765_4321);
        assert_eq!(tag, 0x8765_4321_1234_5602);
        let record = Record::from_words([1, tag, 3, 4]).unwrap();
        assert_eq!(record, Record { time: 1, kind: Kind::Wake, thread: 0x12_3456, a: 3, b: 4 });
        assert_eq!(Record::from_words([1, 0, 3, 4]), None);
    }

    #[test]
    fn bytes_are_little_endian_words() {
        let words = [7, Record::tag(Kind::Mark, 9, 1), 0x006f_6c6c_6568, 0];
        let bytes: Vec<u8> = words.iter().flat_map(|word: &u64| word.to_le_bytes()).collect();
        let record = Record::from_bytes(bytes.as_slice().try_into().unwrap()).unwrap();
        assert_eq!((record.time, record.thread, record.text().as_str()), (7, 9, "hello"));
    }

    #[test]
    fn pieces_split_into_what_they_were_made_of() {
        let head = PieceHead { cpu: 3, made: 1 << 40, end: Timestamp { tsc: 5, ns: 6 } };
        let mut piece = head.to_bytes().to_vec();
        assert_eq!(PieceHead::split(&piece), Some((head, &[][..])));
        piece.extend([7; RECORD_LEN]);
        assert_eq!(PieceHead::split(&piece), Some((head, &[[7; RECORD_LEN]][..])));
        piece.pop();
        assert_eq!(PieceHead::split(&piece), None);
        assert_eq!(PieceHead::split(&piece[..9]), None);
    }

    #[test]
    fn texts_are_cut_and_padded() {
        assert_eq!(text_words(b"a"), [0x61, 0]);
        let [a, b] = text_words(b"0123456789abcdefgh");
        let record = Record { time: 0, kind: Kind::Mark, thread: 0, a, b };
        assert_eq!(record.text(), "0123456789abcdef");
    }
}
