// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `kill(2)`: sends a signal to the process.
//!
//! Honoured: the program's own process id and process group, and 0 for the group; signal 0 only asks.
//!
//! Refused: other processes and groups, and -1, which spares the caller (`ESRCH`): there are none. `SIGSTOP`, `SIGTSTP`, `SIGTTIN`
//! and `SIGTTOU` do not stop the program, since nothing outside of it could continue it; the log says so.

use super::target;
use crate::call::Call;
use crate::signal::info::code;
use crate::{Errno, Result};

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (pid, process) = (call.int(0), call.process);
    let signal = target::signal_or_probe(call.int(1))?;
    let own_group =
        pid == 0 || pid.checked_neg().is_some_and(|group| u32::try_from(group) == Ok(process.pid()));
    if !own_group && !target::is_own(process, pid) {
        return Err(Errno::ESRCH);
    }
    target::to_process(process, signal.map(|signo| target::sender(process, signo, code::USER)))
}
