// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Files that nobody will receive: what an end that is gone has not read is dropped here.
//!
//! Such a file may be the last of another socket, which has files of its own, and so on: a program chooses how long the chain
//! is, and the kernel's stack is short. So ends that are gone wait in a list, linked through themselves, and whoever has found
//! nobody at work empties them one after the other. While one thread does so, what others leave is its work, too.

use alloc::sync::Arc;

use hadal_hal::sync::{Rank, SpinLock};

use super::Side;

/// One end of a connection.
pub(super) struct End {
    pub(super) sides: Arc<[Side; 2]>,
    pub(super) own: usize,
}

/// What an end has for the list: the end behind it there.
pub(super) struct Next(SpinLock<Option<End>>);

impl Next {
    pub(super) const fn new() -> Self {
        Self(SpinLock::new(None))
    }
}

impl End {
    fn side(&self) -> &Side {
        &self.sides[self.own]
    }
}

struct Leaving {
    /// The newest.
    first: Option<End>,
    /// Somebody empties the list.
    is_emptied: bool,
}

static LEAVING: SpinLock<Leaving> = SpinLock::ranked(Rank::Files, Leaving { first: None, is_emptied: false });

/// Drops what a closed end has not read.
pub(super) fn empty(end: End) {
    let add = |end: End| {
        let mut leaving = LEAVING.lock();
        *end.side().next.0.lock() = leaving.first.take();
        leaving.first = Some(end);
        core::mem::replace(&mut leaving.is_emptied, true)
    };
    let take = || {
        let mut leaving = LEAVING.lock();
        match leaving.first.take() {
            Some(end) => {
                leaving.first = end.side().next.0.lock().take();
                Some(end)
            }
            None => {
                leaving.is_emptied = false;
                None
            }
        }
    };
    if add(end) {
        return;
    }
    while let Some(end) = take() {
        let unread = end.side().inbox.lock().clear();
        // Sockets among the files come to the list.
        drop(unread);
    }
}
