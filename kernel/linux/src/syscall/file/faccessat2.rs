// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `faccessat2(2)`: `faccessat` with flags.
//!
//! Honoured: `AT_SYMLINK_NOFOLLOW`, `AT_EMPTY_PATH`, `AT_EACCESS`.
//!
//! Refused: nothing; other flags are `EINVAL`.

use linux_raw_sys::general::{AT_EACCESS, AT_EMPTY_PATH, AT_SYMLINK_NOFOLLOW};

use crate::Result;
use crate::call::Call;
use crate::files::{access_check, at};
use crate::strace::signature;

signature!(Directory, Path, Flags(&flags::ACCESS), Flags(&flags::AT));

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let flags = call.uint(3);
    at::check_flags(flags, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH | AT_EACCESS)?;
    access_check::check(
        call.process,
        call.int(0),
        at::path(call, 1, &mut at::Text::new())?,
        call.uint(2),
        flags,
    )
}
