// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The spin locks that a CPU holds: how the debug kernel finds locks that are taken in the wrong order, and waits with a lock
//! held, at the first time that the code runs instead of at the first deadlock.

use core::panic::Location;
use core::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use super::Rank;
use crate::cpu::percpu::{self, PerCpu};
use crate::interrupts::irq;
use crate::threads::link::AtomicRef;

/// Locks that are held at once.
const MOST: usize = 12;

/// A lock that is held.
struct Entry {
    rank: AtomicU8,
    address: AtomicUsize,
    place: AtomicRef<Location<'static>>,
}

impl Entry {
    const fn new() -> Self {
        Self { rank: AtomicU8::new(0), address: AtomicUsize::new(0), place: AtomicRef::none() }
    }
}

/// The locks of one kind that a CPU holds. Only that CPU uses it.
pub(crate) struct Record {
    entries: [Entry; MOST],
    len: AtomicUsize,
}

impl Record {
    pub(crate) const fn new() -> Self {
        Self { entries: [const { Entry::new() }; MOST], len: AtomicUsize::new(0) }
    }

    fn held(&self) -> &[Entry] {
        &self.entries[..self.len.load(Ordering::Relaxed)]
    }

    /// A held lock that must not be when this one is taken.
    fn in_the_way(&self, rank: Rank, address: usize) -> Option<(Rank, Option<&'static Location<'static>>)> {
        self.held().iter().find_map(|entry| {
            let held = Rank::ALL[usize::from(entry.rank.load(Ordering::Relaxed))];
            let ascends = address > entry.address.load(Ordering::Relaxed);
            (!rank.may_follow(held, ascends)).then(|| (held, entry.place.load(Ordering::Relaxed)))
        })
    }

    fn add(&self, rank: Rank, address: usize, place: &'static Location<'static>) {
        let len = self.len.load(Ordering::Relaxed);
        let entry = self.entries.get(len).expect("nobody holds so many locks");
        entry.rank.store(rank as u8, Ordering::Relaxed);
        entry.address.store(address, Ordering::Relaxed);
        entry.place.store(Some(place), Ordering::Relaxed);
        self.len.store(len + 1, Ordering::Relaxed);
    }

    /// The last one takes the place of the one that goes: locks need not be released in order.
    fn remove(&self, address: usize) {
        let held = self.held();
        let index = held
            .iter()
            .rposition(|entry| entry.address.load(Ordering::Relaxed) == address)
            .expect("a lock is released by the CPU that has taken it");
        let (entry, last) = (&held[index], &held[held.len() - 1]);
        entry.rank.store(last.rank.load(Ordering::Relaxed), Ordering::Relaxed);
        entry.address.store(last.address.load(Ordering::Relaxed), Ordering::Relaxed);
        entry.place.store(last.place.load(Ordering::Relaxed), Ordering::Relaxed);
        self.len.store(held.len() - 1, Ordering::Relaxed);
    }

    fn first_place(&self) -> Option<&'static Location<'static>> {
        self.held().first()?.place.load(Ordering::Relaxed)
    }
}

/// Where something was done, for messages.
struct Place(Option<&'static Location<'static>>);

impl core::fmt::Display for Place {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.0 {
            Some(place) => write!(f, "{place}"),
            None => write!(f, "an unknown place"),
        }
    }
}

fn in_interrupt(block: &PerCpu) -> bool {
    lasts(|| block.interrupts.load(Ordering::Acquire), || block.interrupts_done.load(Ordering::Acquire))
}

/// Whether an interrupt lasts, of which `entered` have begun and `done` have ended: looked at again if one has come in between.
fn lasts(entered: impl Fn() -> u64, done: impl Fn() -> u64) -> bool {
    loop {
        let (before, ended) = (entered(), done());
        if entered() == before {
            return before != ended;
        }
    }
}

/// Before a lock that spins with interrupts off is waited for.
///
/// # Panics
/// If this CPU holds one that comes after it.
#[track_caller]
pub(super) fn check_spin(rank: Rank, address: usize) {
    let block = percpu::this();
    check(&block.held_spin, rank, address);
    // An interrupt may come while its CPU holds one of these, and takes none of them.
    if !in_interrupt(block) {
        check(&block.held_shared, rank, address);
    }
}

#[track_caller]
fn check(record: &Record, rank: Rank, address: usize) {
    if let Some((held, place)) = record.in_the_way(rank, address) {
        panic!("wrong order of locks: {rank:?} is taken while {held:?} is held, taken at {}", Place(place));
    }
}

/// Before a reader-writer lock is waited for.
///
/// # Panics
/// If this CPU holds a lock that comes after it, or any `SpinLock`, or handles an interrupt.
#[track_caller]
pub(super) fn check_shared(rank: Rank, address: usize) {
    let block = percpu::this();
    check(&block.held_shared, rank, address);
    assert!(!in_interrupt(block), "{rank:?} is taken in an interrupt");
    let place = block.held_spin.first_place();
    assert!(place.is_none(), "{rank:?} is taken while a spin lock is held, taken at {}", Place(place));
}

/// A lock that spins with interrupts off was taken.
pub(super) fn add_spin(rank: Rank, address: usize, place: &'static Location<'static>) {
    percpu::this().held_spin.add(rank, address, place);
}

/// It is about to be released.
pub(super) fn remove_spin(address: usize) {
    percpu::this().held_spin.remove(address);
}

/// A reader-writer lock was taken.
pub(super) fn add_shared(rank: Rank, address: usize, place: &'static Location<'static>) {
    percpu::this().held_shared.add(rank, address, place);
}

/// It is about to be released.
pub(super) fn remove_shared(address: usize) {
    percpu::this().held_shared.remove(address);
}

/// # Panics
/// If this CPU holds a spin lock of any kind.
#[track_caller]
pub(super) fn check_none() {
    let block = percpu::this();
    let place = block.held_spin.first_place().or(block.held_shared.first_place());
    assert!(place.is_none(), "a spin lock is held that was taken at {}", Place(place));
}

/// # Panics
/// If this CPU holds a spin lock of any kind, handles an interrupt, or the kernel has turned interrupts off.
#[track_caller]
pub(super) fn check_may_wait() {
    check_none();
    check_interruptible(percpu::this());
}

/// # Panics
/// If this CPU holds a lock that spins with interrupts off, handles an interrupt, or the kernel has turned interrupts off.
#[track_caller]
pub(super) fn check_may_wait_for_cpus() {
    let block = percpu::this();
    let place = block.held_spin.first_place();
    assert!(place.is_none(), "a spin lock is held that was taken at {}", Place(place));
    check_interruptible(block);
}

#[track_caller]
fn check_interruptible(block: &PerCpu) {
    assert!(!in_interrupt(block), "an interrupt is waiting");
    let place = irq::section_place();
    assert!(place.is_none(), "interrupts are off, which were turned off at {}", Place(place));
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;
    use core::panic::Location;

    use super::{Rank, Record, lasts};

    #[test]
    fn an_interrupt_that_comes_and_goes_does_not_last() {
        let (entered, done, coming) = (Cell::new(7), Cell::new(7), Cell::new(3));
        // Some interrupts come while it is looked.
        let entered_before_one = || {
            let before = entered.get();
            if coming.get() > 0 {
                coming.set(coming.get() - 1);
                entered.set(before + 1);
                done.set(done.get() + 1);
            }
            before
        };
        assert!(!lasts(entered_before_one, || done.get()));
        coming.set(3);
        entered.set(entered.get() + 1);
        assert!(lasts(entered_before_one, || done.get()));
    }

    #[test]
    fn locks_are_taken_in_order_and_released_in_any() {
        let record = Record::new();
        let place = Location::caller();
        record.add(Rank::Process, 8, place);
        record.add(Rank::TimerQueue, 16, place);
        assert_eq!(record.in_the_way(Rank::Heap, 24), None);
        assert_eq!(record.in_the_way(Rank::TimerQueue, 24), Some((Rank::TimerQueue, Some(place))));
        assert_eq!(record.in_the_way(Rank::Files, 24), Some((Rank::TimerQueue, Some(place))));
        record.remove(8);
        assert_eq!(record.in_the_way(Rank::Process, 8), Some((Rank::TimerQueue, Some(place))));
        record.remove(16);
        assert_eq!((record.in_the_way(Rank::Process, 8), record.first_place()), (None, None));
    }
}
