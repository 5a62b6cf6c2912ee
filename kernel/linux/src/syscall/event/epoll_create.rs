// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `epoll_create(2)`: makes an epoll instance.
//!
//! Honoured: all of it; the size has no meaning, as on Linux.
//!
//! Refused: a size that is not positive (`EINVAL`).

use super::epoll_create1;
use crate::call::Call;
use crate::strace::signature;
use crate::{Errno, Result};

signature!(Int);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    if call.int(0) <= 0 {
        return Err(Errno::EINVAL);
    }
    epoll_create1::make(call, false)
}
