// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Addresses of sockets. Those that there are have none: `AF_UNIX` and nothing behind it.

use alloc::sync::Arc;

use hadal_vfs::OpenFile;

use crate::call::Call;
use crate::{Errno, Result, memory};

/// `AF_UNIX`.
pub(super) const UNIX: u16 = 1;

/// The file behind a descriptor argument.
pub(super) fn file(call: &Call<'_>, index: usize) -> Result<Arc<OpenFile>> {
    call.process.files.get(call.int(index))
}

/// Stores the empty address, cut off at the length that is found at `len_address`, and its length there.
pub(super) fn write(address: usize, len_address: usize) -> Result<()> {
    let room: i32 = memory::read(len_address)?;
    let room = usize::try_from(room).map_err(|_| Errno::EINVAL)?;
    let bytes = UNIX.to_ne_bytes();
    memory::write_bytes(address, &bytes[..room.min(bytes.len())])?;
    memory::write(len_address, &(bytes.len() as i32))
}
