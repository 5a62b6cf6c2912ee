// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `chown(2)`: changes the owner.
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

signature!(Path, Int, Int);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let place = at::place(call.process, at::AT_FDCWD, at::path(call, 0, &mut at::Text::new())?, Follow::Yes)?;
    permissions::set_owner(call.process, &Target::Place(place), call.uint(1), call.uint(2))
}
