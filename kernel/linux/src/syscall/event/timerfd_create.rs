// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `timerfd_create(2)`: makes a timer that is a file.
//!
//! Honoured: `CLOCK_REALTIME`, `CLOCK_MONOTONIC`, `CLOCK_BOOTTIME`, and for the superuser the alarm clocks, which are the same since the
//! machine never sleeps; `TFD_CLOEXEC`, `TFD_NONBLOCK`; polling.
//!
//! Refused: other clocks and flags (`EINVAL`); alarm clocks for others (`EPERM`).

use hadal_vfs::OpenFlags;
use linux_raw_sys::general::{
    CLOCK_BOOTTIME, CLOCK_BOOTTIME_ALARM, CLOCK_MONOTONIC, CLOCK_REALTIME, CLOCK_REALTIME_ALARM,
};

use crate::call::Call;
use crate::files::anonymous::{self, Label};
use crate::files::at;
use crate::strace::signature;
use crate::timerfd::TimerFile;
use crate::{Errno, Result};

/// `TFD_NONBLOCK` and `TFD_CLOEXEC`, which are the flags of `open`.
const FLAGS: OpenFlags = OpenFlags::NONBLOCK.union(OpenFlags::CLOSE_ON_EXEC);

signature!(Int, Flags(&flags::PIPE));

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (clock, flags) = (call.uint(0), call.uint(1));
    at::check_flags(flags, FLAGS.bits())?;
    let is_realtime = match clock {
        CLOCK_REALTIME | CLOCK_REALTIME_ALARM => true,
        CLOCK_MONOTONIC | CLOCK_BOOTTIME | CLOCK_BOOTTIME_ALARM => false,
        _ => return Err(Errno::EINVAL),
    };
    if matches!(clock, CLOCK_REALTIME_ALARM | CLOCK_BOOTTIME_ALARM)
        && call.process.credentials.user().effective != 0
    {
        return Err(Errno::EPERM);
    }
    let flags = OpenFlags::from_bits_truncate(flags);
    let status = OpenFlags::READ_WRITE | flags & OpenFlags::NONBLOCK;
    let label = Label::Fixed("anon_inode:[timerfd]");
    let timer = TimerFile::new(clock as i32, is_realtime)?;
    let file = anonymous::open(&call.process.caller(), timer, 0o600, label, status)?;
    let on_exec = flags.contains(OpenFlags::CLOSE_ON_EXEC);
    call.process.files().insert(file, on_exec).map(|fd| fd as usize)
}
