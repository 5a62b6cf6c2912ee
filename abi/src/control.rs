// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The control channel: frames between a running guest and the `hadal` command, over one virtio console port.
//!
//! A frame is an eight-byte header ([`Header`]: kind, three zero bytes, payload length as little-endian `u32`) and the
//! payload. [`GuestMessage`] travels from the guest, [`HostMessage`] to it; kinds of the two directions are distinct.
//! [`Decoder`] finds frames in a byte stream that arrives in arbitrary pieces.
//!
//! Order: the guest sends `Hello` first and `Exit` last; before `Exit` every written file is on the host and every
//! output byte has been sent, so the host may kill the machine when it sees that frame.

mod frame;
#[cfg(test)]
mod tests;

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

pub use frame::{ChannelError, Decoder, Frame, HEADER_LEN, Header, MAX_PAYLOAD_LEN};
use frame::{fixed, packed, put, put_packed, text};

use crate::calls::CallCount;
use crate::{paths, profile, status, stream_file, terminal, trace};

/// Version of the channel, the payload of `Hello`.
pub const VERSION: u32 = 8;

/// Frame kinds, guest to host below 0x80, host to guest from 0x80.
mod kind {
    pub(super) const HELLO: u8 = 0x01;
    pub(super) const STDOUT: u8 = 0x02;
    pub(super) const STDERR: u8 = 0x03;
    pub(super) const STDIN_REQUEST: u8 = 0x04;
    pub(super) const REPORT: u8 = 0x05;
    pub(super) const STRACE: u8 = 0x06;
    pub(super) const STATS: u8 = 0x07;
    pub(super) const EXIT: u8 = 0x08;
    pub(super) const TRACE_START: u8 = 0x09;
    pub(super) const TRACE_RECORDS: u8 = 0x0a;
    pub(super) const TRACE_THREADS: u8 = 0x0b;
    pub(super) const PROFILE_HEAD: u8 = 0x0c;
    pub(super) const PROFILE_SAMPLES: u8 = 0x0d;
    pub(super) const PATHS: u8 = 0x0e;
    pub(super) const FILE_REQUEST: u8 = 0x0f;
    pub(super) const CALL_COUNTS: u8 = 0x10;
    pub(super) const LIST_PIECE: u8 = 0x11;
    pub(super) const COMMAND_REQUEST: u8 = 0x12;
    pub(super) const PROFILE_MAPPINGS: u8 = 0x13;
    pub(super) const TERMINAL_OUTPUT: u8 = 0x14;
    pub(super) const TERMINAL_REQUEST: u8 = 0x15;
    pub(super) const TERMINAL_CHANGE: u8 = 0x16;
    pub(super) const TERMINAL_DISCARD: u8 = 0x17;
    pub(super) const JOB_CONTROL: u8 = 0x18;
    pub(super) const STDIN: u8 = 0x81;
    pub(super) const SIGNAL: u8 = 0x82;
    pub(super) const REPORT_THREADS: u8 = 0x83;
    pub(super) const CLOCK: u8 = 0x84;
    pub(super) const FILE_ANSWER: u8 = 0x85;
    pub(super) const LIST: u8 = 0x86;
    pub(super) const TERMINAL_INPUT: u8 = 0x87;
    pub(super) const TERMINAL_SIZE: u8 = 0x88;
    pub(super) const TERMINAL_GONE: u8 = 0x89;
}

impl Header {
    /// Header of a frame of `len` bytes of program output (`None` when it exceeds [`MAX_PAYLOAD_LEN`]).
    pub fn output(stream: OutputStream, len: usize) -> Option<Self> {
        let kind = match stream {
            OutputStream::Stdout => kind::STDOUT,
            OutputStream::Stderr => kind::STDERR,
            OutputStream::Terminal => kind::TERMINAL_OUTPUT,
        };
        Self::new(kind, len)
    }

    /// Header of a piece of the trace of `len` bytes (`None` when it exceeds [`MAX_PAYLOAD_LEN`]).
    pub fn trace_records(len: usize) -> Option<Self> {
        Self::new(kind::TRACE_RECORDS, len)
    }
}

/// Where output of programs goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
    /// The terminal, whatever the two are.
    Terminal,
}

/// What can be listed of a machine that goes on, as text for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Listing {
    /// Every thread, and where it waits.
    Threads,
    /// Every process.
    Processes,
}

/// How the run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExitStatus {
    /// The program called `exit` with this status.
    Exited(u8),
    /// A signal ended the program.
    Signaled {
        /// Linux number of the signal.
        signal: u8,
    },
    /// The program could not be started; the text says why and what to do.
    CannotStart(String),
    /// The kernel cannot go on; the text says why.
    KernelFailure(String),
}

impl ExitStatus {
    /// Status with which the `hadal` command ends.
    pub fn command_status(&self) -> u8 {
        match self {
            Self::Exited(code) => *code,
            Self::Signaled { signal } => status::SIGNAL_BASE.wrapping_add(*signal),
            Self::CannotStart(_) => status::CANNOT_START,
            Self::KernelFailure(_) => status::KERNEL_PANIC,
        }
    }
}

/// Named counters of one run, in the order in which they are to be shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    /// Name (lower-case words, unit at the end) and value.
    pub counters: Vec<(String, u64)>,
    /// Those of them that each CPU has: name, and the values in the order of CPUs.
    pub by_cpu: Vec<(String, Vec<u64>)>,
}

/// A frame from the guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GuestMessage {
    /// The kernel is up and speaks this [`VERSION`].
    Hello {
        /// Channel version of the kernel.
        version: u32,
    },
    /// The program wrote these bytes.
    Output(OutputStream, Vec<u8>),
    /// The program reads standard input; the host answers with one `Stdin` frame.
    StdinRequest {
        /// Most bytes the answer may hold.
        max_len: u32,
    },
    /// The shell's prompt stands on the terminal; the host answers with a line in one `Stdin` frame.
    CommandRequest,
    /// The program uses a standard stream that is a file; the host answers with one `FileAnswer` frame.
    FileRequest(stream_file::Request),
    /// A program reads the terminal; the host answers with one `TerminalInput` frame.
    TerminalRequest {
        /// Most bytes the answer may hold.
        max_len: u32,
    },
    /// A program changes the settings of the terminal.
    TerminalChange(terminal::Change),
    /// What has been typed and not read is dropped.
    TerminalDiscard,
    /// Whether a program in the guest moves jobs to the foreground and back: then it gets all signals that are typed.
    JobControl(bool),
    /// Text for people: a fault report, a list of threads, the machine report.
    Report(String),
    /// One or more whole lines of the system call trace.
    Strace(String),
    /// Counters, sent once before `Exit` when they were asked for.
    Stats(Stats),
    /// System calls that were made, sent once before `Exit` when they were to be counted.
    CallCounts(Vec<CallCount>),
    /// A piece of the answer to `List`; the last one is empty.
    ListPiece(Listing, String),
    /// The trace begins.
    TraceStart(trace::Head),
    /// A piece of the trace: a [`trace::PieceHead`] and records.
    TraceRecords(Vec<u8>),
    /// Names of threads in the trace, or some of them.
    TraceThreads(Vec<trace::ThreadName>),
    /// The profile begins.
    ProfileHead(profile::Head),
    /// Some of the mappings that addresses in the profile lie in.
    ProfileMappings(Vec<profile::Mapping>),
    /// A piece of the profile: samples as [`profile::samples`] reads them.
    ProfileSamples(Vec<u8>),
    /// What the kernel uses of the machine, behind the machine report.
    Paths(paths::Paths),
    /// The run is over.
    Exit(ExitStatus),
}

/// A frame to the guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostMessage {
    /// Answer to `StdinRequest` or `CommandRequest`; empty means end of file.
    Stdin(Vec<u8>),
    /// Answer to `TerminalRequest`; empty means end of file.
    TerminalInput(Vec<u8>),
    /// The terminal has another size.
    TerminalSize(terminal::Size),
    /// Nobody is at the terminal any more; the answer to a `TerminalRequest`, too.
    TerminalGone,
    /// Answer to `FileRequest`.
    FileAnswer(stream_file::Answer),
    /// Deliver this signal to the program.
    Signal(u8),
    /// Send a `Report` that lists every thread and where it waits, then `Exit`.
    ReportThreads,
    /// Send a list in `ListPiece`s, and go on.
    List(Listing),
    /// Host clock in nanoseconds since 1970, the answer to `Hello`: it corrects the clock by the time the boot took.
    Clock {
        /// Nanoseconds since 1970-01-01 00:00 UTC.
        realtime_ns: i64,
    },
}

impl GuestMessage {
    /// Appends the message to `out` as one frame; fails only when it is longer than a frame may be.
    pub fn encode_into(&self, out: &mut Vec<u8>) -> Result<(), ChannelError> {
        match self {
            Self::Hello { version } => put(out, kind::HELLO, &version.to_le_bytes()),
            Self::Output(OutputStream::Stdout, bytes) => put(out, kind::STDOUT, bytes),
            Self::Output(OutputStream::Stderr, bytes) => put(out, kind::STDERR, bytes),
            Self::Output(OutputStream::Terminal, bytes) => put(out, kind::TERMINAL_OUTPUT, bytes),
            Self::TerminalRequest { max_len } => put(out, kind::TERMINAL_REQUEST, &max_len.to_le_bytes()),
            Self::TerminalChange(change) => put_packed(out, kind::TERMINAL_CHANGE, change),
            Self::TerminalDiscard => put(out, kind::TERMINAL_DISCARD, &[]),
            Self::JobControl(is) => put(out, kind::JOB_CONTROL, &[u8::from(*is)]),
            Self::StdinRequest { max_len } => put(out, kind::STDIN_REQUEST, &max_len.to_le_bytes()),
            Self::CommandRequest => put(out, kind::COMMAND_REQUEST, &[]),
            Self::FileRequest(request) => put_packed(out, kind::FILE_REQUEST, request),
            Self::Report(text) => put(out, kind::REPORT, text.as_bytes()),
            Self::Strace(text) => put(out, kind::STRACE, text.as_bytes()),
            Self::Stats(stats) => put_packed(out, kind::STATS, stats),
            Self::CallCounts(counts) => put_packed(out, kind::CALL_COUNTS, counts),
            Self::ListPiece(listing, text) => put_packed(out, kind::LIST_PIECE, &(listing, text)),
            Self::TraceStart(head) => put_packed(out, kind::TRACE_START, head),
            Self::TraceRecords(piece) => put(out, kind::TRACE_RECORDS, piece),
            Self::TraceThreads(names) => put_packed(out, kind::TRACE_THREADS, names),
            Self::ProfileHead(head) => put_packed(out, kind::PROFILE_HEAD, head),
            Self::ProfileMappings(mappings) => put_packed(out, kind::PROFILE_MAPPINGS, mappings),
            Self::ProfileSamples(piece) => put(out, kind::PROFILE_SAMPLES, piece),
            Self::Paths(paths) => put_packed(out, kind::PATHS, paths),
            Self::Exit(status) => put_packed(out, kind::EXIT, status),
        }
    }
}

impl TryFrom<Frame> for GuestMessage {
    type Error = ChannelError;

    fn try_from(Frame { kind, payload }: Frame) -> Result<Self, ChannelError> {
        Ok(match kind {
            kind::HELLO => Self::Hello { version: u32::from_le_bytes(fixed(kind, &payload)?) },
            kind::STDOUT => Self::Output(OutputStream::Stdout, payload),
            kind::STDERR => Self::Output(OutputStream::Stderr, payload),
            kind::TERMINAL_OUTPUT => Self::Output(OutputStream::Terminal, payload),
            kind::TERMINAL_REQUEST => {
                Self::TerminalRequest { max_len: u32::from_le_bytes(fixed(kind, &payload)?) }
            }
            kind::TERMINAL_CHANGE => Self::TerminalChange(packed(kind, &payload)?),
            kind::TERMINAL_DISCARD => {
                let [] = fixed(kind, &payload)?;
                Self::TerminalDiscard
            }
            kind::JOB_CONTROL => {
                let [is] = fixed(kind, &payload)?;
                Self::JobControl(is != 0)
            }
            kind::STDIN_REQUEST => Self::StdinRequest { max_len: u32::from_le_bytes(fixed(kind, &payload)?) },
            kind::COMMAND_REQUEST => {
                let [] = fixed(kind, &payload)?;
                Self::CommandRequest
            }
            kind::FILE_REQUEST => Self::FileRequest(packed(kind, &payload)?),
            kind::REPORT => Self::Report(text(payload)),
            kind::STRACE => Self::Strace(text(payload)),
            kind::STATS => Self::Stats(packed(kind, &payload)?),
            kind::CALL_COUNTS => Self::CallCounts(packed(kind, &payload)?),
            kind::LIST_PIECE => {
                let (listing, text) = packed(kind, &payload)?;
                Self::ListPiece(listing, text)
            }
            kind::TRACE_START => Self::TraceStart(packed(kind, &payload)?),
            kind::TRACE_RECORDS => Self::TraceRecords(payload),
            kind::TRACE_THREADS => Self::TraceThreads(packed(kind, &payload)?),
            kind::PROFILE_HEAD => Self::ProfileHead(packed(kind, &payload)?),
            kind::PROFILE_MAPPINGS => Self::ProfileMappings(packed(kind, &payload)?),
            kind::PROFILE_SAMPLES => Self::ProfileSamples(payload),
            kind::PATHS => Self::Paths(packed(kind, &payload)?),
            kind::EXIT => Self::Exit(packed(kind, &payload)?),
            _ => return Err(ChannelError::Kind(kind)),
        })
    }
}

impl HostMessage {
    /// Appends the message to `out` as one frame; fails only when it is longer than a frame may be.
    pub fn encode_into(&self, out: &mut Vec<u8>) -> Result<(), ChannelError> {
        match self {
            Self::Stdin(bytes) => put(out, kind::STDIN, bytes),
            Self::TerminalInput(bytes) => put(out, kind::TERMINAL_INPUT, bytes),
            Self::TerminalSize(size) => put_packed(out, kind::TERMINAL_SIZE, size),
            Self::TerminalGone => put(out, kind::TERMINAL_GONE, &[]),
            Self::FileAnswer(answer) => put_packed(out, kind::FILE_ANSWER, answer),
            Self::Signal(signal) => put(out, kind::SIGNAL, &[*signal]),
            Self::ReportThreads => put(out, kind::REPORT_THREADS, &[]),
            Self::List(listing) => put_packed(out, kind::LIST, listing),
            Self::Clock { realtime_ns } => put(out, kind::CLOCK, &realtime_ns.to_le_bytes()),
        }
    }
}

impl TryFrom<Frame> for HostMessage {
    type Error = ChannelError;

    fn try_from(Frame { kind, payload }: Frame) -> Result<Self, ChannelError> {
        Ok(match kind {
            kind::STDIN => Self::Stdin(payload),
            kind::TERMINAL_INPUT => Self::TerminalInput(payload),
            kind::TERMINAL_SIZE => Self::TerminalSize(packed(kind, &payload)?),
            kind::TERMINAL_GONE => {
                let [] = fixed(kind, &payload)?;
                Self::TerminalGone
            }
            kind::FILE_ANSWER => Self::FileAnswer(packed(kind, &payload)?),
            kind::SIGNAL => {
                let [signal] = fixed(kind, &payload)?;
                Self::Signal(signal)
            }
            kind::REPORT_THREADS => {
                let [] = fixed(kind, &payload)?;
                Self::ReportThreads
            }
            kind::LIST => Self::List(packed(kind, &payload)?),
            kind::CLOCK => Self::Clock { realtime_ns: i64::from_le_bytes(fixed(kind, &payload)?) },
            _ => return Err(ChannelError::Kind(kind)),
        })
    }
}
