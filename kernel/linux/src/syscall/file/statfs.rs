// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `statfs(2)`: numbers of the file system that a path lies in.
//!
//! Honoured: all of it.
//!
//! Refused: nothing.

use hadal_vfs::Follow;

use crate::call::Call;
use crate::files::at;
use crate::files::stat_layout::StatfsLayout;
use crate::strace::signature;
use crate::{Result, memory};

signature!(Path, Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let place = at::place(call.process, at::AT_FDCWD, at::path(call, 0, &mut at::Text::new())?, Follow::Yes)?;
    memory::write(call.arg(1), &StatfsLayout::new(&place.inode().statfs()?, place.mount().flags))?;
    Ok(0)
}
