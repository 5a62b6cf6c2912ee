// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Files that nobody will receive: what a socket that is gone has not read is dropped here.
//!
//! Such a file may be the last of another socket, which has files of its own, and so on: a program chooses how long the chain
//! is, and the kernel's stack is short. So sockets that are gone wait in a list, linked through themselves, and whoever has found
//! nobody at work empties them one after the other. While one thread does so, what others leave is its work, too.

use alloc::sync::Arc;

use hadal_hal::sync::{Rank, SpinLock};

use super::side::Side;

/// What a socket has for the list: the one behind it there.
pub(super) struct Next(SpinLock<Option<Arc<Side>>>);

impl Next {
    pub(super) const fn new() -> Self {
        Self(SpinLock::new(None))
    }
}

struct Leaving {
    /// The newest.
    first: Option<Arc<Side>>,
    /// Somebody empties the list.
    is_emptied: bool,
}

static LEAVING: SpinLock<Leaving> = SpinLock::ranked(Rank::Files, Leaving { first: None, is_emptied: false });

/// Drops what a closed socket has not read.
pub(super) fn empty(side: Arc<Side>) {
    let add = |side: Arc<Side>| {
        let mut leaving = LEAVING.lock();
        *side.next.0.lock() = leaving.first.take();
        leaving.first = Some(side);
        core::mem::replace(&mut leaving.is_emptied, true)
    };
    let take = || {
        let mut leaving = LEAVING.lock();
        match leaving.first.take() {
            Some(side) => {
                leaving.first = side.next.0.lock().take();
                Some(side)
            }
            None => {
                leaving.is_emptied = false;
                None
            }
        }
    };
    if add(side) {
        return;
    }
    while let Some(side) = take() {
        let unread = side.inbox.lock().clear();
        // Sockets among the files come to the list.
        drop(unread);
    }
}
