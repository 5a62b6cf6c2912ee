// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `getdents64(2)`: lists a directory.
//!
//! Honoured: all of it; at most 256 KiB of entries at a time.
//!
//! Refused: a buffer that is not writable from end to end is `EFAULT`.

use crate::Result;
use crate::call::Call;
use crate::files::directory_entries::{self, Layout};
use crate::strace::signature;

signature!(Int, Address, Size);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    directory_entries::list(call, Layout::Wide)
}
