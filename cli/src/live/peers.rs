// SPDX-License-Identifier: Apache-2.0 OR MIT
//! [`Peer`]: a live run, seen from another command.

use std::io::{self, BufReader};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use super::place::Place;
use super::protocol::{self, Info, Reply, Request};

/// How long all runs together may take to say who they are. One that is suspended does not say it.
const PATIENCE: Duration = Duration::from_secs(5);

/// Time for the last of them, whatever the others took.
const LEAST_PATIENCE: Duration = Duration::from_millis(10);

/// A live run.
#[derive(Debug)]
pub(super) struct Peer {
    /// The process of its `hadal` command.
    pub(super) pid: u32,
    /// What it says of itself, if it answers.
    pub(super) info: Option<Info>,
}

/// What a name in the directory means.
#[derive(Debug, PartialEq, Eq)]
enum Entry {
    /// The socket of the run with this process.
    Run(u32),
    /// A socket on which that run is about to listen.
    New(u32),
}

/// The live runs, by process. What runs that were killed have left is removed.
pub(super) fn list(place: &Place) -> io::Result<Vec<Peer>> {
    let mut asked = Vec::new();
    for name in place.names()? {
        match entry(&name) {
            Some(Entry::Run(pid)) => match connect(&place.path_of(&name)) {
                // One that has just ended takes no request.
                Ok(stream) if protocol::send(&stream, &Request::Info).is_err() => {}
                Ok(stream) => asked.push((pid, Some(stream))),
                // It is there, and behind with its answers.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => asked.push((pid, None)),
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => place.remove(&name),
                // It has ended in the meantime.
                Err(_) => {}
            },
            Some(Entry::New(pid)) if !is_process(pid) => place.remove(&name),
            Some(Entry::New(_)) | None => {}
        }
    }
    // All have been asked before the first answer is waited for.
    let deadline = Instant::now() + PATIENCE;
    let told = |stream| info(stream, deadline).ok().flatten();
    let mut peers: Vec<Peer> =
        asked.into_iter().map(|(pid, stream)| Peer { pid, info: stream.and_then(told) }).collect();
    peers.sort_by_key(|peer| peer.pid);
    Ok(peers)
}

fn info(stream: UnixStream, deadline: Instant) -> io::Result<Option<Info>> {
    let left = deadline.saturating_duration_since(Instant::now()).max(LEAST_PATIENCE);
    stream.set_read_timeout(Some(left))?;
    match protocol::receive(&mut BufReader::new(stream))? {
        Some(Reply::Info(info)) => Ok(Some(info)),
        _ => Ok(None),
    }
}

impl Peer {
    /// Sends a request on a connection of its own, on which each answer may take so long.
    pub(super) fn ask(
        &self,
        place: &Place,
        request: Request,
        patience: Duration,
    ) -> io::Result<BufReader<UnixStream>> {
        let stream = connect(&place.path_of(&socket_name(self.pid)))?;
        stream.set_read_timeout(Some(patience))?;
        protocol::send(&stream, &request)?;
        Ok(BufReader::new(stream))
    }
}

/// The name of a run's socket.
pub(super) fn socket_name(pid: u32) -> String {
    format!("{pid}.sock")
}

/// The name that it has until somebody listens on it.
pub(super) fn new_socket_name(pid: u32) -> String {
    format!("{pid}.new")
}

fn entry(name: &str) -> Option<Entry> {
    let (pid, kind) = name.split_once('.')?;
    let number: u32 = pid.parse().ok()?;
    match kind {
        _ if number.to_string() != pid => None,
        "sock" => Some(Entry::Run(number)),
        "new" => Some(Entry::New(number)),
        _ => None,
    }
}

fn is_process(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

/// Connects without waiting for one that accepts nobody.
fn connect(path: &Path) -> io::Result<UnixStream> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    let stream = UnixStream::from(socket);
    stream.set_nonblocking(false)?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_sockets_are_runs() {
        assert_eq!(entry("123.sock"), Some(Entry::Run(123)));
        assert_eq!(entry("123.new"), Some(Entry::New(123)));
        for other in
            ["", ".", "..", "123", "sock", "-1.sock", "0123.sock", "+1.sock", "1.sock.x", "99999999999.sock"]
        {
            assert_eq!(entry(other), None, "{other}");
        }
    }
}
