// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `fchmodat(2)`: changes permission bits relative to a directory.
//!
//! Honoured: all of it; the call has no flags.
//!
//! Refused: nothing.

use hadal_vfs::Follow;

use crate::Result;
use crate::call::Call;
use crate::files::at::{self, Target};
use crate::files::permissions;
use crate::strace::signature;

signature!(Directory, Path, Octal);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let place = at::place(call.process, call.int(0), at::path(call, 1, &mut at::Text::new())?, Follow::Yes)?;
    permissions::set_mode(call.process, &Target::Place(place), call.uint(2))
}
