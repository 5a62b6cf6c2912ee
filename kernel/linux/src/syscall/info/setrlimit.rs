// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `setrlimit(2)`: changes a resource limit.
//!
//! Honoured: all sixteen resources, see `prlimit64`.
//!
//! Refused: unknown resources and a soft limit above the hard one (`EINVAL`), raising a hard limit (`EPERM`).

use super::limits;
use crate::call::Call;
use crate::strace::signature;
use crate::{Result, memory};

signature!(Choice(flags::LIMIT), Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let privileged = call.process.credentials.is_privileged();
    limits::set(call.process, call.uint(0), memory::read(call.arg(1))?, privileged)?;
    Ok(0)
}
