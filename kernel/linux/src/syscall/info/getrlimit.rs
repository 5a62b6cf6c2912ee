// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `getrlimit(2)`: reads a resource limit.
//!
//! Honoured: all sixteen resources, see `prlimit64`.
//!
//! Refused: unknown resources (`EINVAL`).

use super::limits;
use crate::call::Call;
use crate::strace::signature;
use crate::{Result, memory};

signature!(Choice(flags::LIMIT), Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    memory::write(call.arg(1), &limits::get(call.process, call.uint(0))?)?;
    Ok(0)
}
