// SPDX-License-Identifier: Apache-2.0 OR MIT
//! epoll: a list of files that a program is interested in, and of those the ones that may be ready.
//!
//! Nothing is searched and nothing is asked in a loop. An [`Entry`] listens at the wait queues of its file; when the file
//! announces a change that is of interest, the entry goes to the end of the instance's [`ReadyList`], and one waiting thread is
//! woken. Whoever waits takes entries off the list, asks only their files, and puts an entry that is level-triggered back at
//! the end. An instance is a file itself, with a wait queue, so instances nest (`nesting`).
//!
//! [`Core`] is what entries hold on to; [`Epoll`] is the file, and its end empties the core.

mod entry;
mod nesting;
mod ready;

use alloc::string::String;
use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;
use core::any::Any;
use core::fmt::Write;

use hadal_hal::memory::fallible::{self, MakeRoom};
use hadal_hal::sync::SpinLock;
use hadal_sync::{Mutex, WaitQueue, park_as};
use hadal_vfs::{File, OpenFile, PollEvents, Positions, SeekFrom};
use linux_raw_sys::general::{EPOLLERR, EPOLLEXCLUSIVE, EPOLLHUP};

use crate::call::Call;
use crate::{Errno, Result, clock, signal};
pub(crate) use entry::Interest;
pub use entry::max_entries;

use entry::Entry;
use ready::ReadyList;

/// Events that are reported without being asked for.
const ALWAYS: u32 = EPOLLERR | EPOLLHUP;

/// The lists of one instance.
struct Core {
    ready: SpinLock<ReadyList>,
    /// Threads in `epoll_wait`; whoever watches the instance listens here.
    queue: WaitQueue,
    /// All entries, by descriptor and file.
    entries: Mutex<Vec<Arc<Entry>>>,
    /// Instances that watch this one.
    outer: SpinLock<Vec<Weak<Core>>>,
}

/// An epoll instance.
pub(crate) struct Epoll {
    core: Arc<Core>,
}

impl Core {
    /// Whether an entry may be ready.
    fn has_ready(&self) -> bool {
        self.ready.lock().len() > 0
    }

    /// Whether an entry is ready. Those at the head that are not leave the list.
    fn is_ready(&self) -> bool {
        let limit = self.ready.lock().len();
        for _ in 0..limit {
            let Some(entry) = self.ready.lock().first() else { return false };
            if entry.ready_events() != 0 {
                return true;
            }
            entry.unqueue();
            // A change before it left found it on the list.
            if entry.ready_events() != 0 {
                entry.queue_again();
                return true;
            }
        }
        false
    }

    /// Takes an entry whose file is gone off the list of entries.
    fn forget(&self, entry: &Arc<Entry>) {
        let mut entries = self.entries.lock();
        let found = position(&entries, entry.fd, entry.file.as_ptr());
        let removed = found.ok().map(|index| entries.remove(index));
        drop(entries);
        drop(removed);
    }
}

impl Epoll {
    /// An instance without entries.
    pub(crate) fn new() -> Self {
        Self {
            core: Arc::new(Core {
                ready: SpinLock::new(ReadyList::new()),
                queue: WaitQueue::new(),
                entries: Mutex::new(Vec::new()),
                outer: SpinLock::new(Vec::new()),
            }),
        }
    }

    /// The instance that a file is; `EINVAL` if it is none.
    pub(crate) fn of(file: &OpenFile) -> Result<&Self> {
        file.file()?.as_any().and_then(|any| any.downcast_ref()).ok_or(Errno::EINVAL)
    }

    /// `EPOLL_CTL_ADD`.
    pub(crate) fn add(&self, file: &Arc<OpenFile>, fd: i32, interest: Interest) -> Result<()> {
        let inner = Self::of(file).ok();
        // While instances are connected, nobody else connects any.
        let connecting = inner.map(|_| nesting::lock());
        let inner = inner.map(|inner| &inner.core);
        if let Some(inner) = inner {
            nesting::check(&self.core, inner)?;
        }
        let mut entries = self.core.entries.lock();
        let Err(at) = position(&entries, fd, Arc::as_ptr(file)) else { return Err(Errno::EEXIST) };
        entries.make_room(1).map_err(|_| Errno::ENOMEM)?;
        if let Some(inner) = inner {
            inner.join(&self.core)?;
        }
        let interest = Interest { events: interest.events | ALWAYS, ..interest };
        let entry =
            Entry::new(&self.core, fd, file, inner.map(Arc::downgrade), interest).inspect_err(|_| {
                if let Some(inner) = inner {
                    inner.leave(&self.core);
                }
            })?;
        if let Err(error) = entry.attach(file) {
            entry.detach();
            return Err(error);
        }
        entries.insert(at, entry.clone());
        drop(entries);
        drop(connecting);
        if entry.ready_events() != 0 {
            entry.announce();
        }
        Ok(())
    }

    /// `EPOLL_CTL_MOD`.
    pub(crate) fn modify(&self, file: &Arc<OpenFile>, fd: i32, interest: Interest) -> Result<()> {
        let entry = {
            let entries = self.core.entries.lock();
            let index = position(&entries, fd, Arc::as_ptr(file)).map_err(|_| Errno::ENOENT)?;
            entries[index].clone()
        };
        {
            let mut current = entry.interest.lock();
            if current.events & EPOLLEXCLUSIVE != 0 {
                return Err(Errno::EINVAL);
            }
            *current = Interest { events: interest.events | ALWAYS, ..interest };
        }
        if entry.ready_events() != 0 {
            entry.announce();
        }
        Ok(())
    }

    /// `EPOLL_CTL_DEL`.
    pub(crate) fn delete(&self, file: &Arc<OpenFile>, fd: i32) -> Result<()> {
        let entry = {
            let mut entries = self.core.entries.lock();
            let index = position(&entries, fd, Arc::as_ptr(file)).map_err(|_| Errno::ENOENT)?;
            entries.remove(index)
        };
        entry.detach();
        Ok(())
    }

    /// Waits for events and stores at most `most` of them by `store`, which gets their index; returns how many. 0 when the
    /// deadline has passed, `EINTR` when a signal is pending.
    pub(crate) fn wait(
        &self,
        call: &Call<'_>,
        most: usize,
        deadline_ns: Option<u64>,
        mut store: impl FnMut(usize, Interest) -> Result<()>,
    ) -> Result<usize> {
        let (core, thread) = (&*self.core, call.task.thread());
        loop {
            if core.has_ready() {
                let count = core.report(most, &mut store)?;
                if count > 0 {
                    return Ok(count);
                }
            }
            if deadline_ns.is_some_and(|deadline| hadal_time::now_ns() >= deadline) {
                return Ok(0);
            }
            if thread.interrupted() && signal::interrupted(call.task, call.process) {
                // A wake-up that was meant for this thread goes to the next one.
                if core.has_ready() {
                    core.queue.wake_one();
                }
                return Err(Errno::EINTR);
            }
            let is_registered = core.queue.add(thread);
            if !core.has_ready() {
                park_as(is_registered, deadline_ns.and_then(clock::deadline));
            }
            core.queue.remove(thread);
        }
    }
}

impl Core {
    fn report(&self, most: usize, store: &mut impl FnMut(usize, Interest) -> Result<()>) -> Result<usize> {
        let mut count = 0;
        let mut outcome = Ok(());
        // Each entry once: those that are put back come behind this many.
        let limit = self.ready.lock().len();
        for _ in 0..limit {
            if count == most {
                break;
            }
            let Some(entry) = self.ready.lock().pop() else { break };
            let events = entry.ready_events();
            let Some(claimed) = entry.claim(events) else { continue };
            let event = Interest { events: events & claimed.events, data: claimed.data };
            if let Err(error) = store(count, event) {
                entry.unclaim(claimed);
                outcome = Err(error);
                break;
            }
            count += 1;
            if Entry::stays(claimed) {
                entry.queue_again();
            }
        }
        if self.has_ready() {
            self.queue.wake_one();
        }
        if count == 0 { outcome.map(|()| 0) } else { Ok(count) }
    }
}

/// More than a line about an entry takes.
const LINE_BYTES: usize = 256;

/// Where the entry for a descriptor and file is, or belongs.
fn position(entries: &[Arc<Entry>], fd: i32, file: *const OpenFile) -> core::result::Result<usize, usize> {
    let key = (fd, file);
    entries.binary_search_by(|entry| (entry.fd, entry.file.as_ptr()).cmp(&key))
}

impl File for Epoll {
    fn poll(&self) -> PollEvents {
        if self.core.is_ready() { PollEvents::READABLE } else { PollEvents::empty() }
    }

    fn wait_queues(&self) -> [Option<&WaitQueue>; 2] {
        [Some(&self.core.queue), None]
    }

    fn positions(&self) -> Positions {
        Positions::NoneAndSeekIgnored
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }

    fn describe(&self, lines: &mut String) -> Result<()> {
        // A file that goes while it is looked at takes the lock: none is held then.
        let entries = fallible::copied(&self.core.entries.lock())?;
        for entry in &entries {
            let Some(file) = entry.file.upgrade() else { continue };
            let (fd, Interest { events, data }) = (entry.fd, *entry.interest.lock());
            let position = file.seek(SeekFrom::Current(0)).unwrap_or(0);
            let id = file.inode().identity();
            lines.make_room(LINE_BYTES)?;
            // Writing to a string cannot fail.
            let _ = writeln!(
                lines,
                "tfd: {fd:8} events: {events:8x} data: {data:16x}  pos:{position} ino:{:x} sdev:{:x}",
                id.ino, id.dev
            );
        }
        Ok(())
    }
}

impl Drop for Epoll {
    fn drop(&mut self) {
        let entries = core::mem::take(&mut *self.core.entries.lock());
        entries.iter().for_each(Entry::detach);
    }
}
