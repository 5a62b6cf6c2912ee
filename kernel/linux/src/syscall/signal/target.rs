// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whom a signal is for, as the sending calls name it.

use crate::call::Call;
use crate::family::{self, Held};
use crate::first;
use crate::memory;
use crate::process::Process;
use crate::signal::info::{RawInfo, code};
use crate::signal::number::COUNT;
use crate::signal::send::{self, Sent};
use crate::signal::{self, Info};
use crate::{Errno, Result};

/// A signal number; `None` is 0, which only asks whether the target exists.
pub(super) fn signal_or_probe(number: i32) -> Result<Option<u8>> {
    match u8::try_from(number) {
        Ok(0) => Ok(None),
        Ok(signo) if signo <= COUNT => Ok(Some(signo)),
        _ => Err(Errno::EINVAL),
    }
}

/// A signal number that is one.
pub(super) fn signal_number(number: i32) -> Result<u8> {
    signal_or_probe(number)?.ok_or(Errno::EINVAL)
}

/// A signal for process 1, or only the question whether it could be sent.
pub(super) fn to_first(process: &Process, signal: i32) -> Result<usize> {
    signal_or_probe(signal)?;
    first::may_signal(&process.credentials).map(|()| 0)
}

/// Another process than the caller's, by its id or by one of its threads'; `ESRCH` if there is none, `EPERM` if it is not the
/// caller's to signal.
pub(super) fn other(call: &Call<'_>, id: i32, signal: i32) -> Result<Held> {
    let process = u32::try_from(id).ok().and_then(family::find_held).ok_or(Errno::ESRCH)?;
    if family::may_signal(call.process, &process, signal) { Ok(process) } else { Err(Errno::EPERM) }
}

/// Sends a signal, if it is not a probe, to all processes that fit and that the caller may signal. One that does not exist is an
/// error only if a process fits.
pub(super) fn to_all(
    call: &Call<'_>,
    info: Result<Option<Info>>,
    fits: impl Fn(&Process) -> bool,
) -> Result<usize> {
    family::with_many(|processes| {
        let mut outcome = Err(Errno::ESRCH);
        for process in processes.filter(|process| fits(process)) {
            let info = info?;
            let signal = info.map_or(0, |info| info.signo.into());
            let sent = match family::may_signal(call.process, &process, signal) {
                true => to_process(process.process(), info),
                false => Err(Errno::EPERM),
            };
            if outcome != Ok(0) {
                outcome = sent;
            }
        }
        outcome
    })
}

/// Sends a signal, if it is not a probe, to the thread of a process with an id; `ESRCH` if there is none, before all else that is
/// wrong.
pub(super) fn to_thread(process: &'static Process, tid: i32, info: Result<Option<Info>>) -> Result<usize> {
    let tid = u32::try_from(tid).map_err(|_| Errno::ESRCH)?;
    match info {
        Ok(Some(info)) => send::to_thread(process, tid, info).ok_or(Errno::ESRCH)?.map(done),
        _ if !process.has_thread(tid) => Err(Errno::ESRCH),
        other => other.map(|_| 0),
    }
}

/// Sends a signal, if it is not a probe, to the process.
pub(super) fn to_process(process: &'static Process, info: Option<Info>) -> Result<usize> {
    match info {
        Some(info) => send::to_process(process, info).map(done),
        None => Ok(0),
    }
}

fn done(_: Sent) -> usize {
    0
}

/// What a process says about itself as a sender.
pub(super) fn sender(process: &Process, signo: u8, code: i32) -> Info {
    Info::sender(signo, code, process.pid(), process.credentials.user().real)
}

/// What `tkill` and `tgkill` send to a thread of another process, which the latter names, too.
pub(super) fn kill_other_thread(call: &Call<'_>, pid: Option<i32>, tid: i32, signal: i32) -> Result<usize> {
    let process = other(call, tid, signal)?;
    if pid.is_some_and(|pid| u32::try_from(pid) != Ok(process.pid())) {
        return Err(Errno::ESRCH);
    }
    to_thread(process.process(), tid, from(call.process, signal))
}

/// A signal from a process to a thread.
fn from(process: &Process, signal: i32) -> Result<Option<Info>> {
    Ok(signal_or_probe(signal)?.map(|signo| sender(process, signo, code::TKILL)))
}

/// What `tkill` and `tgkill` send to a thread of the program, which most often is the caller.
pub(super) fn kill_own_thread(call: &Call<'_>, tid: i32, signal: i32) -> Result<usize> {
    let process = call.process;
    if u32::try_from(tid) != Ok(call.task.tid()) {
        return to_thread(process, tid, from(process, signal));
    }
    let Some(signo) = signal_or_probe(signal)? else { return Ok(0) };
    send::to_caller(process, call.task, sender(process, signo, code::TKILL)).map(done)
}

/// What the program wants to send along with a signal, as it has written it.
pub(super) struct Enclosed(RawInfo);

impl Enclosed {
    /// Reads it. `E2BIG` if it is more than the kernel keeps.
    pub(super) fn read(address: usize) -> Result<Self> {
        let raw: RawInfo = memory::read(address)?;
        // The number is another argument's.
        raw.to_info(1).ok_or(Errno::E2BIG).map(|_| Self(raw))
    }

    /// Whether it is what only the kernel or `kill` say, which nobody may pretend to others.
    pub(super) fn pretends(&self) -> bool {
        self.0.code() >= 0 || self.0.code() == code::TKILL
    }

    /// Whether it says that it is of this signal.
    pub(super) fn is_for(&self, signal: i32) -> bool {
        self.0.signo() == signal
    }

    /// With a signal; `None` for 0, which only asks.
    pub(super) fn with(self, signal: i32) -> Result<Option<Info>> {
        Ok(signal_or_probe(signal)?.and_then(|signo| self.0.to_info(signo)))
    }
}

/// Writes the result of a wait for a signal.
pub(super) fn taken(info: &signal::Info, address: usize) -> Result<usize> {
    memory::write_unless_null(address, &info.to_raw())?;
    Ok(info.signo.into())
}
