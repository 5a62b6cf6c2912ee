// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Processes as files (`pidfd_open(2)`): a descriptor means one process, whoever has its id later. It is readable when the process
//! has ended.

use alloc::string::String;
use core::any::Any;
use core::fmt::Write;

use hadal_sync::WaitQueue;
use hadal_vfs::{File, OpenFile, OpenFlags, PollEvents, Positions};

use crate::family::Held;
use crate::process::Process;
use crate::{Errno, Result};

/// Flag of the file: waiting for the process by it does not block (`PIDFD_NONBLOCK`).
pub(crate) const NONBLOCK: OpenFlags = OpenFlags::NONBLOCK;

/// One process, by what no later process has: its record, and when it began.
pub(crate) struct ProcessFile {
    process: &'static Process,
    pid: u32,
    started_ns: u64,
}

impl ProcessFile {
    /// Means a process that has this id, or is to have it, and does not end meanwhile.
    pub(crate) fn new(process: &'static Process, pid: u32) -> Self {
        Self { process, pid, started_ns: process.started_ns() }
    }

    /// The process that a file is; `EBADF` if it is none.
    pub(crate) fn of(file: &OpenFile) -> Result<&Self> {
        file.file()?.as_any().and_then(|any| any.downcast_ref()).ok_or(Errno::EBADF)
    }

    /// The process, held, unless it is over.
    pub(crate) fn hold(&self) -> Option<Held> {
        Held::of(self.process).filter(|_| self.is_meant() && !self.process.family.is_free())
    }

    /// Its id, also when it is over.
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Whether the record is still that process's.
    fn is_meant(&self) -> bool {
        // When one is being made it has no id yet.
        self.process.started_ns() == self.started_ns
    }
}

impl File for ProcessFile {
    fn poll(&self) -> PollEvents {
        // In this order: a record is first given up and then another's.
        let has_ended = self.process.family.has_ended();
        if has_ended || !self.is_meant() { PollEvents::READ } else { PollEvents::empty() }
    }

    fn wait_queues(&self) -> [Option<&WaitQueue>; 2] {
        [Some(self.process.family.changed()), None]
    }

    fn positions(&self) -> Positions {
        Positions::NoneAndSeekIgnored
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }

    fn describe(&self, lines: &mut String) -> Result<()> {
        let pid = self.hold().map_or(-1, |_| i64::from(self.pid));
        // Writing to a string cannot fail.
        let _ = writeln!(lines, "Pid:\t{pid}\nNSpid:\t{pid}");
        Ok(())
    }
}
