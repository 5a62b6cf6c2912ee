// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `fstatfs(2)`: numbers of the file system that an open file lies in.
//!
//! Honoured: all of it.
//!
//! Refused: nothing.

use crate::call::Call;
use crate::files::stat_layout::StatfsLayout;
use crate::strace::signature;
use crate::{Result, memory};

signature!(Int, Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let file = call.process.files().get(call.int(0))?;
    let place = file.location();
    memory::write(call.arg(1), &StatfsLayout::new(&place.inode().statfs()?, place.mount().flags))?;
    Ok(0)
}
