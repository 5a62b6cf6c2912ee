// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `madvise(2)`: says how memory will be used.
//!
//! Honoured: MADV_DONTNEED, MADV_DONTNEED_LOCKED, MADV_FREE (which free at once), MADV_HUGEPAGE, MADV_NOHUGEPAGE, MADV_POPULATE_READ,
//! MADV_POPULATE_WRITE, MADV_DONTFORK, MADV_DOFORK, MADV_WIPEONFORK, MADV_KEEPONFORK; accepted as hints without effect:
//! MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL, MADV_WILLNEED, MADV_COLD, MADV_PAGEOUT, MADV_DONTDUMP, MADV_DODUMP, MADV_MERGEABLE,
//! MADV_UNMERGEABLE.
//!
//! Refused: MADV_DONTNEED, MADV_FREE, MADV_COLD and MADV_PAGEOUT of locked memory, as on Linux (EINVAL); MADV_WIPEONFORK of what is not private
//! anonymous memory (EINVAL); MADV_REMOVE, MADV_HWPOISON and unknown advice (EINVAL).

use hadal_mem::space::Advice;
use linux_raw_sys::general::*;

use super::common::{page_aligned, pages};
use super::errno;
use crate::call::Call;
use crate::strace::signature;
use crate::{Errno, Result, filling};

signature!(Address, Size, Choice(flags::ADVICE));

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (address, len) = (page_aligned(call.arg(0))?, pages(call.arg(1)).map_err(|_| Errno::EINVAL)?);
    let advice = match call.uint(2) {
        MADV_DONTNEED => Advice::DontNeed,
        MADV_FREE => Advice::Free,
        MADV_HUGEPAGE => Advice::Huge,
        MADV_NOHUGEPAGE => Advice::NoHuge,
        MADV_POPULATE_READ | MADV_POPULATE_WRITE => {
            return filling::populate(call.process, address, len).map(|()| 0).map_err(|_| Errno::ENOMEM);
        }
        MADV_DONTNEED_LOCKED => Advice::DontNeedLocked,
        MADV_COLD | MADV_PAGEOUT => Advice::Unlocked,
        MADV_DONTFORK => Advice::DontFork,
        MADV_DOFORK => Advice::DoFork,
        MADV_WIPEONFORK => Advice::WipeOnFork,
        MADV_KEEPONFORK => Advice::KeepOnFork,
        MADV_NORMAL | MADV_RANDOM | MADV_SEQUENTIAL | MADV_WILLNEED | MADV_DONTDUMP | MADV_DODUMP
        | MADV_MERGEABLE | MADV_UNMERGEABLE => Advice::Other,
        _ => return Err(Errno::EINVAL),
    };
    if len > 0 {
        call.process.space().advise(address, len, advice).map_err(errno)?;
    }
    Ok(0)
}
