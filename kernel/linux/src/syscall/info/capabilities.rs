// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What `capget` and `capset` have in common: the header that names a thread and the version of the interface.

use linux_raw_sys::general::{
    _LINUX_CAPABILITY_VERSION_1, _LINUX_CAPABILITY_VERSION_2, _LINUX_CAPABILITY_VERSION_3,
};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::call::Call;
use crate::{Errno, Result, memory};

/// Effective, permitted, inheritable.
const WORDS_OF_A_SET: usize = 3;

/// `struct __user_cap_header_struct`.
#[repr(C)]
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub(super) struct Header {
    version: u32,
    pid: u32,
}

/// Checks a header; returns how many words the sets have. An unknown version is replaced by the newest.
pub(super) fn words_of(call: &Call<'_>, header: &Header) -> Result<usize> {
    let sets = match header.version {
        _LINUX_CAPABILITY_VERSION_1 => 1,
        _LINUX_CAPABILITY_VERSION_2 | _LINUX_CAPABILITY_VERSION_3 => 2,
        _ => {
            memory::write(call.arg(0), &_LINUX_CAPABILITY_VERSION_3)?;
            return Err(Errno::EINVAL);
        }
    };
    let own = header.pid == 0 || call.process.has_thread(header.pid);
    if own { Ok(WORDS_OF_A_SET * sets) } else { Err(Errno::ESRCH) }
}
