// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `epoll_create1(2)`: makes an epoll instance.
//!
//! Honoured: `EPOLL_CLOEXEC`.
//!
//! Refused: nothing; other flags are `EINVAL`.

use alloc::sync::Arc;

use hadal_hal::memory::fallible;
use hadal_vfs::OpenFlags;
use linux_raw_sys::general::EPOLL_CLOEXEC;

use crate::Result;
use crate::call::Call;
use crate::epoll::Epoll;
use crate::files::anonymous::{self, Label};
use crate::files::at;
use crate::strace::signature;

signature!(Flags(&flags::PIPE));

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let flags = call.uint(0);
    at::check_flags(flags, EPOLL_CLOEXEC)?;
    make(call, flags & EPOLL_CLOEXEC != 0)
}

/// Makes an instance.
pub(super) fn make(call: &Call<'_>, close_on_exec: bool) -> Result<usize> {
    let label = Label::Fixed("anon_inode:[eventpoll]");
    // The instance and what it consists of.
    fallible::admit(2 * fallible::SMALL_BYTES)?;
    let instance = Arc::new(Epoll::new());
    let file = anonymous::open(&call.process.caller(), instance, 0o600, label, OpenFlags::READ_WRITE)?;
    call.process.files().insert(file, close_on_exec).map(|fd| fd as usize)
}
