// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The control channel to the `hadal` command: what goes out, and the thread that takes what comes in.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use hadal_abi::control::{
    Decoder, ExitStatus, GuestMessage, Header, HostMessage, Listing, MAX_PAYLOAD_LEN, OutputStream, VERSION,
};
use hadal_drivers::Console;
use hadal_linux::family::{self, Held};
use hadal_linux::signal::number::{SIGINT, SIGQUIT, SIGTSTP};
use hadal_linux::signal::{Info, send};
use hadal_linux::tty::console as terminal;
use spin::Once;

use crate::{console, end, run, stdio};

static CHANNEL: Once<Arc<Console>> = Once::new();

/// Whether there is a command at the other end.
pub(crate) fn is_open() -> bool {
    CHANNEL.get().is_some()
}

/// Opens the channel and starts the thread that reads it.
pub(crate) fn open(port: Arc<Console>) {
    CHANNEL.call_once(|| port);
    send(&GuestMessage::Hello { version: VERSION });
    match hadal_sched::create(receive, 0, None) {
        Ok(thread) => {
            // The host must be heard although real-time threads of the program never rest.
            thread.keep_for_kernel();
            thread.set_priority(hadal_sched::PRIORITIES - 1);
            thread.start();
        }
        Err(error) => panic!("no thread for the control channel: {error:?}"),
    }
}

/// Sends a message; without a channel texts go to the console. A host that is gone ends the machine soon anyway.
pub(crate) fn send(message: &GuestMessage) {
    let Some(channel) = CHANNEL.get() else {
        if let GuestMessage::Report(text) | GuestMessage::Strace(text) = message {
            console::write(text.as_bytes());
        }
        return;
    };
    let mut bytes = Vec::new();
    match message.encode_into(&mut bytes) {
        Ok(()) => drop(channel.write_all(&bytes)),
        Err(error) => log::error!("a message for the host was lost: {error:?}"),
    }
}

/// Sends a message that the host answers at once.
pub(crate) fn ask(message: &GuestMessage) {
    let mut bytes = Vec::new();
    match (CHANNEL.get(), message.encode_into(&mut bytes)) {
        (Some(channel), Ok(())) => drop(channel.ask(&bytes)),
        _ => log::error!("a question for the host was lost"),
    }
}

/// Sends a whole frame.
pub(crate) fn send_frame(frame: &[u8]) {
    if let Some(channel) = CHANNEL.get() {
        // As for messages.
        let _ = channel.write_all(frame);
    }
}

/// Sends a whole frame from a kernel that has failed; returns whether the host can read it.
pub(crate) fn send_frame_polled(frame: &[u8]) -> bool {
    CHANNEL.get().is_some_and(|channel| channel.write_polled(frame))
}

/// Waits a bounded time until the host has what was sent by [`send_frame_polled`]: what is still on its way when the
/// machine ends is lost.
pub(crate) fn flush_polled() {
    let _ = CHANNEL.get().is_some_and(|channel| channel.flush_polled());
}

/// Sends text for people.
pub(crate) fn report(text: &str) {
    send_pieces(text, GuestMessage::Report);
}

/// Sends a text in pieces that fit a frame.
fn send_pieces(text: &str, message: impl Fn(String) -> GuestMessage) {
    let mut rest = text;
    while !rest.is_empty() {
        let mut end = rest.len().min(MAX_PAYLOAD_LEN / 2);
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        let (piece, behind) = rest.split_at(end);
        send(&message(String::from(piece)));
        rest = behind;
    }
}

/// Sends program output; returns how much was taken.
pub(crate) fn output(stream: OutputStream, data: &[u8]) -> usize {
    const PIECE: usize = 256 << 10;
    let piece = &data[..data.len().min(PIECE)];
    match (CHANNEL.get(), Header::output(stream, piece.len())) {
        (Some(channel), Some(header)) => drop(channel.write_vectored(&[&header.to_bytes(), piece])),
        _ => console::write(piece),
    }
    piece.len()
}

/// Waits until the host has everything.
pub(crate) fn flush() {
    if let Some(channel) = CHANNEL.get() {
        // A closed channel has nobody to wait for.
        let _ = channel.flush();
    }
}

fn receive(_: usize) -> ! {
    let channel = CHANNEL.get().expect("the channel is open");
    let mut decoder = Decoder::new();
    let mut buffer = alloc::vec![0; 64 << 10];
    loop {
        let Ok(len) = channel.read(&mut buffer) else {
            log::error!("the control channel is closed");
            hadal_sched::exit();
        };
        decoder.push(&buffer[..len]);
        loop {
            match decoder.pop().and_then(|frame| frame.map(HostMessage::try_from).transpose()) {
                Ok(Some(message)) => handle(message),
                Ok(None) => break,
                Err(error) => panic!("the control channel is damaged: {error:?}"),
            }
        }
    }
}

fn handle(message: HostMessage) {
    match message {
        HostMessage::Stdin(bytes) => stdio::supply(bytes),
        HostMessage::TerminalInput(bytes) => terminal::supply(&bytes),
        HostMessage::TerminalSize(size) => terminal::resize(size.rows, size.cols),
        HostMessage::TerminalGone => terminal::hang_up(),
        HostMessage::FileAnswer(answer) => stdio::answered(answer),
        HostMessage::Signal(number) => signal(number),
        HostMessage::ReportThreads => {
            list_threads(report);
            const SIGKILL: u8 = 9;
            end::machine(ExitStatus::Signaled { signal: SIGKILL });
        }
        HostMessage::List(listing) => {
            let tell = |text: &str| send_pieces(text, |piece| GuestMessage::ListPiece(listing, piece));
            match listing {
                Listing::Threads => list_threads(tell),
                Listing::Processes => hadal_report::list_processes(tell),
            }
            send(&GuestMessage::ListPiece(listing, String::new()));
        }
        HostMessage::Clock { realtime_ns } => hadal_time::set_realtime(realtime_ns),
    }
}

/// Lists the threads of all processes, those of the machine's program first.
fn list_threads(tell: impl Fn(&str)) {
    let Some(first) = run::process() else { return };
    first.visit(|| hadal_report::list_threads(first, &tell));
    for process in family::all().filter_map(Held::of) {
        let process = process.process();
        if family::is_alive(process) && !core::ptr::eq(process, first) {
            process.visit(|| hadal_report::list_threads(process, &tell));
        }
    }
}

/// A signal from the person outside: Ctrl-C, or output that nobody reads any more. What is typed is for all processes of the
/// program's group, as by a terminal.
pub(crate) fn signal(number: u8) {
    let Some(first) = run::process() else { return };
    if matches!(number, SIGINT | SIGQUIT | SIGTSTP) && terminal::signal(number) {
        return;
    }
    let (group, _) = family::group_and_session(first);
    let is_typed = matches!(number, SIGINT | SIGQUIT);
    let is_meant = |process: &Held| {
        core::ptr::eq(process.process(), first) || is_typed && family::group_and_session(process).0 == group
    };
    family::with_many(|processes| {
        for process in processes.filter(is_meant) {
            if let Err(error) = send::to_process(process.process(), Info::kernel(number)) {
                log::warn!("signal {number} from outside was lost: {error}");
            }
        }
    });
}
