// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `unlinkat(2)`: removes a name relative to a directory.
//!
//! Honoured: `AT_REMOVEDIR`.
//!
//! Refused: nothing; other flags are `EINVAL`.

use linux_raw_sys::general::AT_REMOVEDIR;

use super::at;
use crate::Result;
use crate::call::Call;
use crate::strace::signature;

signature!(Directory, Path, Flags(&flags::AT));

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let flags = call.uint(2);
    at::check_flags(flags, AT_REMOVEDIR)?;
    let (process, path) = (call.process, at::path(call, 1)?);
    let start = at::start(process, call.int(0), &path)?;
    if flags & AT_REMOVEDIR == 0 {
        process.namespace.unlink(&process.caller(), &start, &path)?;
    } else {
        process.namespace.rmdir(&process.caller(), &start, &path)?;
    }
    Ok(0)
}
