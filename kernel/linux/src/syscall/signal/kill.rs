// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `kill(2)`: sends a signal to processes.
//!
//! Honoured: the id of a process or of one of its threads; 0 and -GROUP for the processes of a group; -1 for all but process 1 and
//! the caller; signal 0, which only asks whether there is such a process; process 1, which ignores all, for the superuser.
//!
//! Refused: processes of other users, for all but the superuser and for `SIGCONT` within the session (`EPERM`); ids that nobody has (`ESRCH`).

use super::target;
use crate::call::Call;
use crate::first::{self, Named};
use crate::signal::info::code;
use crate::strace::signature;
use crate::{Errno, Result};

signature!(Int, Signal);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (pid, signal, process) = (call.int(0), call.int(1), call.process);
    let info = |signal| -> Result<_> {
        let signal = target::signal_or_probe(signal)?;
        Ok(signal.map(|signo| target::sender(process, signo, code::USER)))
    };
    match pid {
        1.. => match first::named(process, pid) {
            Ok(Named::First) => target::to_first(process, signal),
            Ok(Named::Own) => target::to_process(process, info(signal)?),
            Err(_) => match target::other(call, pid, signal) {
                // As on Linux: whether there is one, then the signal, then whether it may be sent.
                Err(Errno::ESRCH) => Err(Errno::ESRCH),
                other => {
                    let info = info(signal)?;
                    target::to_process(other?.process(), info)
                }
            },
        },
        -1 => target::to_all(call, info(signal), |other| !core::ptr::eq(other, process)),
        i32::MIN => Err(Errno::ESRCH),
        _ => {
            let group = if pid == 0 { process.family.group() } else { pid.unsigned_abs() };
            target::to_all(call, info(signal), |other| other.family.group() == group)
        }
    }
}
