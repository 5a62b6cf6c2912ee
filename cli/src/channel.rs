// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The host's end of the control channel: threads that move bytes between the guest and this process's standard
//! streams, and turn everything else into [`Event`]s.
//!
//! Output is written in the order in which the guest sent it, unchanged. Input is read only when the guest asks, so
//! what the program does not read stays for whoever reads next.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread;

use hadal_abi::calls::CallCount;
use hadal_abi::control::{
    ChannelError, Decoder, ExitStatus, Frame, GuestMessage, HostMessage, Listing, OutputStream, Stats,
};
use hadal_abi::paths::Paths;
use hadal_abi::{profile, trace};
use rustix::event::{PollFd, PollFlags, poll};

use crate::line_editor::LineEditor;
use crate::live::Asked;
use crate::stream_file;
use crate::terminal::{self, Terminal};

/// Longest answer to one request for input.
const MAX_INPUT_LEN: usize = 64 << 10;

/// What happened to a running machine.
#[derive(Debug)]
pub(crate) enum Event {
    /// The kernel is up and speaks this version of the channel.
    Hello { version: u32 },
    /// A part of the trace or of the profile, or counters.
    Recorded(Recorded),
    /// What the kernel uses of the machine.
    Paths(Paths),
    /// The guest sent text for people, which has been printed.
    Reported,
    /// The run is over.
    Exit(ExitStatus),
    /// The channel broke, in order or not.
    ChannelEnded(Option<ChannelError>),
    /// One of this process's output streams takes no more bytes.
    OutputFailed(OutputStream, io::Error),
    /// A kernel panic stands in the log.
    PanicLogged,
    /// Someone sent this process a signal.
    HostSignal(u8),
    /// A piece of a list that was asked for; the last one is empty.
    ListPiece(Listing, String),
    /// Somebody has asked on the socket of this run.
    Asked(Asked),
}

/// What the guest sends of its inside: traces, profiles, counters.
#[derive(Debug)]
pub(crate) enum Recorded {
    TraceStart(trace::Head),
    TraceRecords(Vec<u8>),
    TraceNames(Vec<trace::ThreadName>),
    ProfileHead(profile::Head),
    ProfileMappings(Vec<profile::Mapping>),
    Samples(Vec<u8>),
    Stats(Stats),
    CallCounts(Vec<CallCount>),
}

/// Where reports for people go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReportTarget {
    Stdout,
    Stderr,
    Nowhere,
}

/// Sends messages to the guest without ever blocking the caller.
#[derive(Clone, Debug)]
pub(crate) struct GuestSender(Sender<Vec<u8>>);

impl GuestSender {
    /// Queues a message. A guest that is gone does not miss it.
    pub(crate) fn send(&self, message: &HostMessage) {
        let mut bytes = Vec::new();
        // Messages made here are far below the limit of a frame.
        if message.encode_into(&mut bytes).is_ok() {
            let _ = self.0.send(bytes);
        }
    }
}

/// Starts the threads of a channel.
pub(crate) fn open(
    socket: UnixStream,
    events: Sender<Event>,
    reports: ReportTarget,
    terminal: Option<Arc<Terminal>>,
) -> io::Result<GuestSender> {
    let (to_guest, queued) = mpsc::channel::<Vec<u8>>();
    let sender = GuestSender(to_guest);
    let writer = socket.try_clone()?;
    thread::spawn(move || {
        for bytes in queued {
            // When the guest is gone, the reader below notices it too and reports it.
            if write_all(writer.as_fd(), &bytes).is_err() {
                break;
            }
        }
    });

    let (ask_input, requests) = mpsc::channel::<Input>();
    let (answers, shared) = (sender.clone(), terminal.clone());
    thread::spawn(move || {
        let mut editor = None;
        for request in requests {
            let input = match request {
                Input::Bytes(max_len) => read_input(max_len),
                Input::Command => {
                    let _keyboard = shared.as_ref().map(|terminal| terminal.keyboard());
                    match editor.get_or_insert_with(LineEditor::open) {
                        Some(editor) => editor.read(),
                        None => read_input(u32::MAX),
                    }
                }
            };
            answers.send(&HostMessage::Stdin(input));
        }
    });

    let (ask_terminal, requests) = mpsc::channel::<u32>();
    let (answers, read) = (sender.clone(), terminal.clone());
    thread::spawn(move || {
        for max_len in requests {
            let answer = read.as_ref().map_or(HostMessage::TerminalGone, |terminal| terminal.read(max_len));
            answers.send(&answer);
        }
    });

    let reader = Reader {
        socket,
        events,
        ask_input,
        ask_terminal,
        answers: sender.clone(),
        reports,
        terminal,
        failed: [false; 3],
    };
    thread::spawn(move || reader.run());
    Ok(sender)
}

/// Up to `max_len` bytes of standard input; empty at its end (and when it cannot be read).
fn read_input(max_len: u32) -> Vec<u8> {
    let mut buffer = vec![0; MAX_INPUT_LEN.min(max_len as usize)];
    loop {
        match rustix::io::read(rustix::stdio::stdin(), &mut buffer) {
            Ok(len) => {
                buffer.truncate(len);
                return buffer;
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::AGAIN) => wait_for(rustix::stdio::stdin(), PollFlags::IN),
            Err(_) => return Vec::new(),
        }
    }
}

/// Writes all bytes, also to a stream that someone has made non-blocking.
fn write_all(fd: BorrowedFd<'_>, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::write(fd, bytes) {
            Ok(len) => bytes = &bytes[len..],
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::AGAIN) => wait_for(fd, PollFlags::OUT),
            Err(e) => return Err(e.into()),
        }
    }
    Ok(())
}

fn wait_for(fd: BorrowedFd<'_>, flags: PollFlags) {
    // An error here shows again in the read or write that follows.
    let _ = poll(&mut [PollFd::new(&fd, flags)], None);
}

/// Input that the guest asks for.
#[derive(Clone, Copy, Debug)]
enum Input {
    /// At most so many bytes.
    Bytes(u32),
    /// A line, edited at the terminal.
    Command,
}

/// The thread that reads what the guest sends.
struct Reader {
    socket: UnixStream,
    events: Sender<Event>,
    ask_input: Sender<Input>,
    ask_terminal: Sender<u32>,
    answers: GuestSender,
    reports: ReportTarget,
    terminal: Option<Arc<Terminal>>,
    /// Output streams that take no more bytes.
    failed: [bool; 3],
}

impl Reader {
    fn run(mut self) {
        let error = self.frames().err();
        let _ = self.events.send(Event::ChannelEnded(error));
    }

    /// Handles frames until the stream ends.
    fn frames(&mut self) -> Result<(), ChannelError> {
        let mut decoder = Decoder::new();
        let mut buffer = vec![0; 256 << 10];
        loop {
            while let Some(frame) = decoder.pop()? {
                self.handle(frame)?;
            }
            match self.socket.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(len) => decoder.push(&buffer[..len]),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                // QEMU was killed with data in flight: the same as its end.
                Err(_) => return Ok(()),
            }
        }
    }

    fn handle(&mut self, frame: Frame) -> Result<(), ChannelError> {
        let event = match GuestMessage::try_from(frame)? {
            GuestMessage::Output(stream, bytes) => {
                self.output(stream, &bytes);
                return Ok(());
            }
            GuestMessage::Strace(text) => {
                self.output(OutputStream::Stderr, text.as_bytes());
                return Ok(());
            }
            GuestMessage::StdinRequest { max_len } => {
                let _ = self.ask_input.send(Input::Bytes(max_len));
                return Ok(());
            }
            GuestMessage::TerminalRequest { max_len } => {
                let _ = self.ask_terminal.send(max_len);
                return Ok(());
            }
            GuestMessage::TerminalChange(change) => {
                self.with_terminal(|terminal| terminal.change(&change));
                return Ok(());
            }
            GuestMessage::TerminalDiscard => {
                self.with_terminal(Terminal::discard);
                return Ok(());
            }
            GuestMessage::JobControl(is) => {
                self.with_terminal(|terminal| terminal.control_jobs(is));
                return Ok(());
            }
            GuestMessage::CommandRequest => {
                // The program has ended.
                self.with_terminal(Terminal::restore);
                let _ = self.ask_input.send(Input::Command);
                return Ok(());
            }
            GuestMessage::FileRequest(request) => {
                // Here and now: what the guest has sent before is done, and what it sends later is not.
                self.answers.send(&HostMessage::FileAnswer(stream_file::answer(request)));
                return Ok(());
            }
            GuestMessage::Report(text) => {
                match self.reports {
                    ReportTarget::Stdout => self.output(OutputStream::Stdout, text.as_bytes()),
                    ReportTarget::Stderr => self.output(OutputStream::Stderr, text.as_bytes()),
                    ReportTarget::Nowhere => {}
                }
                Event::Reported
            }
            GuestMessage::TraceStart(head) => Event::Recorded(Recorded::TraceStart(head)),
            GuestMessage::TraceRecords(piece) => Event::Recorded(Recorded::TraceRecords(piece)),
            GuestMessage::TraceThreads(names) => Event::Recorded(Recorded::TraceNames(names)),
            GuestMessage::ProfileHead(head) => Event::Recorded(Recorded::ProfileHead(head)),
            GuestMessage::ProfileMappings(mappings) => Event::Recorded(Recorded::ProfileMappings(mappings)),
            GuestMessage::ProfileSamples(piece) => Event::Recorded(Recorded::Samples(piece)),
            GuestMessage::Hello { version } => Event::Hello { version },
            GuestMessage::Stats(stats) => Event::Recorded(Recorded::Stats(stats)),
            GuestMessage::CallCounts(counts) => Event::Recorded(Recorded::CallCounts(counts)),
            GuestMessage::ListPiece(listing, piece) => Event::ListPiece(listing, piece),
            GuestMessage::Paths(paths) => Event::Paths(paths),
            GuestMessage::Exit(status) => Event::Exit(status),
        };
        // The receiver is gone only when the run is over.
        let _ = self.events.send(event);
        Ok(())
    }

    fn with_terminal(&self, act: impl FnOnce(&Terminal)) {
        if let Some(terminal) = &self.terminal {
            act(terminal);
        }
    }

    fn output(&mut self, stream: OutputStream, bytes: &[u8]) {
        let (fd, index) = match stream {
            OutputStream::Stdout => (rustix::stdio::stdout(), 0),
            OutputStream::Stderr => (rustix::stdio::stderr(), 1),
            OutputStream::Terminal => (terminal::output(), 2),
        };
        if self.failed[index] {
            return;
        }
        if let Err(error) = write_all(fd, bytes) {
            self.failed[index] = true;
            let _ = self.events.send(Event::OutputFailed(stream, error));
        }
    }
}
