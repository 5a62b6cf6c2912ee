// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `dup3(2)`: `dup2` with flags, for two different numbers.
//!
//! Honoured: `O_CLOEXEC`.
//!
//! Refused: nothing; other flags are `EINVAL`.

use linux_raw_sys::general::O_CLOEXEC;

use super::dup2;
use crate::call::Call;
use crate::files::at;
use crate::strace::signature;
use crate::{Errno, Result};

signature!(Int, Int, Flags(&flags::PIPE));

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (old, new, flags) = (call.int(0), call.int(1), call.uint(2));
    at::check_flags(flags, O_CLOEXEC)?;
    if old == new {
        return Err(Errno::EINVAL);
    }
    dup2::replace(call.process, old, new, flags & O_CLOEXEC != 0)
}
