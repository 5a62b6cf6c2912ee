// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `syncfs(2)`: brings what was written to one file system to stable storage.
//!
//! Honoured: every open file of the file system.
//!
//! Refused: as `sync`.

use super::sync;
use crate::Result;
use crate::call::Call;
use crate::files::at;
use crate::strace::signature;

signature!(Int);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let device = at::open_file(call, 0)?.inode().identity().dev;
    sync::sync_where(call.process, |dev| dev == device);
    Ok(0)
}
