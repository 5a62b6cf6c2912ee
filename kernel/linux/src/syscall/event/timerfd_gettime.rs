// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `timerfd_gettime(2)`: tells when a timer that is a file expires next.
//!
//! Honoured: all of it.
//!
//! Refused: nothing.

use crate::call::Call;
use crate::strace::signature;
use crate::syscall::signal::timer_spec::TimerSpec;
use crate::timerfd::TimerFile;
use crate::{Result, memory};

signature!(Int, Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let file = call.process.files().get(call.int(0))?;
    let setting = TimerFile::of(&file)?.get()?;
    memory::write(call.arg(1), &TimerSpec::from(setting))?;
    Ok(0)
}
