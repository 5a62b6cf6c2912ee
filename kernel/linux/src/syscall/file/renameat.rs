// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `renameat(2)`: moves an entry from one directory to another.
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

signature!(Directory, Path, Directory, Path);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (mut first, mut second) = (at::Text::new(), at::Text::new());
    let (old, new) = (at::path(call, 1, &mut first)?, at::path(call, 3, &mut second)?);
    renameat2::rename(call, (call.int(0), old), (call.int(2), new), RenameFlags::empty())
}
