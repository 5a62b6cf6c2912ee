// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `rename(2)`: moves an entry.
//!
//! Honoured: all of it.
//!
//! Refused: nothing.

use hadal_vfs::RenameFlags;

use super::renameat2;
use crate::Result;
use crate::call::Call;
use crate::files::at;
use crate::strace::signature;

signature!(Path, Path);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (mut first, mut second) = (at::Text::new(), at::Text::new());
    let (old, new) = (at::path(call, 0, &mut first)?, at::path(call, 1, &mut second)?);
    renameat2::rename(call, (at::AT_FDCWD, old), (at::AT_FDCWD, new), RenameFlags::empty())
}
