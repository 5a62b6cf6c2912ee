// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Signals as a file: reading takes pending signals of a set.
//!
//! Which signals there are depends on who reads or waits: a thread sees its own and those of its process, whoever has made the file.
//! An epoll instance hears of those of the process that has added the file.

use alloc::string::String;
use alloc::sync::Arc;
use core::any::Any;
use core::fmt::Write;

use hadal_hal::sync::SpinLock;
use hadal_sync::{WaitMode, WaitQueue};
use hadal_vfs::{Blocking, File, OpenFile, PollEvents, Positions};
use linux_raw_sys::general;
use zerocopy::{Immutable, IntoBytes};

use crate::process::Process;
use crate::signal::info::code;
use crate::signal::{self, Info, SigSet};
use crate::task::Task;
use crate::{Errno, Result};

/// `struct signalfd_siginfo`.
#[repr(C)]
#[derive(Clone, Copy, Default, IntoBytes, Immutable)]
struct Record {
    signo: u32,
    errno: i32,
    code: i32,
    pid: u32,
    uid: u32,
    fd: i32,
    tid: u32,
    band: u32,
    overrun: u32,
    trap: u32,
    status: i32,
    int: i32,
    pointer: u64,
    user_time: u64,
    system_time: u64,
    address: u64,
    address_lsb: u16,
    reserved: [u16; 23],
}

const BYTES: usize = 128;
const _: () = assert!(size_of::<Record>() == BYTES);

impl From<&Info> for Record {
    fn from(info: &Info) -> Self {
        let [first, value, ..] = info.fields;
        let (low, high) = (first as u32, (first >> 32) as u32);
        let record = Self { signo: info.signo.into(), errno: info.errno, code: info.code, ..Self::default() };
        let synchronous = [general::SIGSEGV, general::SIGBUS, general::SIGILL, general::SIGFPE];
        match info.code {
            code::TIMER => Self { tid: low, overrun: high, int: value as i32, pointer: value, ..record },
            code::USER | code::TKILL | code::KERNEL => Self { pid: low, uid: high, ..record },
            code if code < 0 => Self { pid: low, uid: high, int: value as i32, pointer: value, ..record },
            _ if synchronous.contains(&u32::from(info.signo)) => Self { address: first, ..record },
            _ => Self { pid: low, uid: high, ..record },
        }
    }
}

/// The set of signals that a descriptor takes.
pub(crate) struct SignalFile {
    wanted: SpinLock<SigSet>,
}

impl SignalFile {
    /// Takes signals of `wanted`.
    pub(crate) fn new(wanted: SigSet) -> Arc<Self> {
        Arc::new(Self { wanted: SpinLock::new(wanted) })
    }

    /// The set that a file is; `EINVAL` if it is none.
    pub(crate) fn of(file: &OpenFile) -> Result<&Self> {
        file.file()?.as_any().and_then(|any| any.downcast_ref()).ok_or(Errno::EINVAL)
    }

    /// Takes other signals. Others than those of `process` who wait go on waiting, as on Linux.
    pub(crate) fn set(&self, process: &Process, wanted: SigSet) {
        *self.wanted.lock() = wanted;
        process.signals.arrival().wake_all();
    }

    fn take(&self, task: &Task, process: &Process) -> Option<Info> {
        let wanted = *self.wanted.lock();
        signal::take(task, process, wanted)
    }
}

impl File for SignalFile {
    fn read(&self, buffer: &mut [u8], blocking: Blocking) -> Result<usize> {
        if buffer.len() < BYTES {
            return Err(Errno::EINVAL);
        }
        let task = Task::current();
        let process = task.process();
        let take = || self.take(task, process);
        let first = match blocking {
            Blocking::Never => take().ok_or(Errno::EAGAIN)?,
            Blocking::Wait => process.signals.arrival().wait_until(None, WaitMode::Interruptible, take)?,
        };
        let mut read = 0;
        let mut next = Some(first);
        for place in buffer.chunks_exact_mut(BYTES) {
            let Some(info) = next.take().or_else(take) else { break };
            place.copy_from_slice(Record::from(&info).as_bytes());
            read += BYTES;
        }
        Ok(read)
    }

    fn poll(&self) -> PollEvents {
        let task = Task::current();
        let pending = task.signals.pending().union(task.process().signals.pending());
        if pending.intersection(*self.wanted.lock()).is_empty() {
            PollEvents::empty()
        } else {
            PollEvents::READ
        }
    }

    fn wait_queues(&self) -> [Option<&WaitQueue>; 2] {
        [Some(Task::current().process().signals.arrival()), None]
    }

    fn positions(&self) -> Positions {
        Positions::NoneAndSeekIgnored
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }

    fn describe(&self, lines: &mut String) -> Result<()> {
        // Writing to a string cannot fail.
        let _ = writeln!(lines, "sigmask:\t{:016x}", self.wanted.lock().bits());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_have_what_the_sender_gave() {
        let kill = Record::from(&Info::sender(10, code::USER, 7, 1000));
        assert_eq!((kill.signo, kill.code, kill.pid, kill.uid), (10, code::USER, 7, 1000));
        let mut info = Info::sender(40, code::QUEUE, 7, 0);
        info.fields[1] = u64::MAX - 1;
        let queued = Record::from(&info);
        assert_eq!((queued.pid, queued.int, queued.pointer), (7, -2, u64::MAX - 1));
        let timer = Record::from(&Info::timer(14, 3, 9));
        assert_eq!((timer.tid, timer.int, timer.pid), (3, 9, 0));
    }
}
