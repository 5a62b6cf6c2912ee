// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where terminals are found: `/dev/ptmx`, `/dev/pts` and `/dev/tty`.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;

use hadal_vfs::synthetic::{Child, Children, Directory, Opener, device};
use hadal_vfs::{Caller, FileKind, OpenFlags, make_dev};

use super::{MOST, Terminal, job, master, numbered, slave};
use crate::task::Task;
use crate::{Errno, Result};

/// Device numbers of Linux: the multiplexer, and the first of 256 minors of the slaves.
const MULTIPLEXER: u64 = make_dev(5, 2);
const SLAVES_MAJOR: u32 = 136;

/// Adds the terminals to `/dev`.
pub fn add(dev: &Directory) {
    let multiplexer = || -> Opener { Box::new(|_| master::open()) };
    dev.add("ptmx", device(0o666, MULTIPLEXER, multiplexer()));
    dev.dynamic("pts", Arc::new(Slaves));
    dev.add("pts/ptmx", device(0o000, MULTIPLEXER, multiplexer()));
}

/// Opens `/dev/tty`: the calling process's terminal; `ENXIO` if it has none.
pub fn own() -> Opener {
    Box::new(|flags| {
        slave::open(job::of(Task::current().process()).ok_or(Errno::ENXIO)?, flags | OpenFlags::NO_CTTY)
    })
}

fn numbers(number: u32) -> (u32, u32) {
    (SLAVES_MAJOR + number / 256, number % 256)
}

/// The device number of a slave as `/proc/PID/stat` has it.
pub(super) fn encoded(number: u32) -> u32 {
    let (major, minor) = numbers(number);
    major << 8 | minor
}

/// A terminal that can be found: one whose master is gone cannot.
fn listed(number: usize) -> Option<Arc<Terminal>> {
    numbered(number).filter(|terminal| !terminal.state().is_hung_up)
}

/// The directory of slaves.
struct Slaves;

fn leaf(terminal: Arc<Terminal>) -> Child {
    let (number, owner) = (terminal.number(), terminal.owner());
    let (major, minor) = numbers(number);
    let rdev = make_dev(major, minor);
    // Only the directory's entry: it must not keep the terminal.
    let terminal = Arc::downgrade(&terminal);
    let open: Opener = Box::new(move |flags| slave::open(terminal.upgrade().ok_or(Errno::EIO)?, flags));
    Child::Leaf(device(0o620, rdev, open).owned_by(owner))
}

impl Children for Slaves {
    fn lookup(&self, name: &[u8]) -> Option<Child> {
        let number: usize = core::str::from_utf8(name).ok()?.parse().ok()?;
        // As it is listed, and no other way.
        (number.to_string().as_bytes() == name).then(|| listed(number))?.map(leaf)
    }

    fn list(&self) -> Result<Vec<(Vec<u8>, FileKind)>> {
        let numbers = (0..MOST).filter(|&number| listed(number).is_some());
        Ok(numbers.map(|number| (number.to_string().into_bytes(), FileKind::CharDevice)).collect())
    }
}

/// Opens the slave of a terminal whose master the caller has, by its path (`TIOCGPTPEER`); returns the descriptor.
pub(super) fn open_slave(terminal: &Terminal, flags: OpenFlags) -> Result<usize> {
    let process = Task::current().process();
    let path = format!("/dev/pts/{}", terminal.number());
    let root = process.namespace.root();
    // Whoever has the master may, whatever the path's permissions say.
    let file = process.namespace.open(&Caller::KERNEL, &root, path.as_bytes(), flags, 0)?;
    process.files().insert(file, flags.contains(OpenFlags::CLOSE_ON_EXEC)).map(|fd| fd as usize)
}
