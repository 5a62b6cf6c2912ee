// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A queue of messages with types, and the threads that wait at it.
//!
//! A message goes straight to a thread that waits for one of its type, and a thread that waits for room leaves its message to
//! whoever makes room. Each is served in the order in which it has come.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use core::sync::atomic::{AtomicU32, Ordering};

use hadal_hal::memory::fallible;
use hadal_hal::sync::{Rank, SpinLock, SpinLockGuard};
use hadal_sched::{Thread, Wake, current, park};
use hadal_vfs::Caller;

use super::content::{Content, Message, Wanted};
use super::ids::{Place, Table};
use super::now;
use super::permissions::{CHANGE, Permissions, READ};
use super::serving::{Woken, serve};
use crate::process::Process;
use crate::{Errno, Result};

/// Queues that there may be (`MSGMNI`).
pub const COUNT_MAX: usize = 32000;
/// Bytes of a message (`MSGMAX`).
pub const MESSAGE_MAX: usize = 8192;
/// Bytes of a queue's messages, unless the superuser allows more (`MSGMNB`).
pub const BYTES_MAX: usize = 16384;

static QUEUES: Table<Queue> = Table::new(COUNT_MAX);

pub(crate) fn table() -> &'static Table<Queue> {
    &QUEUES
}

/// Finds the queue with a key, or makes one; returns its id.
pub(crate) fn get(process: &Process, key: i32, flags: i32) -> Result<i32> {
    let caller = process.caller();
    let check = |queue: &Queue| queue.state.lock().about.permissions.check(&caller, flags as u32);
    let make = || {
        let permissions = Permissions::new(key, &caller, flags);
        Ok(move |place: Place| Queue::new(place, permissions))
    };
    QUEUES.find_or_make(key, flags, check, make)
}

/// A queue.
pub(crate) struct Queue {
    id: i32,
    state: SpinLock<State>,
}

/// What is said about a queue.
#[derive(Clone, Copy)]
pub(crate) struct About {
    pub(crate) permissions: Permissions,
    pub(crate) sent: i64,
    pub(crate) received: i64,
    pub(crate) changed: i64,
    pub(crate) bytes: usize,
    pub(crate) count: usize,
    /// What its messages may take.
    pub(crate) bytes_max: usize,
    pub(crate) sender: u32,
    pub(crate) receiver: u32,
}

struct State {
    about: About,
    content: Content,
    senders: BTreeMap<u64, Arc<Waiter>>,
    receivers: BTreeMap<u64, Arc<Waiter>>,
    arrived: u64,
    /// It is in the table no more.
    is_gone: bool,
}

/// A thread that waits.
struct Waiter {
    thread: &'static Thread,
    pid: u32,
    /// What a receiver waits for.
    wanted: Wanted,
    /// What a sender sends, or a receiver gets.
    message: SpinLock<Option<Message>>,
    /// What has become of it, once it does not wait any more: an error, or 0.
    outcome: AtomicU32,
}

impl Waiter {
    fn result(&self) -> Result<Option<Message>> {
        match self.outcome.load(Ordering::Relaxed) {
            0 => Ok(self.message.lock().take()),
            number => Err(Errno::from_raw(number)),
        }
    }

    fn end(&self, result: Result<()>, woken: &mut Woken) {
        self.outcome.store(result.err().map_or(0, |error| error.raw().into()), Ordering::Relaxed);
        woken.push(self.thread);
    }
}

/// The list of waiters that a thread is in.
type Side = fn(&mut State) -> &mut BTreeMap<u64, Arc<Waiter>>;

impl State {
    fn fits(&self, message: &Message) -> bool {
        self.content.bytes() + message.data.len() <= self.about.bytes_max
            && self.content.len() < self.about.bytes_max
    }

    /// Puts a message in, of the process that is the last sender then.
    fn put(&mut self, message: Message, pid: u32) {
        (self.about.sender, self.about.sent) = (pid, now());
        self.content.put(message);
    }

    /// Notes that a process has received.
    fn note_received(&mut self, pid: u32) {
        (self.about.receiver, self.about.received) = (pid, now());
    }

    /// Lets those go on who can. True if they are more than can be woken at once: to be called again.
    fn serve(&mut self, woken: &mut Woken) -> bool {
        loop {
            let next = |waiters: &BTreeMap<u64, Arc<Waiter>>, from: u64| {
                waiters.range(from..).next().map(|(&turn, waiter)| (turn, waiter.clone()))
            };
            let mut progress = false;
            let mut from = 0;
            while let Some((turn, waiter)) = next(&self.receivers, from) {
                if woken.is_full() {
                    return true;
                }
                from = turn + 1;
                let result = if self.is_gone { Err(Errno::EIDRM) } else { self.content.take(&waiter.wanted) };
                let result = match result {
                    Ok(None) => continue,
                    Ok(Some(message)) => {
                        self.note_received(waiter.pid);
                        *waiter.message.lock() = Some(message);
                        progress = true;
                        Ok(())
                    }
                    Err(error) => Err(error),
                };
                self.receivers.remove(&turn);
                waiter.end(result, woken);
            }
            while let Some((turn, waiter)) = next(&self.senders, 0) {
                if woken.is_full() {
                    return true;
                }
                let mut message = waiter.message.lock();
                let fits = message.as_ref().is_none_or(|message| self.fits(message));
                if !self.is_gone && !fits {
                    break;
                }
                let taken = message.take();
                drop(message);
                let result = if self.is_gone { Err(Errno::EIDRM) } else { Ok(()) };
                if let (Some(message), Ok(())) = (taken, result) {
                    self.put(message, waiter.pid);
                    progress = true;
                }
                self.senders.remove(&turn);
                waiter.end(result, woken);
            }
            if !progress {
                return false;
            }
        }
    }
}

impl Queue {
    fn new(place: Place, permissions: Permissions) -> Self {
        let about = About {
            permissions: permissions.at(place.sequence),
            sent: 0,
            received: 0,
            changed: now(),
            bytes: 0,
            count: 0,
            bytes_max: BYTES_MAX,
            sender: 0,
            receiver: 0,
        };
        let state = State {
            about,
            content: Content::new(),
            senders: BTreeMap::new(),
            receivers: BTreeMap::new(),
            arrived: 0,
            is_gone: false,
        };
        Self { id: place.id(), state: SpinLock::ranked(Rank::Files, state) }
    }

    /// The state, if the queue is still there and the caller may do what the bits say.
    fn enter(&self, process: &Process, wanted: u32) -> Result<SpinLockGuard<'_, State>> {
        let state = self.state.lock();
        state.about.permissions.check(&process.caller(), wanted)?;
        if state.is_gone { Err(Errno::EIDRM) } else { Ok(state) }
    }

    /// Sends a message, and waits for room if it may. `EAGAIN`, `EINTR`, `EIDRM`.
    pub(crate) fn send(&self, process: &Process, message: Message, waits: bool) -> Result<()> {
        let mut state = self.enter(process, CHANGE)?;
        if state.fits(&message) {
            // In both of its lists.
            fallible::admit(2 * fallible::SMALL_BYTES)?;
            state.put(message, process.pid());
            self.serve(state);
            return Ok(());
        }
        if !waits {
            return Err(Errno::EAGAIN);
        }
        fallible::admit(2 * fallible::SMALL_BYTES)?;
        self.wait(state, |state| &mut state.senders, process.pid(), Wanted::ANY, Some(message)).map(drop)
    }

    /// Takes a message out, and waits for one if it may. `ENOMSG`, `E2BIG`, `EINTR`, `EIDRM`.
    pub(crate) fn receive(&self, process: &Process, wanted: Wanted, waits: bool) -> Result<Message> {
        let mut state = self.enter(process, READ)?;
        if let Some(message) = state.content.take(&wanted)? {
            state.note_received(process.pid());
            self.serve(state);
            return Ok(message);
        }
        if !waits {
            return Err(Errno::ENOMSG);
        }
        fallible::admit(fallible::SMALL_BYTES)?;
        let message = self.wait(state, |state| &mut state.receivers, process.pid(), wanted, None)?;
        message.ok_or(Errno::EIDRM)
    }

    /// A copy of the message at a place in the queue, which stays there. `ENOMSG`, `E2BIG`.
    pub(crate) fn copy(&self, process: &Process, place: usize, wanted: Wanted) -> Result<Message> {
        self.enter(process, READ)?.content.copy(place, &wanted)
    }

    /// Waits until the calling thread has been served.
    fn wait(
        &self,
        mut state: SpinLockGuard<'_, State>,
        side: Side,
        pid: u32,
        wanted: Wanted,
        message: Option<Message>,
    ) -> Result<Option<Message>> {
        let thread = current();
        let (message, outcome) = (SpinLock::new(message), AtomicU32::new(0));
        let waiter = fallible::arc(Waiter { thread, pid, wanted, message, outcome })?;
        let turn = state.arrived;
        state.arrived += 1;
        side(&mut state).insert(turn, waiter.clone());
        drop(state);
        thread.note_wait(Some((&"message queue", core::ptr::from_ref(self) as u64)));
        let result = loop {
            let is_interrupted = thread.interrupted();
            let mut state = self.state.lock();
            if !side(&mut state).contains_key(&turn) {
                break waiter.result();
            }
            if is_interrupted {
                side(&mut state).remove(&turn);
                break Err(Errno::EINTR);
            }
            drop(state);
            let _: Wake = park(None);
        };
        thread.note_wait(None);
        result
    }

    /// Serves those who wait after a change, and releases the lock.
    fn serve<'a>(&'a self, state: SpinLockGuard<'a, State>) {
        serve(&self.state, state, State::serve);
    }

    /// What it is like; `EACCES` if the caller may not know, and is not to be told anyway.
    pub(crate) fn describe(&self, reader: Option<&Caller<'_>>) -> Result<About> {
        let state = self.state.lock();
        if let Some(reader) = reader {
            state.about.permissions.check(reader, READ)?;
        }
        Ok(About { bytes: state.content.bytes(), count: state.content.len(), ..state.about })
    }

    /// Changes owner, mode, and what its messages may take: `EPERM` for more than the limit, unless of the superuser.
    pub(crate) fn set(&self, caller: &Caller<'_>, wanted: &Permissions, bytes_max: u64) -> Result<()> {
        let bytes_max = usize::try_from(bytes_max).unwrap_or(usize::MAX);
        let mut state = self.state.lock();
        state.about.permissions.check_owner(caller)?;
        if bytes_max > BYTES_MAX && caller.uid != 0 {
            return Err(Errno::EPERM);
        }
        state.about.permissions.change(wanted)?;
        state.about.bytes_max = bytes_max;
        state.about.changed = now();
        // There may be room.
        self.serve(state);
        Ok(())
    }

    /// Removes it with its messages; who waits at it gets `EIDRM`.
    pub(crate) fn remove(&self, caller: &Caller<'_>) -> Result<()> {
        let mut state = self.state.lock();
        state.about.permissions.check_owner(caller)?;
        if state.is_gone {
            return Err(Errno::EIDRM);
        }
        state.is_gone = true;
        let content = core::mem::replace(&mut state.content, Content::new());
        self.serve(state);
        drop(content);
        QUEUES.remove(self.id);
        Ok(())
    }
}
