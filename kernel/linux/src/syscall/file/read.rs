// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `read(2)`: reads from a descriptor.
//!
//! Honoured: every kind of file; a short count at the end of a file and from a stream; at most 0x7ffff000 bytes.
//!
//! Refused: a buffer that is not writable from end to end is `EFAULT` even where fewer bytes would be read, unless the file is
//! in memory (`/tmp`, `/proc`, cached pages); nothing is consumed then.

use crate::Result;
use crate::call::Call;
use crate::files::segments::Segment;
use crate::files::transfer;
use crate::strace::signature;

signature!(Int, Output, Size);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let file = call.process.files().get(call.int(0))?;
    transfer::read(call, &file, Segment::new(call.arg(1), call.arg(2))?, None)
}
