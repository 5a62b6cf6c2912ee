// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is said on the socket of a run: one [`Request`], then [`Reply`]s until the connection ends. Each is a line of JSON.

use std::io::{self, BufRead, Read, Write};

use hadal_abi::control::Listing;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Longest request.
const REQUEST_BYTES: u64 = 4096;

/// What a command wants from a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Request {
    /// Who it is: answered by `Info`.
    Info,
    /// A list of its threads or processes: answered by `List` or `Refused`.
    List(Listing),
    /// To end: the program gets SIGTERM, and the machine ends after the grace. Answered by `Ending`, and by `Ended` when
    /// the run is over; the connection ends with the command's process.
    Stop {
        /// Time for the program to end by itself, in milliseconds.
        grace_ms: u64,
    },
    /// To end at once: answered in the same way.
    Kill,
}

/// What a run answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Reply {
    /// Who it is.
    Info(Info),
    /// The list, as text for people.
    List(String),
    /// Why there is no answer, for people.
    Refused(String),
    /// It is about to end.
    Ending,
    /// It has ended with this status, and is writing its files.
    Ended {
        /// The status of the command.
        status: u8,
        /// The program did not end by itself.
        killed: bool,
    },
}

/// A run, as `hadal ps` shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Info {
    /// File name of the program.
    pub(super) name: String,
    /// Program and arguments as typed, some of them if there are many.
    pub(super) command: Vec<String>,
    /// Virtual CPUs.
    pub(super) cpus: u32,
    /// Memory of the machine.
    pub(super) memory_bytes: u64,
    /// How QEMU executes it.
    pub(super) accel: String,
    /// Time since its start.
    pub(super) elapsed_ms: u64,
    /// CPU time that QEMU has used, if the host tells.
    pub(super) cpu_time_ms: Option<u64>,
}

/// Sends a request or a reply.
pub(super) fn send<T: Serialize>(mut to: impl Write, message: &T) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    to.write_all(&line)
}

/// Receives a request; what is longer than any is an error.
pub(super) fn receive_request(from: impl Read) -> io::Result<Request> {
    let request = receive(&mut io::BufReader::new(from.take(REQUEST_BYTES)))?;
    request.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

/// Receives the next message; `None` at the end of the connection.
pub(super) fn receive<T: DeserializeOwned>(from: &mut impl BufRead) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    if from.read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    Ok(Some(serde_json::from_slice(&line)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_lines() {
        let replies = [
            Reply::List("a\nb \u{1b}[31m\n".into()),
            Reply::Ended { status: 143, killed: false },
            Reply::Info(Info {
                name: "a\nb".into(),
                command: vec!["./a\nb".into(), "x y".into()],
                cpus: 2,
                memory_bytes: 1 << 30,
                accel: "TCG".into(),
                elapsed_ms: 1,
                cpu_time_ms: None,
            }),
        ];
        let mut bytes = Vec::new();
        for reply in &replies {
            send(&mut bytes, reply).unwrap();
        }
        assert_eq!(bytes.iter().filter(|&&byte| byte == b'\n').count(), replies.len());
        let mut from = &bytes[..];
        for reply in replies {
            assert_eq!(receive(&mut from).unwrap(), Some(reply));
        }
        assert!(receive::<Reply>(&mut from).unwrap().is_none());
    }

    #[test]
    fn what_is_no_request_is_an_error() {
        for wrong in [&b""[..], b"\n", b"hello\n", b"{\"Stop\":{}}\n", &[b'x'; 100_000]] {
            assert!(receive_request(wrong).is_err());
        }
        assert_eq!(receive_request(&b"\"Info\"\n"[..]).unwrap(), Request::Info);
    }
}
