// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `accept(2)`: takes a connection.
//!
//! Honoured: as `accept4`.
//!
//! Refused: as `accept4`.

use hadal_vfs::OpenFlags;

use super::accept4;
use crate::Result;
use crate::call::Call;
use crate::strace::signature;

signature!(Int, Address, Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    accept4::accept(call, OpenFlags::empty())
}
