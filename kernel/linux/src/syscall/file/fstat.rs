// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `fstat(2)`: attributes of an open file.
//!
//! Honoured: all of it, also for `O_PATH` descriptors and for files whose name is gone.
//!
//! Refused: nothing.

use crate::call::Call;
use crate::files::stat_layout::Stat;
use crate::strace::signature;
use crate::{Result, memory};

signature!(Int, Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let file = call.process.files().get(call.int(0))?;
    let metadata = file.metadata();
    memory::write(call.arg(1), &Stat::from(metadata.as_ref().map_err(|&error| error)?))?;
    Ok(0)
}
