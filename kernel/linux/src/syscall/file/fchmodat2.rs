// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `fchmodat2(2)`: `fchmodat` with flags.
//!
//! Honoured: `AT_SYMLINK_NOFOLLOW` (`EOPNOTSUPP` for a link, as on Linux), `AT_EMPTY_PATH`.
//!
//! Refused: nothing; other flags are `EINVAL`.

use linux_raw_sys::general::{AT_EMPTY_PATH, AT_SYMLINK_NOFOLLOW};

use crate::Result;
use crate::call::Call;
use crate::files::{at, permissions};
use crate::strace::signature;

signature!(Directory, Path, Octal, Flags(&flags::AT));

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let flags = call.uint(3);
    at::check_flags(flags, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH)?;
    let target = at::target(call.process, call.int(0), at::path(call, 1, &mut at::Text::new())?, flags)?;
    permissions::set_mode(call.process, &target, call.uint(2))
}
