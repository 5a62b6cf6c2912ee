// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `futimesat(2)`: sets the times of a file in microseconds, relative to a directory.
//!
//! Honoured: all of it; a null path means the descriptor.
//!
//! Refused: nothing.

use hadal_vfs::Follow;

use crate::Result;
use crate::call::Call;
use crate::files::at::{self, Target};
use crate::files::file_times::FileTimes;
use crate::strace::signature;

signature!(Directory, Path, Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (process, dirfd) = (call.process, call.int(0));
    let times = FileTimes::from_timevals(call.arg(2))?;
    let target = if call.arg(1) == 0 && dirfd != at::AT_FDCWD {
        Target::Open(at::open_file(call, 0)?)
    } else {
        Target::Place(at::place(process, dirfd, at::path(call, 1, &mut at::Text::new())?, Follow::Yes)?)
    };
    times.apply(process, &target)
}
