// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `utime(2)`: sets the times of a file in seconds.
//!
//! Honoured: all of it.
//!
//! Refused: nothing.

use hadal_vfs::Follow;

use crate::Result;
use crate::call::Call;
use crate::files::at::{self, Target};
use crate::files::file_times::FileTimes;
use crate::strace::signature;

signature!(Path, Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let times = FileTimes::from_utimbuf(call.arg(1))?;
    let place = at::place(call.process, at::AT_FDCWD, at::path(call, 0, &mut at::Text::new())?, Follow::Yes)?;
    times.apply(call.process, &Target::Place(place))
}
