// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `stat(2)`: attributes of what a path names.
//!
//! Honoured: all of it.
//!
//! Refused: nothing.

use hadal_vfs::Follow;

use crate::call::Call;
use crate::files::at;
use crate::files::stat_layout::Stat;
use crate::strace::signature;
use crate::{Result, memory};

signature!(Path, Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let inode = at::inode(call.process, at::AT_FDCWD, at::path(call, 0, &mut at::Text::new())?, Follow::Yes)?;
    let metadata = inode.metadata();
    memory::write(call.arg(1), &Stat::from(metadata.as_ref().map_err(|&error| error)?))?;
    Ok(0)
}
