// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What several processes may have together (`clone` without `CLONE_THREAD`): open files, paths and signal actions.
//!
//! A part lives for ever and is used again, like the records of processes, so that a thread gets at its process's part by one
//! load. Each counts the processes that have it, and the last one that leaves it empties it. A process changes which part it has
//! only while the calling thread is its only one, so what [`Own::get`] returns stays its. Who is no thread of the process has to
//! [`look`](Own::look).

use alloc::boxed::Box;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use hadal_hal::memory::fallible;
use hadal_hal::sync::{Rank, SpinLock};
use hadal_hal::threads::link::{AtomicRef, AtomicSomeRef};

use crate::Result;

/// Something that processes have one of.
pub(crate) trait Part: Sized + Sync + 'static {
    /// An empty one.
    fn new() -> Self;

    /// Makes it empty: no process has it any more.
    fn end(&self);

    /// All that there are.
    fn stock() -> &'static Stock<Self>;
}

/// A part, with the number of those who have it.
pub(crate) struct Counted<T: 'static> {
    part: T,
    users: AtomicU32,
    /// How often it was taken from the stock.
    turn: AtomicU64,
    next_free: AtomicRef<Self>,
}

impl<T: Part> Counted<T> {
    const fn new(part: T) -> Self {
        Self { part, users: AtomicU32::new(0), turn: AtomicU64::new(0), next_free: AtomicRef::none() }
    }

    fn is_none(&self) -> bool {
        core::ptr::eq(self, &T::stock().none)
    }

    /// There is a user less; the last one makes it empty.
    fn leave(&'static self) {
        if !self.is_none() && self.users.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.part.end();
            T::stock().put(self);
        }
    }
}

/// The parts of one kind.
pub(crate) struct Stock<T: 'static> {
    /// What a process has that has no part: an empty one that stays so.
    none: Counted<T>,
    /// Those that nobody has.
    free: SpinLock<Option<&'static Counted<T>>>,
}

impl<T: Part> Stock<T> {
    pub(crate) const fn new(none: T) -> Self {
        Self { none: Counted::new(none), free: SpinLock::ranked(Rank::Process, None) }
    }

    /// An empty part for one user.
    fn take(&self) -> Result<&'static Counted<T>> {
        let free = {
            let mut free = self.free.lock();
            free.inspect(|part| *free = part.next_free.load(Ordering::Relaxed))
        };
        let part = match free {
            Some(part) => part,
            None => Self::make()?,
        };
        part.users.store(1, Ordering::Relaxed);
        part.turn.store(part.turn.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        // Pairs with the one in `look`: who sees what is in the part from now on sees that it was taken.
        fence(Ordering::Release);
        Ok(part)
    }

    #[inline(never)]
    fn make() -> Result<&'static Counted<T>> {
        Ok(Box::leak(fallible::boxed(Counted::new(T::new()))?))
    }

    fn put(&self, part: &'static Counted<T>) {
        let mut free = self.free.lock();
        part.next_free.store(*free, Ordering::Relaxed);
        *free = Some(part);
    }
}

/// The part that a process has.
pub(crate) struct Own<T: 'static>(AtomicSomeRef<Counted<T>>);

impl<T: Part> Own<T> {
    /// No part yet.
    pub(crate) fn none() -> Self {
        Self(AtomicSomeRef::to(&T::stock().none))
    }

    /// The part, for threads of the process and who makes the process.
    #[inline(always)]
    pub(crate) fn get(&self) -> &'static T {
        &self.0.load(Ordering::Relaxed).part
    }

    /// Shows `look` the part, from anywhere, and again if the process has left it meanwhile: then it may have become that of
    /// others. Afterwards the process may have another one, as if that had come later.
    #[inline(always)]
    pub(crate) fn look<R>(&self, look: impl Fn(&'static T) -> R) -> R {
        loop {
            let part = self.0.load(Ordering::Acquire);
            let turn = part.turn.load(Ordering::Acquire);
            let result = look(&part.part);
            fence(Ordering::Acquire);
            if self.0.points_to(part, Ordering::Relaxed) && part.turn.load(Ordering::Relaxed) == turn {
                return result;
            }
        }
    }

    /// Whether other processes have the part, too.
    pub(crate) fn is_shared(&self) -> bool {
        self.0.load(Ordering::Relaxed).users.load(Ordering::Acquire) > 1
    }

    /// A process that has no part gets an empty one.
    pub(crate) fn begin(&self) -> Result<&'static T> {
        let part = T::stock().take()?;
        self.0.swap(part, Ordering::AcqRel);
        Ok(&part.part)
    }

    /// A process that has no part gets that of the calling thread's process.
    pub(crate) fn share(&self, other: &Self) {
        let part = other.0.load(Ordering::Relaxed);
        part.users.fetch_add(1, Ordering::Relaxed);
        self.0.swap(part, Ordering::AcqRel);
    }

    /// The process of the calling thread, its only one, has a part for itself from now on: if others have its part, another one
    /// that `copy` makes like it.
    pub(crate) fn unshare(&self, copy: impl FnOnce(&T, &T) -> Result<()>) -> Result<()> {
        if self.is_shared() {
            let part = T::stock().take()?;
            copy(&part.part, self.get()).inspect_err(|_| part.leave())?;
            self.0.swap(part, Ordering::AcqRel).leave();
        }
        Ok(())
    }

    /// The process has no part from now on.
    pub(crate) fn leave(&self) {
        self.0.swap(&T::stock().none, Ordering::AcqRel).leave();
    }
}
