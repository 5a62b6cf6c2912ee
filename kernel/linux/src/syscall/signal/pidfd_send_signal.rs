// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `pidfd_send_signal(2)`: sends a signal to the process that a file means.
//!
//! Honoured: content as for `rt_sigqueueinfo`, or none as for `kill`; signal 0, which only asks.
//!
//! Refused: content for another signal, flags (EINVAL); content that claims to be the kernel's, for others than the caller (EPERM);
//! processes that are over (ESRCH).

use super::target::{self, Enclosed};
use crate::call::Call;
use crate::pidfd::ProcessFile;
use crate::signal::info::code;
use crate::strace::signature;
use crate::{Errno, Result, family};

signature!(Int, Signal, Address, Hex);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (signal, content) = (call.int(1), call.arg(2));
    if call.uint(3) != 0 {
        return Err(Errno::EINVAL);
    }
    let file = call.process.files().get(call.int(0))?;
    let named = ProcessFile::of(&file)?;
    let info = if content == 0 {
        let sender = |signo| target::sender(call.process, signo, code::USER);
        target::signal_or_probe(signal)?.map(sender)
    } else {
        let enclosed = Enclosed::read(content)?;
        if !enclosed.is_for(signal) {
            return Err(Errno::EINVAL);
        }
        if enclosed.pretends() && named.pid() != call.process.pid() {
            return Err(Errno::EPERM);
        }
        enclosed.with(signal)?
    };
    let process = named.hold().ok_or(Errno::ESRCH)?;
    if !family::may_signal(call.process, &process, signal) {
        return Err(Errno::EPERM);
    }
    target::to_process(process.process(), info)
}
