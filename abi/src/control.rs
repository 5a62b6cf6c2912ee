// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The control channel: frames between a running guest and the `hadal` command, over one virtio console port.
//!
//! A frame is an eight-byte header ([`Header`]: kind, three zero bytes, payload length as little-endian `u32`) and the
//! payload. [`GuestMessage`] travels from the guest, [`HostMessage`] to it; kinds of the two directions are distinct.
//! [`Decoder`] finds frames in a byte stream that arrives in arbitrary pieces.
//!
//! Order: the guest sends `Hello` first and `Exit` last; before `Exit` every written file is on the host and every
//! output byte has been sent, so the host may kill the machine when it sees that frame.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};

use crate::calls::CallCount;
use crate::{paths, profile, status, stream_file, trace};

/// Version of the channel, the payload of `Hello`.
pub const VERSION: u32 = 5;

/// Bytes of a frame header.
pub const HEADER_LEN: usize = 8;

/// Longest payload; a longer one means that the stream is damaged.
pub const MAX_PAYLOAD_LEN: usize = 1 << 20;

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
    pub(super) const THREAD_LIST: u8 = 0x11;
    pub(super) const COMMAND_REQUEST: u8 = 0x12;
    pub(super) const STDIN: u8 = 0x81;
    pub(super) const SIGNAL: u8 = 0x82;
    pub(super) const REPORT_THREADS: u8 = 0x83;
    pub(super) const CLOCK: u8 = 0x84;
    pub(super) const FILE_ANSWER: u8 = 0x85;
    pub(super) const LIST_THREADS: u8 = 0x86;
}

/// Kind and payload length of a frame whose payload the sender writes itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    kind: u8,
    len: u32,
}

impl Header {
    /// Header of a frame of `len` bytes of program output (`None` when it exceeds [`MAX_PAYLOAD_LEN`]).
    pub fn output(stream: OutputStream, len: usize) -> Option<Self> {
        let kind = match stream {
            OutputStream::Stdout => kind::STDOUT,
            OutputStream::Stderr => kind::STDERR,
        };
        Self::new(kind, len)
    }

    /// Header of a piece of the trace of `len` bytes (`None` when it exceeds [`MAX_PAYLOAD_LEN`]).
    pub fn trace_records(len: usize) -> Option<Self> {
        Self::new(kind::TRACE_RECORDS, len)
    }

    fn new(kind: u8, len: usize) -> Option<Self> {
        (len <= MAX_PAYLOAD_LEN).then_some(Self { kind, len: len as u32 })
    }

    /// The header as it stands on the wire.
    pub fn to_bytes(self) -> [u8; HEADER_LEN] {
        let mut out = [0; HEADER_LEN];
        out[0] = self.kind;
        out[4..].copy_from_slice(&self.len.to_le_bytes());
        out
    }

    fn from_bytes(bytes: [u8; HEADER_LEN]) -> Result<Self, ChannelError> {
        let [kind, r0, r1, r2, l0, l1, l2, l3] = bytes;
        let len = u32::from_le_bytes([l0, l1, l2, l3]);
        if [r0, r1, r2] != [0; 3] || len as usize > MAX_PAYLOAD_LEN {
            return Err(ChannelError::Header(bytes));
        }
        Ok(Self { kind, len })
    }
}

/// One of the program's two output streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
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
    /// Text for people: a fault report, a list of threads, the machine report.
    Report(String),
    /// One or more whole lines of the system call trace.
    Strace(String),
    /// Counters, sent once before `Exit` when they were asked for.
    Stats(Stats),
    /// System calls that were made, sent once before `Exit` when they were to be counted.
    CallCounts(Vec<CallCount>),
    /// A piece of the answer to `ListThreads`; the last one is empty.
    ThreadList(String),
    /// The trace begins.
    TraceStart(trace::Head),
    /// A piece of the trace: a [`trace::PieceHead`] and records.
    TraceRecords(Vec<u8>),
    /// Names of threads in the trace, or some of them.
    TraceThreads(Vec<trace::ThreadName>),
    /// The profile begins.
    ProfileHead(profile::Head),
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
    /// Answer to `FileRequest`.
    FileAnswer(stream_file::Answer),
    /// Deliver this signal to the program.
    Signal(u8),
    /// Send a `Report` that lists every thread and where it waits, then `Exit`.
    ReportThreads,
    /// Send the same list as `ThreadList`, and go on.
    ListThreads,
    /// Host clock in nanoseconds since 1970, the answer to `Hello`: it corrects the clock by the time the boot took.
    Clock {
        /// Nanoseconds since 1970-01-01 00:00 UTC.
        realtime_ns: i64,
    },
}

/// Why a byte stream is not a control channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelError {
    /// These eight bytes are not a frame header.
    Header([u8; HEADER_LEN]),
    /// This direction has no such frame kind.
    Kind(u8),
    /// The payload of this kind is malformed.
    Payload(u8),
    /// The message is longer than a frame may be.
    TooLong,
}

impl fmt::Display for ChannelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header(bytes) => write!(f, "not a frame header: {bytes:02x?}"),
            Self::Kind(kind) => write!(f, "unknown frame kind {kind:#04x}"),
            Self::Payload(kind) => write!(f, "malformed payload in a frame of kind {kind:#04x}"),
            Self::TooLong => write!(f, "message longer than {MAX_PAYLOAD_LEN} bytes"),
        }
    }
}

impl core::error::Error for ChannelError {}

/// A frame whose payload has not been looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// What the payload is.
    kind: u8,
    /// The payload.
    payload: Vec<u8>,
}

/// Appends a frame to `out`.
fn put(out: &mut Vec<u8>, kind: u8, payload: &[u8]) -> Result<(), ChannelError> {
    let header = Header::new(kind, payload.len()).ok_or(ChannelError::TooLong)?;
    out.extend_from_slice(&header.to_bytes());
    out.extend_from_slice(payload);
    Ok(())
}

/// Payload of `kind` as UTF-8; invalid bytes are replaced, since such text is for people.
fn text(payload: Vec<u8>) -> String {
    String::from_utf8(payload).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
}

/// Payload of `kind` as an array.
fn fixed<const N: usize>(kind: u8, payload: &[u8]) -> Result<[u8; N], ChannelError> {
    payload.try_into().map_err(|_| ChannelError::Payload(kind))
}

/// Payload of `kind` as postcard.
fn packed<T: serde::de::DeserializeOwned>(kind: u8, payload: &[u8]) -> Result<T, ChannelError> {
    postcard::from_bytes(payload).map_err(|_| ChannelError::Payload(kind))
}

/// Appends a frame of `kind` whose payload is `value` in postcard.
fn put_packed<T: Serialize>(out: &mut Vec<u8>, kind: u8, value: &T) -> Result<(), ChannelError> {
    let payload = postcard::to_allocvec(value).map_err(|_| ChannelError::TooLong)?;
    put(out, kind, &payload)
}

impl GuestMessage {
    /// Appends the message to `out` as one frame; fails only when it is longer than a frame may be.
    pub fn encode_into(&self, out: &mut Vec<u8>) -> Result<(), ChannelError> {
        match self {
            Self::Hello { version } => put(out, kind::HELLO, &version.to_le_bytes()),
            Self::Output(OutputStream::Stdout, bytes) => put(out, kind::STDOUT, bytes),
            Self::Output(OutputStream::Stderr, bytes) => put(out, kind::STDERR, bytes),
            Self::StdinRequest { max_len } => put(out, kind::STDIN_REQUEST, &max_len.to_le_bytes()),
            Self::CommandRequest => put(out, kind::COMMAND_REQUEST, &[]),
            Self::FileRequest(request) => put_packed(out, kind::FILE_REQUEST, request),
            Self::Report(text) => put(out, kind::REPORT, text.as_bytes()),
            Self::Strace(text) => put(out, kind::STRACE, text.as_bytes()),
            Self::Stats(stats) => put_packed(out, kind::STATS, stats),
            Self::CallCounts(counts) => put_packed(out, kind::CALL_COUNTS, counts),
            Self::ThreadList(text) => put(out, kind::THREAD_LIST, text.as_bytes()),
            Self::TraceStart(head) => put_packed(out, kind::TRACE_START, head),
            Self::TraceRecords(piece) => put(out, kind::TRACE_RECORDS, piece),
            Self::TraceThreads(names) => put_packed(out, kind::TRACE_THREADS, names),
            Self::ProfileHead(head) => put_packed(out, kind::PROFILE_HEAD, head),
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
            kind::THREAD_LIST => Self::ThreadList(text(payload)),
            kind::TRACE_START => Self::TraceStart(packed(kind, &payload)?),
            kind::TRACE_RECORDS => Self::TraceRecords(payload),
            kind::TRACE_THREADS => Self::TraceThreads(packed(kind, &payload)?),
            kind::PROFILE_HEAD => Self::ProfileHead(packed(kind, &payload)?),
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
            Self::FileAnswer(answer) => put_packed(out, kind::FILE_ANSWER, answer),
            Self::Signal(signal) => put(out, kind::SIGNAL, &[*signal]),
            Self::ReportThreads => put(out, kind::REPORT_THREADS, &[]),
            Self::ListThreads => put(out, kind::LIST_THREADS, &[]),
            Self::Clock { realtime_ns } => put(out, kind::CLOCK, &realtime_ns.to_le_bytes()),
        }
    }
}

impl TryFrom<Frame> for HostMessage {
    type Error = ChannelError;

    fn try_from(Frame { kind, payload }: Frame) -> Result<Self, ChannelError> {
        Ok(match kind {
            kind::STDIN => Self::Stdin(payload),
            kind::FILE_ANSWER => Self::FileAnswer(packed(kind, &payload)?),
            kind::SIGNAL => {
                let [signal] = fixed(kind, &payload)?;
                Self::Signal(signal)
            }
            kind::REPORT_THREADS => {
                let [] = fixed(kind, &payload)?;
                Self::ReportThreads
            }
            kind::LIST_THREADS => {
                let [] = fixed(kind, &payload)?;
                Self::ListThreads
            }
            kind::CLOCK => Self::Clock { realtime_ns: i64::from_le_bytes(fixed(kind, &payload)?) },
            _ => return Err(ChannelError::Kind(kind)),
        })
    }
}

/// Finds frames in a byte stream.
///
/// An error is final: the stream has lost its frame boundaries, and every later call returns the same error.
#[derive(Debug, Default)]
pub struct Decoder {
    buffer: Vec<u8>,
    /// Start of the first frame not yet returned.
    start: usize,
    failed: Option<ChannelError>,
}

impl Decoder {
    /// A decoder at the start of a stream.
    pub const fn new() -> Self {
        Self { buffer: Vec::new(), start: 0, failed: None }
    }

    /// Adds bytes that arrived.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// Takes the next whole frame, `None` when more bytes are needed.
    pub fn pop(&mut self) -> Result<Option<Frame>, ChannelError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let Some((head, rest)) = self.buffer[self.start..].split_first_chunk::<HEADER_LEN>() else {
            return Ok(None);
        };
        let header = Header::from_bytes(*head).inspect_err(|e| self.failed = Some(*e))?;
        let len = header.len as usize;
        let Some(payload) = rest.get(..len) else {
            return Ok(None);
        };
        let payload = payload.to_vec();
        self.start += HEADER_LEN + len;
        Ok(Some(Frame { kind: header.kind, payload }))
    }

    /// Number of bytes that belong to a frame not yet complete.
    pub fn pending_len(&self) -> usize {
        self.buffer.len() - self.start
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn guest_messages() -> Vec<GuestMessage> {
        vec![
            GuestMessage::Hello { version: VERSION },
            GuestMessage::Output(OutputStream::Stdout, (0..=255).collect()),
            GuestMessage::Output(OutputStream::Stderr, Vec::new()),
            GuestMessage::StdinRequest { max_len: 4096 },
            GuestMessage::CommandRequest,
            GuestMessage::FileRequest(stream_file::Request {
                descriptor: 1,
                operation: stream_file::Operation::WriteAt { offset: 1 << 40, data: vec![0, 200, 7] },
            }),
            GuestMessage::Report("thread 1 waits in futex\n".into()),
            GuestMessage::Strace("write(1, \"ä\", 2) = 2\n".into()),
            GuestMessage::Stats(Stats {
                counters: vec![("system calls".into(), 7), ("ipis".into(), u64::MAX)],
                by_cpu: vec![("system calls".into(), vec![3, 4])],
            }),
            GuestMessage::CallCounts(vec![
                CallCount { number: Some(202), calls: 3, errors: 1, time_ns: 1 << 40 },
                CallCount::default(),
            ]),
            GuestMessage::ThreadList("thread 1 waits\n".into()),
            GuestMessage::ThreadList(String::new()),
            GuestMessage::TraceStart(trace::Head {
                start: trace::Timestamp { tsc: 1, ns: 2 },
                idle_threads: vec![0, 300],
                vectors: vec![(0xf0, "timer".into())],
            }),
            GuestMessage::TraceRecords(vec![1; 64]),
            GuestMessage::TraceThreads(vec![trace::ThreadName {
                thread: 5,
                name: "heat".into(),
                of_program: true,
            }]),
            GuestMessage::ProfileHead(profile::Head {
                hz: 1000,
                cpus: vec![profile::CpuSamples { taken: 3, idle: 2, lost: 1 }],
                mappings: vec![profile::Mapping { start: 1, end: 2, offset: 3, path: "/a".into() }],
            }),
            GuestMessage::ProfileSamples(vec![2; 16]),
            GuestMessage::Paths(paths::Paths {
                paths: vec![paths::Path {
                    part: "timer".into(),
                    choice: "TSC deadline".into(),
                    trial: paths::Trial::Failed("it was early 3 times".into()),
                }],
                cpuid: vec![paths::CpuidLeaf { leaf: 7, subleaf: 1, registers: [1, 2, 3, u32::MAX] }],
            }),
            GuestMessage::Exit(ExitStatus::Exited(3)),
            GuestMessage::Exit(ExitStatus::Signaled { signal: 11 }),
            GuestMessage::Exit(ExitStatus::CannotStart("no".into())),
            GuestMessage::Exit(ExitStatus::KernelFailure("oops".into())),
        ]
    }

    fn decode_all<M: TryFrom<Frame, Error = ChannelError>>(
        stream: &[u8],
        piece_len: usize,
    ) -> Result<Vec<M>, ChannelError> {
        let mut decoder = Decoder::new();
        let mut messages = Vec::new();
        for piece in stream.chunks(piece_len) {
            decoder.push(piece);
            while let Some(frame) = decoder.pop()? {
                messages.push(M::try_from(frame)?);
            }
        }
        assert_eq!(decoder.pending_len(), 0);
        Ok(messages)
    }

    #[test]
    fn guest_messages_survive_any_fragmentation() {
        let mut stream = Vec::new();
        for message in guest_messages() {
            message.encode_into(&mut stream).unwrap();
        }
        for piece_len in 1..64 {
            assert_eq!(decode_all::<GuestMessage>(&stream, piece_len).unwrap(), guest_messages());
        }
    }

    #[test]
    fn host_messages_round_trip() {
        let messages = vec![
            HostMessage::Stdin(vec![0, 255]),
            HostMessage::Stdin(Vec::new()),
            HostMessage::Signal(2),
            HostMessage::ReportThreads,
            HostMessage::ListThreads,
            HostMessage::Clock { realtime_ns: -5 },
        ];
        let mut stream = Vec::new();
        for message in &messages {
            message.encode_into(&mut stream).unwrap();
        }
        assert_eq!(decode_all::<HostMessage>(&stream, 3).unwrap(), messages);
    }

    #[test]
    fn header_and_payload_sent_apart_are_one_output_frame() {
        let mut stream = Header::output(OutputStream::Stdout, 2).unwrap().to_bytes().to_vec();
        stream.extend_from_slice(b"hi");
        let expected = GuestMessage::Output(OutputStream::Stdout, b"hi".to_vec());
        assert_eq!(decode_all::<GuestMessage>(&stream, 5).unwrap(), vec![expected]);
    }

    #[test]
    fn oversized_and_misaligned_headers_are_final_errors() {
        assert_eq!(Header::output(OutputStream::Stdout, MAX_PAYLOAD_LEN + 1), None);
        let mut decoder = Decoder::new();
        let head = [2, 0, 0, 0, 1, 0, 16, 0];
        decoder.push(&head);
        assert_eq!(decoder.pop(), Err(ChannelError::Header(head)));
        decoder.push(&Header::output(OutputStream::Stdout, 0).unwrap().to_bytes());
        assert_eq!(decoder.pop(), Err(ChannelError::Header(head)));
    }

    #[test]
    fn each_direction_refuses_the_kinds_of_the_other() {
        let mut stream = Vec::new();
        HostMessage::ReportThreads.encode_into(&mut stream).unwrap();
        assert_eq!(decode_all::<GuestMessage>(&stream, 8), Err(ChannelError::Kind(0x83)));
    }

    #[test]
    fn wrong_payload_lengths_are_errors() {
        let mut stream = Vec::new();
        put(&mut stream, kind::HELLO, &[1, 2, 3]).unwrap();
        assert_eq!(decode_all::<GuestMessage>(&stream, 8), Err(ChannelError::Payload(kind::HELLO)));
    }

    #[test]
    fn statuses_follow_the_shell_convention() {
        assert_eq!(ExitStatus::Exited(7).command_status(), 7);
        assert_eq!(ExitStatus::Signaled { signal: 11 }.command_status(), 139);
        assert_eq!(ExitStatus::KernelFailure(String::new()).command_status(), status::KERNEL_PANIC);
    }

    proptest! {
        #[test]
        fn any_stream_ends_in_frames_or_one_error(
            stream in proptest::collection::vec(any::<u8>(), 0..400),
            piece_len in 1usize..40,
        ) {
            let mut decoder = Decoder::new();
            'stream: for piece in stream.chunks(piece_len) {
                decoder.push(piece);
                loop {
                    match decoder.pop() {
                        Ok(Some(frame)) => {
                            let _ = GuestMessage::try_from(frame.clone());
                            let _ = HostMessage::try_from(frame);
                        }
                        Ok(None) => break,
                        Err(error) => {
                            prop_assert_eq!(decoder.pop(), Err(error));
                            break 'stream;
                        }
                    }
                }
            }
        }

        #[test]
        fn output_bytes_are_kept(
            chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..200), 0..8),
            piece_len in 1usize..50,
        ) {
            let mut stream = Vec::new();
            for chunk in &chunks {
                GuestMessage::Output(OutputStream::Stdout, chunk.clone()).encode_into(&mut stream).unwrap();
            }
            let expected: Vec<_> =
                chunks.into_iter().map(|c| GuestMessage::Output(OutputStream::Stdout, c)).collect();
            prop_assert_eq!(decode_all::<GuestMessage>(&stream, piece_len).unwrap(), expected);
        }
    }
}
