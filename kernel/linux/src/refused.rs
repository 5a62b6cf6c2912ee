// SPDX-License-Identifier: Apache-2.0 OR MIT
//! [`Refused`]: what the machine's set-up has refused a program and its own Linux would have given it, for a line at its end.
//!
//! Most programs go on without what they are refused: a C library looks for a daemon's socket, an interpreter would keep
//! what it has compiled. A line about that would be noise, and standard error would differ from Linux's. One that cannot
//! go on ends with another status than 0, and mostly at once: so the last refusal is told then, and only then.

use alloc::format;
use alloc::string::String;
use core::fmt::Write as _;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use hadal_hal::sync::SpinLock;
use hadal_vfs::{Errno, Location};

use crate::process::{ExitStatus, Process};

/// File system type of the host's directories.
const SHARE: &str = "9p";

/// No socket was refused.
const NONE: u32 = u32::MAX;

/// What a program was refused last.
pub struct Refused {
    /// A place in a read-only share of the host that the user may write to.
    write: SpinLock<Option<Location>>,
    /// The domain of a socket.
    domain: AtomicU32,
    /// The name of a pipe or a socket outside of memory.
    special: AtomicBool,
    /// A connection to a socket of the host.
    host_socket: SpinLock<Option<Location>>,
}

impl Default for Refused {
    fn default() -> Self {
        Self {
            write: SpinLock::new(None),
            domain: AtomicU32::new(NONE),
            special: AtomicBool::new(false),
            host_socket: SpinLock::new(None),
        }
    }
}

impl Refused {
    /// Notes that writing to a path, making it or removing it came to `error`.
    pub(crate) fn note_write(&self, process: &Process, start: &Location, path: &[u8], error: Errno) {
        if error != Errno::EROFS {
            return;
        }
        let place = process.namespace.refused_by_mount(&process.caller(), start, path);
        if let Some(place) = place {
            self.note_change(&place, error);
        }
    }

    /// Notes that changing attributes of what is at a place came to `error`.
    pub(crate) fn note_change(&self, place: &Location, error: Errno) {
        if error == Errno::EROFS && place.mount().kind == SHARE {
            let previous = self.write.lock().replace(place.clone());
            drop(previous);
        }
    }

    /// Another program begins.
    pub(crate) fn forget(&self) {
        let previous = self.write.lock().take();
        drop(previous);
        let previous = self.host_socket.lock().take();
        drop(previous);
        self.domain.store(NONE, Ordering::Relaxed);
        self.special.store(false, Ordering::Relaxed);
    }

    /// Notes that there are no sockets of a domain.
    pub(crate) fn note_socket(&self, domain: u32) {
        self.domain.store(domain, Ordering::Relaxed);
    }

    /// Notes that making the name of a pipe or of a socket came to `error`.
    pub(crate) fn note_special(&self, error: Errno) {
        if error == Errno::EPERM {
            self.special.store(true, Ordering::Relaxed);
        }
    }

    /// Notes that a program asks for a socket at a place, if that is one of the host's.
    pub(crate) fn note_socket_of_host(&self, place: &Location) {
        // C libraries ask a daemon there for names of users, and read the files without it.
        if place.mount().kind == SHARE && !place.path().ends_with(b"/nscd/socket") {
            let previous = self.host_socket.lock().replace(place.clone());
            drop(previous);
        }
    }

    /// The lines about a program that has ended; empty if it had all it needed.
    pub(crate) fn text(&self, program: &[u8], status: ExitStatus) -> String {
        let write = self.write.lock().take();
        let host_socket = self.host_socket.lock().take();
        let mut text = String::new();
        if status == ExitStatus::Exited(0) {
            return text;
        }
        let program = program.escape_ascii();
        // Writing to a string cannot fail.
        if let Some(place) = write {
            let directory = if place.inode().is_directory() { place.path() } else { parent(place.path()) };
            let _ = writeln!(
                text,
                "hadal: {program}: it could not write to {}: {}",
                place.path().escape_ascii(),
                remedy(&place.mount().path, directory)
            );
        }
        if self.special.load(Ordering::Relaxed) {
            let _ = writeln!(
                text,
                "hadal: {program}: it could not make a named pipe or a socket among the host's files: there are some in memory \
                 only, below /tmp or /dev/shm"
            );
        }
        if let Some(place) = host_socket {
            let _ = writeln!(
                text,
                "hadal: {program}: it could not connect to {}: a program of the host listens there, and only programs of the \
                 machine can be connected to",
                place.path().escape_ascii()
            );
        }
        match self.domain.load(Ordering::Relaxed) {
            NONE => {}
            domain => {
                let _ = writeln!(
                    text,
                    "hadal: {program}: it got no socket of domain {}: there is no network, only sockets of AF_UNIX between \
                     programs of the machine; run it on Linux",
                    Domain(domain)
                );
            }
        }
        text
    }
}

/// The directory that holds what a path names.
fn parent(path: &[u8]) -> &[u8] {
    match path.iter().rposition(|&byte| byte == b'/') {
        Some(slash) if slash > 0 => &path[..slash],
        _ => b"/",
    }
}

/// Why a directory below a mount point is read-only, and what lets the program write there.
fn remedy(mount: &[u8], directory: &[u8]) -> String {
    const WHY: &str = "of the host's files only the working directory is writable";
    const OTHER: &str = "--cwd DIR takes another one";
    let (point, name) = (mount.escape_ascii(), directory.escape_ascii());
    match (mount, directory) {
        (b"/", b"/") => format!("{WHY}, unless it is /; {OTHER}"),
        (b"/", _) => format!("{WHY}; --mount {name}:{name}:rw adds {name}, {OTHER}"),
        _ => format!("{point} is mounted read-only; --mount HOST:{point}:rw lets it write there"),
    }
}

/// A socket's domain by its name.
struct Domain(u32);

impl core::fmt::Display for Domain {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.0 {
            1 => f.write_str("AF_UNIX"),
            2 => f.write_str("AF_INET"),
            10 => f.write_str("AF_INET6"),
            17 => f.write_str("AF_PACKET"),
            other => write!(f, "{other}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn only_a_program_that_fails_hears_of_it() {
        let refused = Refused::default();
        assert_eq!(refused.text(b"/bin/p", ExitStatus::Exited(1)), "");
        refused.note_socket(2);
        assert_eq!(refused.text(b"/bin/p", ExitStatus::Exited(0)), "");
        assert_eq!(
            refused.text(b"/bin/p", ExitStatus::Exited(1)),
            "hadal: /bin/p: it got no socket of domain AF_INET: there is no network, only sockets of AF_UNIX between \
             programs of the machine; run it on Linux\n"
        );
        assert_eq!(Domain(44).to_string(), "44");
    }

    #[test]
    fn remedies_fit_the_mount() {
        assert_eq!(parent(b"/etc/out"), b"/etc");
        assert_eq!(parent(b"/out"), b"/");
        assert_eq!(
            remedy(b"/", b"/etc"),
            "of the host's files only the working directory is writable; --mount /etc:/etc:rw adds /etc, --cwd DIR takes \
             another one"
        );
        assert_eq!(
            remedy(b"/", b"/"),
            "of the host's files only the working directory is writable, unless it is /; --cwd DIR takes another one"
        );
        assert_eq!(
            remedy(b"/data", b"/data/a"),
            "/data is mounted read-only; --mount HOST:/data:rw lets it write there"
        );
    }
}
