// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `link(2)`: gives a file one more name.
//!
//! Honoured: all of it; a symbolic link is linked itself.
//!
//! Refused: nothing.

use hadal_vfs::Follow;

use super::linkat;
use crate::Result;
use crate::call::Call;
use crate::files::at;
use crate::strace::signature;

signature!(Path, Path);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (mut first, mut second) = (at::Text::new(), at::Text::new());
    let (old, new) = (at::path(call, 0, &mut first)?, at::path(call, 1, &mut second)?);
    let place = at::place(call.process, at::AT_FDCWD, old, Follow::No)?;
    linkat::link(call, &place, at::AT_FDCWD, new)
}
