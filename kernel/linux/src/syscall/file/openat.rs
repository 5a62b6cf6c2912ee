// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `openat(2)`: opens a file relative to a directory, and may create it.
//!
//! Honoured: `O_RDONLY`, `O_WRONLY`, `O_RDWR`, `O_CREAT`, `O_EXCL`, `O_TRUNC`, `O_APPEND`, `O_NONBLOCK`, `O_DIRECTORY`,
//! `O_NOFOLLOW`, `O_CLOEXEC`, `O_PATH`, `O_SYNC`, `O_DSYNC`, `O_NOATIME` for files in memory; `O_NOCTTY`, `O_LARGEFILE`, `O_DIRECT`
//! change nothing. Unknown flags are ignored, as on Linux.
//!
//! Refused: `O_TMPFILE` (`EOPNOTSUPP`); `O_ASYNC` is ignored.

use crate::Result;
use crate::call::Call;
use crate::files::{at, opening};
use crate::strace::signature;

signature!(|words| match flags::makes_file(words[2]) {
    true => &[Directory, Path, Flags(&flags::OPEN), Octal],
    false => &[Directory, Path, Flags(&flags::OPEN)],
});

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let mut room = at::Text::new();
    let path = at::path(call, 1, &mut room)?;
    opening::open(call.process, call.int(0), path, call.uint(2), call.uint(3))
}
