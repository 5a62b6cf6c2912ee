// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `chdir(2)`: changes the working directory.
//!
//! Honoured: all of it.
//!
//! Refused: nothing.

use hadal_vfs::Follow;

use crate::Result;
use crate::call::Call;
use crate::files::{at, working_directory};
use crate::strace::signature;

signature!(Path);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let place = at::place(call.process, at::AT_FDCWD, at::path(call, 0, &mut at::Text::new())?, Follow::Yes)?;
    working_directory::change(call.process, place)
}
