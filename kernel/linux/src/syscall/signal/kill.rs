// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `kill(2)`: sends a signal to the process.
//!
//! Honoured: the program's own process id and process group, and 0 for the group; signal 0 only asks. Process 1 ignores what
//! the superuser sends.
//!
//! Refused: process 1 for other users (`EPERM`); other processes and groups, and -1, which spares process 1 and the caller
//! (`ESRCH`): there are none. `SIGSTOP`, `SIGTSTP`, `SIGTTIN` and `SIGTTOU` do not stop the program, since nothing outside of
//! it could continue it; the log says so.

use super::target;
use crate::call::Call;
use crate::strace::signature;
use crate::first::{self, Named};
use crate::signal::info::code;
use crate::{Errno, Result};

signature!(Int, Signal);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (pid, signal, process) = (call.int(0), call.int(1), call.process);
    let own_group = || pid.checked_neg().is_some_and(|group| u32::try_from(group) == Ok(process.pid()));
    match pid {
        0 => {}
        1.. => {
            if first::named(process, pid)? == Named::First {
                return target::to_first(process, signal);
            }
        }
        _ if own_group() => {}
        _ => return Err(Errno::ESRCH),
    }
    let signal = target::signal_or_probe(signal)?;
    target::to_process(process, signal.map(|signo| target::sender(process, signo, code::USER)))
}
