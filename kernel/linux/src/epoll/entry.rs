// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One file in the interest list of an epoll instance.

use alloc::sync::{Arc, Weak};
use core::sync::atomic::{AtomicUsize, Ordering};

use hadal_hal::memory::fallible;
use hadal_hal::sync::SpinLock;
use hadal_mem::frames;
use hadal_sync::{Listener, WakeMode};
use hadal_vfs::{OpenFile, PollEvents, Watcher};
use linux_raw_sys::general::{EPOLLET, EPOLLEXCLUSIVE, EPOLLIN, EPOLLONESHOT, EPOLLOUT, EPOLLWAKEUP};

use super::Core;
use crate::process::Process;
use crate::signalfd::SignalFile;
use crate::task::Task;
use crate::{Errno, Result};

/// The input flags of epoll_ctl(2), which say how events are reported. The other bits are events.
const INPUT_FLAGS: u32 = EPOLLET | EPOLLONESHOT | EPOLLEXCLUSIVE | EPOLLWAKEUP;

/// What the program wants to hear about a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Interest {
    /// Events and wake modes.
    pub(crate) events: u32,
    /// What is given back with an event.
    pub(crate) data: u64,
}

impl Interest {
    /// Nothing is reported: a one-shot entry has had its event.
    fn is_disarmed(self) -> bool {
        self.events & !INPUT_FLAGS == 0
    }
}

/// A file that an instance watches under the number of one of its descriptors.
pub(super) struct Entry {
    core: Arc<Core>,
    pub(super) fd: i32,
    pub(super) file: Weak<OpenFile>,
    /// The instance that the file is, if it is one.
    pub(super) inner: Option<Weak<Core>>,
    slot: u32,
    /// Who has added it: a [`SignalFile`] has a queue for each process.
    adder: &'static Process,
    pub(super) interest: SpinLock<Interest>,
}

/// Entries of all instances.
static ENTRIES: AtomicUsize = AtomicUsize::new(0);
/// Bytes of kernel memory that an entry is counted as.
const ENTRY_BYTES: u64 = 256;
/// Most entries of all instances: for a 25th of the memory, as on Linux.
pub fn max_entries() -> usize {
    (frames::global().stats().total_bytes / 25 / ENTRY_BYTES) as usize
}

impl Entry {
    pub(super) fn new(
        core: &Arc<Core>,
        fd: i32,
        file: &Arc<OpenFile>,
        inner: Option<Weak<Core>>,
        interest: Interest,
    ) -> Result<Arc<Self>> {
        fallible::admit(fallible::SMALL_BYTES)?;
        if ENTRIES.fetch_add(1, Ordering::Relaxed) >= max_entries() {
            ENTRIES.fetch_sub(1, Ordering::Relaxed);
            return Err(Errno::ENOSPC);
        }
        let slot = core.ready.lock().reserve().inspect_err(|_| {
            ENTRIES.fetch_sub(1, Ordering::Relaxed);
        })?;
        let entry = Arc::new(Self {
            core: core.clone(),
            fd,
            file: Arc::downgrade(file),
            inner,
            slot,
            adder: Task::current().process(),
            interest: SpinLock::new(interest),
        });
        core.ready.lock().place(slot, entry.clone());
        Ok(entry)
    }

    /// Starts to hear of the file.
    pub(super) fn attach(self: &Arc<Self>, file: &OpenFile) -> Result<()> {
        let mode = match self.interest.lock().events & EPOLLEXCLUSIVE {
            0 => WakeMode::Always,
            _ => WakeMode::Exclusive,
        };
        file.watch(self.clone())?;
        for queue in file.file()?.wait_queues().into_iter().flatten() {
            queue.listen(self.clone(), mode).map_err(|_| Errno::ENOMEM)?;
        }
        Ok(())
    }

    /// Ends the entry's life, except for what still holds it.
    pub(super) fn detach(self: &Arc<Self>) {
        if let Some(file) = self.file.upgrade() {
            self.ignore(&file);
            let watcher: Arc<dyn Watcher> = self.clone();
            file.unwatch(&watcher);
        }
        let removed = self.core.ready.lock().remove(self.slot, self);
        drop(removed);
    }

    fn ignore(self: &Arc<Self>, file: &OpenFile) {
        let listener: Arc<dyn Listener> = self.clone();
        let queues = match SignalFile::of(file) {
            Ok(_) => [Some(self.adder.signals.arrival()), None],
            Err(_) => file.file().map_or([None, None], |file| file.wait_queues()),
        };
        queues.into_iter().flatten().for_each(|queue| queue.ignore(&listener));
    }

    /// What the file is ready for, of what is wanted.
    pub(super) fn ready_events(&self) -> u32 {
        let Some(file) = self.file.upgrade() else { return 0 };
        let found = file.file().map_or(PollEvents::empty(), |file| file.poll());
        let interest = *self.interest.lock();
        if interest.is_disarmed() { 0 } else { u32::from(found.bits()) & interest.events }
    }

    /// Takes the right to report events: of a one-shot entry only one thread gets it. Returns the interest as it was.
    pub(super) fn claim(&self, events: u32) -> Option<Interest> {
        let mut interest = self.interest.lock();
        let claimed = *interest;
        if claimed.is_disarmed() || events & claimed.events == 0 {
            return None;
        }
        if claimed.events & EPOLLONESHOT != 0 {
            interest.events &= INPUT_FLAGS;
        }
        Some(claimed)
    }

    /// Gives the right back, since the event could not be stored; it is reported again first.
    pub(super) fn unclaim(&self, claimed: Interest) {
        *self.interest.lock() = claimed;
        self.core.ready.lock().push_front(self.slot, self);
    }

    /// Whether it is reported again and again while the file is ready.
    pub(super) fn stays(interest: Interest) -> bool {
        interest.events & (EPOLLET | EPOLLONESHOT) == 0
    }

    /// Puts it back on the list.
    pub(super) fn queue_again(&self) {
        self.core.ready.lock().push(self.slot, self);
    }

    /// Takes it off the list.
    pub(super) fn unqueue(&self) {
        self.core.ready.lock().take(self.slot, self);
    }

    /// Announces that the file may be ready; returns whether a thread was waiting for that.
    pub(super) fn announce(&self) -> bool {
        self.core.ready.lock().push(self.slot, self);
        self.core.queue.wake_one_for(hadal_sync::ANYTHING)
    }
}

impl Listener for Entry {
    fn notify(&self, changes: u32) -> bool {
        let interest = *self.interest.lock();
        if interest.is_disarmed() || changes & interest.events == 0 {
            return false;
        }
        let woken = self.announce();
        if interest.events & EPOLLEXCLUSIVE == 0 {
            return true;
        }
        // As on Linux: an end of a file concerns everybody.
        const BOTH: u32 = EPOLLIN | EPOLLOUT;
        woken && (changes == hadal_sync::ANYTHING || changes & BOTH != BOTH)
    }
}

impl Watcher for Entry {
    fn closed(self: Arc<Self>, file: &OpenFile) {
        self.ignore(file);
        self.core.forget(&self);
        let removed = self.core.ready.lock().remove(self.slot, &self);
        drop(removed);
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        ENTRIES.fetch_sub(1, Ordering::Relaxed);
        if let Some(inner) = self.inner.as_ref().and_then(Weak::upgrade) {
            inner.leave(&self.core);
        }
    }
}
