// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Who is told, once, that an empty queue has got a message (mq_notify(2)).

use alloc::vec::Vec;

use linux_raw_sys::general;

use crate::family;
use crate::process::Process;
use crate::signal::info::code;
use crate::signal::{Info, send};
use crate::socket::notices::Expected;

/// Bytes that the C library sends to itself by way of a socket.
pub(crate) const COOKIE_BYTES: usize = 32;
/// Last byte of what comes: the message is there.
const WOKEN: u8 = 1;
/// The registration is gone, and what belongs to it can go.
const REMOVED: u8 = 2;

/// In which way.
pub(crate) enum How {
    /// Not at all, but nobody else can register (`SIGEV_NONE`).
    Nothing,
    /// A signal to the process, or none for number 0.
    Signal {
        /// Its number.
        signo: u8,
        /// What comes with it.
        value: u64,
    },
    /// Bytes to a socket where the C library waits to start a thread (`SIGEV_THREAD`).
    Thread {
        /// The socket, where there is a place for the bytes.
        place: Expected,
        /// The bytes, [`COOKIE_BYTES`] of them.
        cookie: Vec<u8>,
    },
}

/// A registration.
pub(crate) struct Notice {
    /// Who is told.
    process: &'static Process,
    pid: u32,
    /// In which way.
    how: How,
}

impl Notice {
    /// Has a process told.
    pub(crate) fn new(process: &'static Process, how: How) -> Self {
        Self { process, pid: process.pid(), how }
    }

    /// Whether it is this process, which lives, that is told.
    pub(super) fn is_of(&self, process: &Process) -> bool {
        core::ptr::eq(self.process, process) && self.pid == process.pid()
    }

    /// Tells that a message is there; `sender` has sent it.
    pub(crate) fn deliver(self, sender: &Process) {
        match self.how {
            How::Nothing | How::Signal { signo: 0, .. } => {}
            How::Signal { signo, value } => {
                let (pid, uid) = (sender.pid(), sender.credentials.user().real);
                let mut info = Info::sender(signo, code::MESSAGE_QUEUE, pid, uid);
                info.fields[1] = value;
                // A process that ended while it registered has a record that may be another's.
                if let Some(process) = family::hold_again(self.process, self.pid) {
                    // As on Linux one that finds no place is lost.
                    let _ = send::to_process(process.process(), info);
                }
            }
            How::Thread { place, cookie } => place.put(marked(cookie, WOKEN)),
        }
    }

    /// Tells that the registration is gone.
    pub(crate) fn cancel(self) {
        if let How::Thread { place, cookie } = self.how {
            place.put(marked(cookie, REMOVED));
        }
    }

    /// Way, signal and process, as reading the queue's file shows them.
    pub(super) fn shown(&self) -> (u32, u8, u32) {
        let (way, signo) = match self.how {
            How::Nothing => (general::SIGEV_NONE, 0),
            How::Signal { signo, .. } => (general::SIGEV_SIGNAL, signo),
            How::Thread { .. } => (general::SIGEV_THREAD, 0),
        };
        (way, signo, self.pid)
    }
}

fn marked(mut cookie: Vec<u8>, what: u8) -> Vec<u8> {
    if let Some(last) = cookie.last_mut() {
        *last = what;
    }
    cookie
}
