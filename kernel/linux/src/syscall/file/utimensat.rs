// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `utimensat(2)`: sets the times of a file, relative to a directory or through a descriptor.
//!
//! Honoured: `UTIME_NOW`, `UTIME_OMIT`, `AT_SYMLINK_NOFOLLOW`, `AT_EMPTY_PATH`; a null path means the descriptor.
//!
//! Refused: nothing; other flags are `EINVAL`.

use linux_raw_sys::general::{AT_EMPTY_PATH, AT_SYMLINK_NOFOLLOW};

use crate::call::Call;
use crate::files::at::{self, Target};
use crate::files::file_times::FileTimes;
use crate::strace::signature;
use crate::{Errno, Result};

signature!(Directory, Path, Address, Flags(&flags::AT));

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (process, dirfd, flags) = (call.process, call.int(0), call.uint(3));
    let times = FileTimes::from_timespecs(call.arg(2))?;
    if times.is_empty() {
        return Ok(0);
    }
    at::check_flags(flags, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH)?;
    if call.arg(1) == 0 && dirfd != at::AT_FDCWD {
        if flags != 0 {
            return Err(Errno::EINVAL);
        }
        return times.apply(process, &Target::Open(at::open_file(call, 0)?));
    }
    times.apply(process, &at::target(process, dirfd, at::path(call, 1, &mut at::Text::new())?, flags)?)
}
