// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `fchownat(2)`: changes the owner relative to a directory.
//!
//! Honoured: `AT_SYMLINK_NOFOLLOW`, `AT_EMPTY_PATH`.
//!
//! Refused: nothing; other flags are `EINVAL`.

use linux_raw_sys::general::{AT_EMPTY_PATH, AT_SYMLINK_NOFOLLOW};

use crate::Result;
use crate::call::Call;
use crate::files::{at, permissions};
use crate::strace::signature;

signature!(Directory, Path, Int, Int, Flags(&flags::AT));

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let flags = call.uint(4);
    at::check_flags(flags, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH)?;
    let target = at::target(call.process, call.int(0), at::path(call, 1, &mut at::Text::new())?, flags)?;
    permissions::set_owner(call.process, &target, call.uint(2), call.uint(3))
}
