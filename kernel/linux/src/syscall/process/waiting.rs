// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the calls share that wait for children.

use hadal_sync::WaitError;
use linux_raw_sys::general::{
    __WALL, __WCLONE, __WNOTHREAD, WCONTINUED, WEXITED, WNOHANG, WNOWAIT, WUNTRACED,
};

use crate::call::Call;
use crate::family::{self, Change, Manner, Whom};
use crate::{Errno, Result};

/// Options that both calls take.
pub(super) const OPTIONS: u32 = WNOHANG | WUNTRACED | WCONTINUED | __WALL | __WCLONE | __WNOTHREAD;

/// Waits for a child; `None` if nothing has become of any yet and the caller only looks.
pub(super) fn wait(call: &Call<'_>, whom: Whom, options: u32) -> Result<Option<Change>> {
    let all = options & __WALL != 0;
    let manner = Manner {
        for_end: options & WEXITED != 0,
        for_stop: options & WUNTRACED != 0,
        for_continuing: options & WCONTINUED != 0,
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
