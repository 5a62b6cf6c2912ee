// SPDX-License-Identifier: Apache-2.0 OR MIT
//! [`Listener`]: the socket on which a run can be asked. Questions about the machine are answered here; all others become
//! events of the session.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};

use hadal_abi::control::Listing;

use super::peers;
use super::place::Place;
use super::protocol::{self, Info, Reply, Request};
use super::requests::Stop;
use crate::channel::Event;
use crate::qemu::{Accel, MachineSpec};

/// How long one who connects may take to ask, and then to take a part of the answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Characters of a word, and of all words, of the command line that are kept.
const COMMAND_CHARS: usize = 1024;

/// What a run is called.
#[derive(Debug)]
pub(crate) struct Description {
    name: String,
    command: Vec<String>,
}

impl Description {
    /// The run of a program with its arguments.
    pub(crate) fn of_program(command: &[OsString]) -> Self {
        let program = command.first().map_or(OsStr::new("?"), OsString::as_os_str);
        let name = Path::new(program).file_name().unwrap_or(program);
        let mut left = COMMAND_CHARS;
        let mut kept = Vec::new();
        for word in command {
            let word: String = word.to_string_lossy().chars().take(left).collect();
            left = left.saturating_sub(word.chars().count() + 1);
            kept.push(word);
            if left == 0 {
                break;
            }
        }
        Self { name: name.to_string_lossy().into_owned(), command: kept }
    }

    /// A shell without a program.
    pub(crate) fn of_shell() -> Self {
        Self { name: "shell".into(), command: vec!["hadal".into(), "shell".into()] }
    }
}

/// One who has asked something and waits for the answer.
#[derive(Debug)]
pub(crate) struct Asker(UnixStream);

impl Asker {
    /// Answers. One who is gone does not miss it, and one who does not read is given up after a while.
    pub(super) fn tell(&self, reply: &Reply) {
        let _ = protocol::send(&self.0, reply);
    }
}

/// What somebody wants from the session.
#[derive(Debug)]
pub(crate) enum Asked {
    /// A list.
    List(Listing, Asker),
    /// The end.
    Stop(Stop),
}

/// The socket of this run; dropping it takes the run out of the list.
#[derive(Debug)]
pub(crate) struct Listener {
    place: Place,
    name: String,
}

/// What the thread that listens knows.
struct Server {
    socket: UnixListener,
    events: Sender<Event>,
    info: Info,
    qemu: u32,
    started: Instant,
}

impl Listener {
    /// Begins to listen; `None` where that is not possible: a run goes on without being listed.
    pub(crate) fn open(
        description: Description,
        spec: &MachineSpec,
        qemu: u32,
        events: Sender<Event>,
    ) -> Option<Self> {
        let info = Info {
            name: description.name,
            command: description.command,
            cpus: spec.cpus,
            memory_bytes: spec.memory_bytes,
            accel: accel_name(spec.accel).to_owned(),
            elapsed_ms: 0,
            cpu_time_ms: None,
        };
        let place = Place::create().ok()?;
        let name = peers::socket_name(std::process::id());
        let socket = bind(&place, &name).ok()?;
        let listener = Self { place, name };
        let server = Server { socket, events, info, qemu, started: Instant::now() };
        thread::Builder::new().name("live".into()).spawn(move || server.run()).ok()?;
        Some(listener)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.place.remove(&self.name);
    }
}

/// A socket with this name. It gets the name when it listens: a socket that refuses connections is one whose run is gone.
fn bind(place: &Place, name: &str) -> io::Result<UnixListener> {
    let new = peers::new_socket_name(std::process::id());
    place.remove(&new);
    let socket = UnixListener::bind(place.path_of(&new))?;
    place.rename(&new, name)?;
    Ok(socket)
}

fn accel_name(accel: Accel) -> &'static str {
    match accel {
        Accel::Tcg => "TCG",
        Accel::TcgCounting => "icount",
        Accel::Kvm => "KVM",
    }
}

impl Server {
    /// Serves one after the other, to the end of the process.
    fn run(self) {
        loop {
            match self.socket.accept() {
                // One who breaks off is no reason not to serve the next.
                Ok((stream, _)) => drop(self.serve(stream)),
                // Out of descriptors, say: later there may be some.
                Err(_) => thread::sleep(PATIENCE),
            }
        }
    }

    fn serve(&self, stream: UnixStream) -> io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let request = protocol::receive_request(&stream)?;
        let asker = Asker(stream);
        let asked = match request {
            Request::Info => {
                asker.tell(&Reply::Info(self.info()));
                return Ok(());
            }
            Request::List(listing) => Asked::List(listing, asker),
            Request::Stop { grace_ms } => {
                Asked::Stop(Stop::new(Some(Duration::from_millis(grace_ms)), asker))
            }
            Request::Kill => Asked::Stop(Stop::new(None, asker)),
        };
        // The session is gone only when the run is over; then the connection ends here.
        let _ = self.events.send(Event::Asked(asked));
        Ok(())
    }

    fn info(&self) -> Info {
        Info {
            elapsed_ms: self.started.elapsed().as_millis() as u64,
            cpu_time_ms: cpu_time_ms(self.qemu),
            ..self.info.clone()
        }
    }
}

/// CPU time of a process, user and system.
fn cpu_time_ms(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let ticks = cpu_ticks(&stat)?;
    Some(ticks * 1000 / rustix::param::clock_ticks_per_second().max(1))
}

/// `utime` and `stime` in the text of `/proc/PID/stat`, whose second field may hold anything, parentheses too.
fn cpu_ticks(stat: &str) -> Option<u64> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    Some(fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn describe(words: &[&str]) -> Description {
        Description::of_program(&words.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn a_run_is_called_as_its_program() {
        let run = describe(&["./dir/heat", "500", "x y"]);
        assert_eq!((run.name.as_str(), run.command.len()), ("heat", 3));
        assert_eq!(describe(&["/"]).name, "/");
        assert_eq!(describe(&[]).name, "?");
    }

    #[test]
    fn long_command_lines_are_cut() {
        assert!(describe(&vec!["argument"; 100_000]).command.len() < COMMAND_CHARS);
        assert!(describe(&vec![""; 100_000]).command.len() <= COMMAND_CHARS);
        let cut = describe(&["./a", &"ä".repeat(1 << 20), "b"]).command;
        assert_eq!(cut.iter().map(|word| word.chars().count()).collect::<Vec<_>>(), [3, COMMAND_CHARS - 4]);
    }

    #[test]
    fn cpu_time_is_the_sum_of_two_fields() {
        let stat = "7 (a) b) S 1 2 3 4 5 6 7 8 9 10 100 23 0 0";
        assert_eq!(cpu_ticks(stat), Some(123));
        assert_eq!(cpu_ticks("7 (a"), None);
        assert!(cpu_time_ms(std::process::id()).is_some());
    }
}
