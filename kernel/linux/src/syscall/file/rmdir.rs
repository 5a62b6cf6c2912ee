// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `rmdir(2)`: removes an empty directory.
//!
//! Honoured: all of it.
//!
//! Refused: nothing.

use hadal_vfs::Namespace;

use super::unlinkat;
use crate::Result;
use crate::call::Call;
use crate::files::at;
use crate::strace::signature;

signature!(Path);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    unlinkat::remove(call.process, at::AT_FDCWD, at::path(call, 0, &mut at::Text::new())?, Namespace::rmdir)
}
