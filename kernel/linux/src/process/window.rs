// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What processes run in: a window of its own for each, but for those that share one (`vfork`, `CLONE_VM`).
//!
//! A record has a window of its own, in which its process runs, or which is empty while the process runs in another's. Who calls
//! `execve` in a window that others run in leaves it to them and gets a new one. A window without users is empty and waits for a
//! record that has none.

use core::sync::atomic::{AtomicU32, Ordering};

use hadal_hal::memory::fallible;
use hadal_hal::sync::{Rank, SpinLock};
use hadal_hal::threads::link::AtomicRef;
use hadal_mem::frames;
use hadal_mem::space::{KernelMmu, Layout, MapError, ProgramSpace};

use super::Process;
use crate::futex::{Buckets, make_buckets};
use crate::machine;
use crate::task::Task;

/// What a window takes of kernel memory while it is empty.
const WINDOW_BYTES: usize = 24 << 10;

/// How many windows have been made. There are at most 65,536, and so are processes at a time, but for guests.
static MADE: AtomicU32 = AtomicU32::new(0);

/// A window, which lives for ever and is used again.
pub(super) struct Window {
    /// Tells it from the others.
    number: u16,
    space: ProgramSpace,
    /// Threads that wait on words in it.
    words: &'static Buckets,
    /// The record whose own it is, and the processes that are its guests.
    users: AtomicU32,
    next_free: AtomicRef<Self>,
}

/// Those that nobody uses.
static FREE: SpinLock<Option<&'static Window>> = SpinLock::ranked(Rank::Process, None);

impl Window {
    /// An empty window for one user.
    #[inline(never)]
    pub(super) fn take() -> Result<&'static Self, MapError> {
        let free = {
            let mut free = FREE.lock();
            free.inspect(|window| *free = window.next_free.load(Ordering::Relaxed))
        };
        if let Some(window) = free {
            window.users.store(1, Ordering::Relaxed);
            return Ok(window);
        }
        // What is made below cannot all be given back.
        if MADE.load(Ordering::Relaxed) > u32::from(u16::MAX) {
            return Err(MapError::NoMemory);
        }
        fallible::admit(WINDOW_BYTES).map_err(|_| MapError::NoMemory)?;
        let space = ProgramSpace::new(KernelMmu::new()?, frames::global(), Layout::default());
        let words = make_buckets().map_err(|_| MapError::NoMemory)?;
        let next = |made| (made <= u32::from(u16::MAX)).then_some(made + 1);
        let made =
            MADE.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).map_err(|_| MapError::NoMemory)?;
        let window = Self {
            number: made as u16,
            space,
            words,
            users: AtomicU32::new(1),
            next_free: AtomicRef::none(),
        };
        Ok(alloc::boxed::Box::leak(fallible::boxed(window).map_err(|_| MapError::NoMemory)?))
    }

    pub(super) fn words(&self) -> &'static Buckets {
        self.words
    }

    fn has_one_user(&self) -> bool {
        self.users.load(Ordering::Acquire) == 1
    }

    fn empty(&self) {
        self.space.clear();
        machine::get().window_emptied(self.number);
    }

    /// There is a user less. Returns whether that was the last.
    fn leave(&self) -> bool {
        self.users.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// A user leaves it to the others; the last one empties it.
    fn leave_to_others(&'static self) {
        if self.leave() {
            self.empty();
            let mut free = FREE.lock();
            self.next_free.store(*free, Ordering::Relaxed);
            *free = Some(self);
        }
    }
}

/// Where a process runs.
pub(super) struct Place {
    /// The window that it runs in.
    present: AtomicRef<Window>,
    /// That of the record; none if others ran in it when nobody held the record any more.
    own: AtomicRef<Window>,
}

impl Place {
    pub(super) fn of(own: &'static Window) -> Self {
        let place = Self { present: AtomicRef::none(), own: AtomicRef::none() };
        place.present.store(Some(own), Ordering::Relaxed);
        place.own.store(Some(own), Ordering::Relaxed);
        place
    }

    fn present(&self) -> &'static Window {
        self.present.load(Ordering::Relaxed).expect("a process has a window")
    }
}

impl Process {
    /// A number for the window that it runs in.
    pub fn window_number(&self) -> u16 {
        self.place.present().number
    }

    fn run_in(&self, window: &'static Window) {
        self.space.store(Some(&window.space), Ordering::Relaxed);
        self.futexes.change_window(window.words);
        self.place.present.store(Some(window), Ordering::Relaxed);
    }

    pub(super) fn set_own_window(&self, window: &'static Window) {
        self.place.own.store(Some(window), Ordering::Relaxed);
        self.run_in(window);
    }

    /// A window of its own for a record that is used again.
    pub(super) fn ensure_window(&self) -> Result<(), MapError> {
        if self.place.own.load(Ordering::Relaxed).is_none() {
            self.set_own_window(Window::take()?);
        }
        Ok(())
    }

    /// Runs in the window of another process, that of the calling thread, from now on.
    pub(super) fn enter_window(&self, other: &Self) {
        let window = other.place.present();
        window.users.fetch_add(1, Ordering::Relaxed);
        self.run_in(window);
    }

    /// The window of its own, if it runs in another's.
    fn own_window_elsewhere(&self) -> Option<&'static Window> {
        let own = self.place.own.load(Ordering::Relaxed)?;
        (!self.place.present.points_to(own, Ordering::Relaxed)).then_some(own)
    }

    /// Whether no other process runs in its window.
    pub(crate) fn has_window_alone(&self) -> bool {
        self.own_window_elsewhere().is_none() && self.place.present().has_one_user()
    }

    /// The process, which has no thread any more but perhaps the calling one, has nothing in memory from now on.
    pub(crate) fn leave_window(&self) {
        // One that came to nothing may have none yet.
        let Some(own) = self.place.own.load(Ordering::Relaxed) else { return };
        let present = self.place.present();
        if !core::ptr::eq(own, present) {
            self.run_in(own);
            present.leave_to_others();
        } else if own.has_one_user() {
            own.empty();
        }
        // Otherwise others have the window, and the record gives it up when nobody holds it.
    }

    /// The calling thread, the only one of the process, runs in an empty window from now on.
    pub(crate) fn renew_window(&self, task: &Task) -> Result<(), MapError> {
        let present = self.place.present();
        let (own, is_new) = match self.own_window_elsewhere() {
            Some(own) => (own, false),
            None if present.has_one_user() => {
                present.empty();
                return Ok(());
            }
            None => (Window::take()?, true),
        };
        task.thread().context().change_table(own.space.switchable());
        if is_new {
            self.set_own_window(own);
        } else {
            self.run_in(own);
        }
        present.leave_to_others();
        Ok(())
    }

    /// Nobody holds the record any more: what is in its window goes, unless others run in it.
    pub(crate) fn give_up_window(&self) {
        let Some(own) = self.place.own.load(Ordering::Relaxed) else { return };
        if own.leave() {
            own.empty();
            own.users.store(1, Ordering::Relaxed);
        } else {
            self.place.own.store(None, Ordering::Relaxed);
        }
    }
}
