// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `close(2)`: gives a descriptor back.
//!
//! Honoured: all of it; the number is free again at once, and the lowest free number is used next. What shared mappings have
//! written to the file is on the host afterwards.
//!
//! Refused: nothing.

use crate::call::Call;
use crate::files::mapped;
use crate::strace::signature;
use crate::{Result, record_locks};

signature!(Int);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let open = call.process.files().remove(call.int(0))?;
    // As on Linux the descriptor is gone whatever comes of it.
    let written = mapped::write_back_own(call.process, &open);
    record_locks::closing(call.process, &open);
    drop(open);
    written.map(|()| 0)
}
