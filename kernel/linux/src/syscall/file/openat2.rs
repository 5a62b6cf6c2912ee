// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `openat2(2)`: `openat` with an extensible argument that refuses what it does not know.
//!
//! Honoured: the flags of `openat`; unknown flags, and a mode without `O_CREAT`, are `EINVAL`; a longer structure must end
//! in zeros (`E2BIG`); `RESOLVE_CACHED` is always `EAGAIN`.
//!
//! Refused: all other restrictions of the path walk (`RESOLVE_*`: `EINVAL`).

use hadal_vfs::OpenFlags;
use linux_raw_sys::general::RESOLVE_CACHED;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::call::Call;
use crate::files::{at, opening};
use crate::strace::signature;
use crate::{Errno, Result, memory};

/// `struct open_how`.
#[repr(C)]
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
struct OpenHow {
    flags: u64,
    mode: u64,
    resolve: u64,
}

/// Longest structure that a program may pass.
const MAX_SIZE: usize = 4096;

signature!(Directory, Path, Address, Size);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (address, size) = (call.arg(2), call.arg(3));
    if size < size_of::<OpenHow>() {
        return Err(Errno::EINVAL);
    }
    if size > MAX_SIZE {
        return Err(Errno::E2BIG);
    }
    let mut extension = memory::buffer(size - size_of::<OpenHow>())?;
    memory::read_bytes(address.wrapping_add(size_of::<OpenHow>()), &mut extension)?;
    if extension.iter().any(|&byte| byte != 0) {
        return Err(Errno::E2BIG);
    }
    let how: OpenHow = memory::read(address)?;
    let flags = u32::try_from(how.flags).ok().and_then(OpenFlags::from_bits).ok_or(Errno::EINVAL)?;
    let creates = flags.intersects(OpenFlags::CREATE | OpenFlags::TEMPORARY);
    if how.mode & !0o7777 != 0 || how.mode != 0 && !creates {
        return Err(Errno::EINVAL);
    }
    let mut room = at::Text::new();
    let path = at::path(call, 1, &mut room)?;
    match how.resolve {
        0 => opening::open(call.process, call.int(0), path, flags.bits(), how.mode as u32),
        resolve if resolve == u64::from(RESOLVE_CACHED) => Err(Errno::EAGAIN),
        _ => Err(Errno::EINVAL),
    }
}
