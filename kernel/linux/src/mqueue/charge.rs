// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How many queues there may be, how large they may be, and how much memory they may promise all together
//! (`RLIMIT_MSGQUEUE`).

use hadal_hal::sync::SpinLock;
use linux_raw_sys::general::RLIMIT_MSGQUEUE;

use crate::process::Process;
use crate::{Errno, Result};

/// Queues that programs may have that are not the superuser's (`/proc/sys/fs/mqueue/queues_max`).
pub const QUEUES_MAX: usize = 256;
/// Messages of a queue of such a program (`msg_max`).
pub const MESSAGES_MAX: usize = 10;
/// Messages of a queue that was made without attributes (`msg_default`).
pub const MESSAGES_DEFAULT: usize = 10;
/// Bytes of a message of such a program (`msgsize_max`).
pub const MESSAGE_BYTES_MAX: usize = 8192;
/// Bytes of a message of a queue that was made without attributes (`msgsize_default`).
pub const MESSAGE_BYTES_DEFAULT: usize = 8192;
/// The same for the superuser (`HARD_MSGMAX`, `HARD_MSGSIZEMAX` of Linux).
const MESSAGES_HARD: usize = 65536;
const MESSAGE_BYTES_HARD: usize = 16 << 20;
/// What Linux counts for a message, and for each priority, beside the data.
const MESSAGE_OVERHEAD: usize = 48;
const PRIORITY_OVERHEAD: usize = 48;
/// Number of priorities (`MQ_PRIO_MAX`).
const PRIORITIES: usize = 32768;

/// Size of a queue: `mq_maxmsg` and `mq_msgsize`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// Messages that it may hold.
    pub(crate) messages: usize,
    /// Bytes of the longest message.
    pub(crate) message_bytes: usize,
}

impl Bounds {
    /// Of a queue that was made without attributes.
    pub(crate) const DEFAULT: Self =
        Self { messages: MESSAGES_DEFAULT, message_bytes: MESSAGE_BYTES_DEFAULT };

    /// What a program asks for; `EINVAL` for less than 1 and for more than it may have.
    pub(crate) fn new(messages: i64, message_bytes: i64, privileged: bool) -> Result<Self> {
        let (most, longest) = match privileged {
            true => (MESSAGES_HARD, MESSAGE_BYTES_HARD),
            false => (MESSAGES_MAX, MESSAGE_BYTES_MAX),
        };
        let within = |value: i64, most: usize| {
            usize::try_from(value).ok().filter(|value| (1..=most).contains(value)).ok_or(Errno::EINVAL)
        };
        Ok(Self { messages: within(messages, most)?, message_bytes: within(message_bytes, longest)? })
    }

    /// What a queue counts for, full or not, as on Linux.
    fn bytes(self) -> u64 {
        let overhead = self.messages * MESSAGE_OVERHEAD + self.messages.min(PRIORITIES) * PRIORITY_OVERHEAD;
        (self.messages * self.message_bytes + overhead) as u64
    }
}

struct Total {
    queues: usize,
    bytes: u64,
}

/// All queues, with those that have no name any more. Linux counts bytes for each user; there is one.
static TOTAL: SpinLock<Total> = SpinLock::new(Total { queues: 0, bytes: 0 });

/// A queue's share; given back when it is dropped.
pub(super) struct Charge(Bounds);

impl Charge {
    /// Counts a new queue: `ENOSPC` when there are too many, `EMFILE` when they would hold too much.
    pub(super) fn new(process: &Process, bounds: Bounds) -> Result<Self> {
        let limit = process.limits.lock()[RLIMIT_MSGQUEUE as usize].soft;
        let mut total = TOTAL.lock();
        if total.queues >= QUEUES_MAX && !process.credentials.is_privileged() {
            return Err(Errno::ENOSPC);
        }
        let bytes = total.bytes.saturating_add(bounds.bytes());
        if bytes > limit {
            return Err(Errno::EMFILE);
        }
        *total = Total { queues: total.queues + 1, bytes };
        Ok(Self(bounds))
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        let mut total = TOTAL.lock();
        total.queues -= 1;
        total.bytes -= self.0.bytes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_checked() {
        assert_eq!(Bounds::new(10, 8192, false), Ok(Bounds::DEFAULT));
        for (messages, bytes) in [(0, 1), (1, 0), (-1, 1), (11, 1), (1, 8193), (i64::MIN, i64::MAX)] {
            assert_eq!(Bounds::new(messages, bytes, false), Err(Errno::EINVAL));
        }
        assert_eq!(
            Bounds::new(65536, 16 << 20, true).map(Bounds::bytes),
            Ok((65536 << 24) + 65536 * 48 + 32768 * 48)
        );
        assert_eq!(Bounds::new(65537, 1, true), Err(Errno::EINVAL));
    }
}
