// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The fake QEMU: standard input and output are the control channel, standard error is the serial log.

pub(crate) mod driver;

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStringExt;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hadal_abi::calls::CallCount;
use hadal_abi::config::{self, RunConfig};
use hadal_abi::control::{
    Decoder, ExitStatus, GuestMessage, HostMessage, Listing, OutputStream, Stats, VERSION,
};
use hadal_abi::trace::{Head, Kind, PieceHead, Record, Timestamp, text_words};

/// Pieces of each stream in the behaviour `binary`.
pub(crate) const BINARY_ROUNDS: usize = 400;

/// One piece: every byte value, then as many again as the round says.
pub(crate) fn binary_piece(round: usize) -> Vec<u8> {
    (0..=255).chain((0..round * 7).map(|n| (n * 31) as u8)).collect()
}

/// The guest's end of the channel.
struct Guest {
    decoder: Decoder,
}

impl Guest {
    fn send(&self, message: &GuestMessage) {
        let mut bytes = Vec::new();
        message.encode_into(&mut bytes).unwrap();
        // The host may have killed us already, in its own time.
        let _ = io::stdout().write_all(&bytes).and_then(|()| io::stdout().flush());
    }

    fn print(&self, text: impl Into<Vec<u8>>) {
        self.send(&GuestMessage::Output(OutputStream::Stdout, text.into()));
    }

    /// Ends the run as a kernel does: the host kills the machine.
    fn exit(&self, status: ExitStatus) -> ExitCode {
        self.send(&GuestMessage::Exit(status));
        hang()
    }

    fn receive(&mut self) -> HostMessage {
        let mut buffer = [0; 4096];
        loop {
            if let Some(frame) = self.decoder.pop().unwrap() {
                return HostMessage::try_from(frame).unwrap();
            }
            match io::stdin().read(&mut buffer) {
                Ok(len) if len > 0 => self.decoder.push(&buffer[..len]),
                _ => std::process::exit(0),
            }
        }
    }

    fn receive_signal(&mut self) -> u8 {
        loop {
            if let HostMessage::Signal(signal) = self.receive() {
                return signal;
            }
        }
    }
}

fn hang() -> ExitCode {
    thread::sleep(Duration::from_secs(60));
    ExitCode::FAILURE
}

/// Behaves as asked; the result is QEMU's exit status.
pub(crate) fn play(behaviour: &str) -> ExitCode {
    let mut guest = Guest { decoder: Decoder::new() };
    eprintln!("booting");
    if behaviour == "hang" {
        return hang();
    }
    guest.send(&GuestMessage::Hello { version: VERSION });
    match behaviour {
        "exit 0" => guest.exit(ExitStatus::Exited(0)),
        "exit 3" => guest.exit(ExitStatus::Exited(3)),
        "exit 7" => guest.exit(ExitStatus::Exited(7)),
        "signal 11" => guest.exit(ExitStatus::Signaled { signal: 11 }),
        "binary" => {
            for round in 0..BINARY_ROUNDS {
                guest.print(binary_piece(round));
                guest.send(&GuestMessage::Output(OutputStream::Stderr, binary_piece(round + 1)));
            }
            guest.exit(ExitStatus::Exited(0))
        }
        "echo" => echo(&mut guest),
        "config" => describe(&mut guest),
        "end on signal" => {
            guest.print("x");
            let signal = guest.receive_signal();
            guest.exit(ExitStatus::Signaled { signal })
        }
        "ignore signals" => {
            guest.print("x");
            loop {
                guest.receive_signal();
            }
        }
        "endless output" => endless_output(guest),
        "panic" => {
            log_panic();
            ExitCode::from(35)
        }
        "panic and hang" => {
            log_panic();
            hang()
        }
        "kernel failure" => guest.exit(ExitStatus::KernelFailure("no memory for CPU 3".into())),
        "cannot start" => guest.exit(ExitStatus::CannotStart("address 0x400000 is taken".into())),
        "die" => {
            eprintln!("last words");
            ExitCode::FAILURE
        }
        "reset" => ExitCode::SUCCESS,
        "silent end" => ExitCode::from(33),
        "garbage" => {
            io::stdout().write_all(&[0xff; 64]).unwrap();
            io::stdout().flush().unwrap();
            hang()
        }
        "list threads when asked" => {
            while guest.receive() != HostMessage::ReportThreads {}
            guest.send(&GuestMessage::Report("thread 1 waits in futex\n".into()));
            guest.exit(ExitStatus::Signaled { signal: 9 })
        }
        "list threads when asked to go on" => {
            guest.print("x");
            loop {
                match guest.receive() {
                    HostMessage::List(listing) => {
                        for piece in
                            ["hadal: true: 1 thread\n  thread 1 \"", "\u{1b}[31mred\" waits in futex\n", ""]
                        {
                            guest.send(&GuestMessage::ListPiece(listing, piece.into()));
                        }
                    }
                    HostMessage::Signal(signal) => return guest.exit(ExitStatus::Signaled { signal }),
                    _ => {}
                }
            }
        }
        "list no threads" => {
            guest.print("x");
            while guest.receive() != HostMessage::List(Listing::Threads) {}
            guest.send(&GuestMessage::ListPiece(Listing::Threads, String::new()));
            hang()
        }
        "print pid and hang" => {
            guest.print(format!("{}\n", std::process::id()));
            hang()
        }
        "stats" => {
            guest.send(&GuestMessage::Stats(Stats {
                counters: vec![("system calls".into(), 42)],
                by_cpu: vec![("system calls".into(), vec![40, 2])],
            }));
            guest.exit(ExitStatus::Exited(0))
        }
        "stats and panic" => {
            guest.send(&GuestMessage::Stats(Stats {
                counters: vec![("system calls".into(), 42)],
                by_cpu: Vec::new(),
            }));
            log_panic();
            ExitCode::from(35)
        }
        "call counts" => {
            guest.send(&GuestMessage::CallCounts(vec![
                CallCount { number: Some(0), calls: 4, errors: 1, time_ns: 1_000 },
                CallCount { number: Some(231), calls: 1, errors: 0, time_ns: 0 },
            ]));
            guest.exit(ExitStatus::Exited(3))
        }
        "trace" => {
            trace(&guest);
            guest.exit(ExitStatus::Exited(0))
        }
        "trace and panic" => {
            trace(&guest);
            log_panic();
            ExitCode::from(35)
        }
        "damaged trace" => {
            guest.send(&GuestMessage::TraceRecords(vec![0; 33]));
            hang()
        }
        "report" => {
            guest.send(&GuestMessage::Report("4 CPUs\n".into()));
            guest.exit(ExitStatus::Exited(0))
        }
        other => panic!("unknown behaviour {other}"),
    }
}

/// One CPU that runs one thread, and one record.
fn trace(guest: &Guest) {
    let head = Head {
        start: Timestamp { tsc: 0, ns: 0 },
        idle_threads: vec![0],
        vectors: vec![(0xf0, "timer".into())],
    };
    guest.send(&GuestMessage::TraceStart(head));
    let piece = PieceHead { cpu: 0, made: 3, end: Timestamp { tsc: 1000, ns: 1000 } };
    let [low, high] = text_words(b"hello");
    let words = [500, Record::tag(Kind::Mark, 4, 2), low, high];
    let mut bytes = piece.to_bytes().to_vec();
    bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    guest.send(&GuestMessage::TraceRecords(bytes));
}

fn log_panic() {
    eprintln!("[    0.123] kernel panic on CPU 1: page fault in the idle loop");
    eprintln!("  rip 0xffffffff80001234");
}

fn echo(guest: &mut Guest) -> ExitCode {
    loop {
        guest.send(&GuestMessage::StdinRequest { max_len: 5000 });
        loop {
            match guest.receive() {
                HostMessage::Stdin(bytes) if bytes.is_empty() => return guest.exit(ExitStatus::Exited(0)),
                HostMessage::Stdin(bytes) => {
                    assert!(bytes.len() <= 5000);
                    guest.print(bytes);
                    break;
                }
                _ => {}
            }
        }
    }
}

fn endless_output(mut guest: Guest) -> ExitCode {
    thread::spawn(|| {
        let writer = Guest { decoder: Decoder::new() };
        loop {
            writer.print("y\n");
        }
    });
    let signal = guest.receive_signal();
    guest.exit(ExitStatus::Signaled { signal })
}

/// Prints the configuration that the kernel would read.
fn describe(guest: &mut Guest) -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    let at = args.iter().position(|arg| arg == "-initrd").unwrap();
    let config: RunConfig = config::decode(&std::fs::read(&args[at + 1]).unwrap()).unwrap();
    let text = |bytes: &[u8]| OsString::from_vec(bytes.to_vec()).into_string().unwrap();
    let mut lines = vec![format!("program {}", text(&config.program)), format!("cwd {}", text(&config.cwd))];
    lines.extend(config.argv.iter().map(|arg| format!("arg {}", text(arg))));
    lines.extend(config.env.iter().map(|setting| format!("env {}", String::from_utf8_lossy(setting))));
    lines.extend(config.mounts.iter().map(|mount| {
        let access = if mount.writable { "rw" } else { "ro" };
        format!("mount {} {} {access}", mount.tag, text(&mount.guest_path))
    }));
    for (name, kind) in ["stdin", "stdout", "stderr"].iter().zip(config.stdio) {
        lines.push(format!("{name} {kind:?}"));
    }
    lines.push(format!("log {}", config.log_filter));
    if let Some(trace) = config.strace {
        let has = |number| if trace.calls.contains(number) { "" } else { "not " };
        lines.push(format!("traced {:?}: {}1 but {}0, {}13", trace.output, has(1), has(0), has(13)));
    }
    let preloaded = if std::env::var_os("LD_PRELOAD").is_some() { "yes" } else { "no" };
    lines.push(format!("preloaded into QEMU: {preloaded}"));
    let HostMessage::Clock { realtime_ns } = guest.receive() else { panic!("no clock") };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as i64;
    lines.push(if (now - realtime_ns).abs() < 5_000_000_000 {
        "clock ok".into()
    } else {
        "clock wrong".into()
    });
    guest.print(lines.join("\n") + "\n");
    guest.exit(ExitStatus::Exited(0))
}
