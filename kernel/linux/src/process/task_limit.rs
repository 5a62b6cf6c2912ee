// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How many threads the processes of a user may have (`RLIMIT_NPROC`). Nobody counts them but who has such a limit.

use core::sync::atomic::Ordering;

use hadal_sync::{Mutex, MutexGuard};

use super::Process;
use crate::{Errno, Result, family};

/// Held by who has a limit from counting to having made a thread: two at once do not make one too many.
static COUNTING: Mutex<()> = Mutex::new(());

impl Process {
    /// Before a thread is made, or a process: `EAGAIN` if the user has as many as may be. What is returned is to be kept until the new
    /// one can be counted.
    #[inline(always)]
    pub(crate) fn may_make_task(&self) -> Result<Option<MutexGuard<'static, ()>>> {
        match self.task_limit.load(Ordering::Relaxed) {
            u64::MAX => Ok(None),
            limit => self.count_tasks(limit),
        }
    }

    #[cold]
    fn count_tasks(&self, limit: u64) -> Result<Option<MutexGuard<'static, ()>>> {
        if self.credentials.is_privileged() {
            return Ok(None);
        }
        let turn = COUNTING.lock();
        let user = self.credentials.user().real;
        let own = family::all().filter(|process| process.credentials.user().real == user);
        // One that has ended counts until it was waited for.
        let count: u64 = own.map(|process| process.thread_count().max(1) as u64).sum();
        if count < limit { Ok(Some(turn)) } else { Err(Errno::EAGAIN) }
    }
}
