// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `write(2)`: writes to a descriptor.
//!
//! Honoured: every kind of file; `O_APPEND`; short counts; `EPIPE` with SIGPIPE; `RLIMIT_FSIZE` with SIGXFSZ; at most 0x7ffff000
//! bytes.
//!
//! Refused: a buffer that is not readable from end to end is `EFAULT` and nothing is written.

use crate::Result;
use crate::call::Call;
use crate::files::segments::Segment;
use crate::files::transfer;
use crate::strace::signature;

signature!(Int, Input(2), Size);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let file = call.process.files().get(call.int(0))?;
    transfer::write(call, &file, Segment::new(call.arg(1), call.arg(2))?, None)
}
