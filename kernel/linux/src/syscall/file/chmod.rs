// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `chmod(2)`: changes permission bits.
//!
//! Honoured: all of it.
//!
//! Refused: nothing.

use hadal_vfs::Follow;

use crate::Result;
use crate::call::Call;
use crate::files::at::{self, Target};
use crate::files::permissions;
use crate::strace::signature;

signature!(Path, Octal);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let place = at::place(call.process, at::AT_FDCWD, at::path(call, 0, &mut at::Text::new())?, Follow::Yes)?;
    permissions::set_mode(call.process, &Target::Place(place), call.uint(1))
}
