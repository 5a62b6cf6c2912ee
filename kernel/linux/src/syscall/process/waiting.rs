// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the calls share that wait for children.

use hadal_sync::WaitError;
use linux_raw_sys::general::{__WALL, __WCLONE, __WNOTHREAD, WCONTINUED, WNOHANG, WNOWAIT, WUNTRACED};

use crate::call::Call;
use crate::family::{self, Ended, Manner, Whom};
use crate::{Errno, Result};

/// Options that both calls take. Children do not stop, so those about stopped ones change nothing.
pub(super) const OPTIONS: u32 = WNOHANG | WUNTRACED | WCONTINUED | __WALL | __WCLONE | __WNOTHREAD;

/// Waits for a child; `None` if none has ended yet and the caller only looks.
pub(super) fn wait(call: &Call<'_>, whom: Whom, options: u32) -> Result<Option<Ended>> {
    let all = options & __WALL != 0;
    let manner = Manner {
        looks_only: options & WNOHANG != 0,
        leaves: options & WNOWAIT != 0,
        clones: all || options & __WCLONE != 0,
        ordinary: all || options & __WCLONE == 0,
    };
    family::wait(call.process, whom, manner).map_err(|error| match error {
        WaitError::TimedOut => Errno::ECHILD,
        WaitError::Interrupted => Errno::EINTR,
    })
}
