// SPDX-License-Identifier: Apache-2.0 OR MIT
//! [`Side`]: what others know of a socket, and reach while it is there.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicBool, Ordering};

use hadal_hal::memory::fallible;
use hadal_hal::sync::SpinLock;
use hadal_sync::{Mutex, WaitQueue};
use spin::Once;

use super::Kind;
use super::inbox::Inbox;
use super::leaving::Next;
use super::listening::Backlog;
use super::names::Name;
use super::options::Options;
use crate::Result;

/// How a socket with connections stands to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It has neither another end, nor does it listen.
    Fresh,
    /// It waits for connections.
    Listening,
    /// It has another end, or had one.
    Connected,
}

/// One socket: what it has received, and where its threads wait, for data and for room alike.
pub(super) struct Side {
    pub(super) kind: Kind,
    pub(super) inbox: Mutex<Inbox>,
    pub(super) queue: WaitQueue,
    pub(super) options: SpinLock<Options>,
    /// Messages come with the sender's ids (`SO_PASSCRED`).
    pub(super) passes_credentials: AtomicBool,
    /// Sending has ended.
    pub(super) sends_no_more: AtomicBool,
    pub(super) role: SpinLock<Role>,
    /// What `bind` has given it; a connection that was taken has that of the socket that listens.
    pub(super) name: Once<Arc<Name>>,
    /// Held while it gets a name.
    pub(super) naming: Mutex<()>,
    /// Connections that wait to be taken.
    pub(super) backlog: Mutex<Backlog>,
    /// Of datagrams: who gets those that are sent without an address, and alone may send some here.
    pub(super) target: SpinLock<Option<Arc<Side>>>,
    pub(super) next: Next,
}

impl Side {
    pub(super) fn new(kind: Kind, role: Role) -> Result<Arc<Self>> {
        Ok(fallible::arc(Self {
            kind,
            inbox: Mutex::new(Inbox::new()),
            queue: WaitQueue::new(),
            options: SpinLock::new(Options::new()),
            passes_credentials: AtomicBool::new(false),
            sends_no_more: AtomicBool::new(false),
            role: SpinLock::new(role),
            name: Once::new(),
            naming: Mutex::new(()),
            backlog: Mutex::new(Backlog::new()),
            target: SpinLock::new(None),
            next: Next::new(),
        })?)
    }

    pub(super) fn asks_for_ids(&self) -> bool {
        self.passes_credentials.load(Ordering::Relaxed)
    }

    pub(super) fn sends_no_more(&self) -> bool {
        self.sends_no_more.load(Ordering::Acquire)
    }

    /// Sending ends: who waits for room has to be woken.
    pub(super) fn stop_sending(&self) {
        self.sends_no_more.store(true, Ordering::Release);
    }

    pub(super) fn target(&self) -> Option<Arc<Self>> {
        self.target.lock().clone()
    }

    /// Whether datagrams that this sends go to `other` by default.
    pub(super) fn is_aimed_at(&self, other: &Arc<Self>) -> bool {
        self.target.lock().as_ref().is_some_and(|target| Arc::ptr_eq(target, other))
    }

    /// Whether `sender` may send datagrams here.
    pub(super) fn hears(&self, sender: &Arc<Self>) -> bool {
        self.target.lock().as_ref().is_none_or(|target| Arc::ptr_eq(target, sender))
    }
}
