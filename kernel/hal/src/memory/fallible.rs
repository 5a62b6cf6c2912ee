// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Kernel memory that a program can make grow: every such allocation may fail (decision 0025).
//!
//! The machine keeps a reserve of frames. What a program drives asks here first, and is refused while memory is short of the
//! reserve; so the small allocations that cannot fail always find memory. [`boxed`], [`arc`] and their relatives ask and
//! allocate; [`MakeRoom`] does so for what grows; [`admit`] is for containers that allocate by themselves, as a `BTreeMap`.
//!
//! [`inject`] makes a share of all these requests fail at random, for tests.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use spin::Once;

use crate::memory::frames;

/// Memory is short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory;

/// The result of a request for memory.
pub type Result<T> = core::result::Result<T, OutOfMemory>;

/// More than a node of a `BTreeMap` of small values, or any other small object.
pub const SMALL_BYTES: usize = 2048;

/// Whether a program may make the kernel keep so many more bytes. The caller allocates at once, before it waits for anything.
#[inline]
pub fn admit(bytes: usize) -> Result<()> {
    if is_failure_injected() {
        return Err(OutOfMemory);
    }
    // Before there is a source, and on a host, memory is the allocator's matter.
    let Some(source) = frames::source() else { return Ok(()) };
    if source.has_spare(bytes) { Ok(()) } else { Err(OutOfMemory) }
}

/// Frees memory that is kept for speed.
static SHRINKER: Once<fn()> = Once::new();

/// Has `give_back` free what is kept for speed when memory is short: with interrupts on, and at most an address space locked.
/// The first call wins.
pub fn on_shortage(give_back: fn()) {
    SHRINKER.call_once(|| give_back);
}

/// Returns memory that is kept for speed, page tables that are not in use, and pages of the heap that hold nothing, to the frame
/// source. Does nothing with interrupts off: what is refused memory under a spin lock lets go of it, calls this, and tries
/// again.
pub fn give_back_unused() {
    #[cfg(target_os = "none")]
    if crate::interrupts::irq::enabled() {
        SHRINKER.get().inspect(|give_back| give_back());
        crate::memory::paging::give_tables_back();
        crate::memory::heap::give_back_unused();
    }
}

/// A value in a box.
pub fn boxed<T>(value: T) -> Result<Box<T>> {
    admit(size_of::<T>())?;
    Ok(Box::new(value))
}

/// A shared value.
pub fn arc<T>(value: T) -> Result<Arc<T>> {
    admit(size_of::<T>())?;
    Ok(Arc::new(value))
}

/// A shared value that knows itself.
pub fn arc_cyclic<T>(make: impl FnOnce(&Weak<T>) -> T) -> Result<Arc<T>> {
    admit(size_of::<T>())?;
    Ok(Arc::new_cyclic(make))
}

/// Memory for a shared value that is made later, when nothing may fail any more.
pub struct ArcRoom<T>(Arc<MaybeUninit<T>>);

/// Room for a shared value.
pub fn arc_room<T>() -> Result<ArcRoom<T>> {
    admit(size_of::<T>())?;
    Ok(ArcRoom(Arc::new_uninit()))
}

impl<T> ArcRoom<T> {
    /// Puts the value there.
    pub fn fill(mut self, value: T) -> Arc<T> {
        if let Some(room) = Arc::get_mut(&mut self.0) {
            room.write(value);
            // SAFETY: The line above has initialised the value.
            return unsafe { self.0.assume_init() };
        }
        unreachable!("nobody else has the room")
    }
}

/// Shared bytes.
pub fn arc_bytes(bytes: &[u8]) -> Result<Arc<[u8]>> {
    admit(bytes.len())?;
    Ok(Arc::from(bytes))
}

/// A copy of bytes that does not grow.
pub fn boxed_bytes(bytes: &[u8]) -> Result<Box<[u8]>> {
    admit(bytes.len())?;
    Ok(Box::from(bytes))
}

/// A copy of a slice.
pub fn copied<T: Clone>(slice: &[T]) -> Result<Vec<T>> {
    let mut copy = room_for(slice.len())?;
    copy.extend_from_slice(slice);
    Ok(copy)
}

/// So many times the same value.
pub fn filled<T: Clone>(value: T, len: usize) -> Result<Vec<T>> {
    let mut values = room_for(len)?;
    values.resize(len, value);
    Ok(values)
}

/// So many values that `make` makes, in a box.
pub fn made<T>(make: impl FnMut() -> T, len: usize) -> Result<Box<[T]>> {
    let mut values = room_for(len)?;
    values.resize_with(len, make);
    Ok(values.into_boxed_slice())
}

/// An empty list with room for so many elements, and no more.
pub fn room_for<T>(len: usize) -> Result<Vec<T>> {
    let mut values = Vec::new();
    admit(len.saturating_mul(size_of::<T>()))?;
    values.try_reserve_exact(len).map_err(|_| OutOfMemory)?;
    Ok(values)
}

/// The elements of an iterator.
pub fn collected<T>(elements: impl Iterator<Item = T>) -> Result<Vec<T>> {
    let mut values = Vec::new();
    values.make_room(elements.size_hint().0)?;
    for element in elements {
        values.make_room(1)?;
        values.push(element);
    }
    Ok(values)
}

/// What can be asked for room before something is added.
pub trait MakeRoom {
    /// Makes sure that adding `additional` elements allocates nothing.
    fn make_room(&mut self, additional: usize) -> Result<()>;
}

/// Asks for what a list of `len` elements and a capacity takes when it grows by its usual steps.
fn admit_growth(len: usize, capacity: usize, additional: usize, size: usize) -> Result<()> {
    let wanted = len.checked_add(additional).ok_or(OutOfMemory)?.max(capacity.saturating_mul(2));
    admit(wanted.saturating_mul(size))
}

impl<T> MakeRoom for Vec<T> {
    #[inline]
    fn make_room(&mut self, additional: usize) -> Result<()> {
        if self.capacity() - self.len() >= additional {
            return Ok(());
        }
        admit_growth(self.len(), self.capacity(), additional, size_of::<T>())?;
        self.try_reserve(additional).map_err(|_| OutOfMemory)
    }
}

impl<T> MakeRoom for VecDeque<T> {
    #[inline]
    fn make_room(&mut self, additional: usize) -> Result<()> {
        if self.capacity() - self.len() >= additional {
            return Ok(());
        }
        admit_growth(self.len(), self.capacity(), additional, size_of::<T>())?;
        self.try_reserve(additional).map_err(|_| OutOfMemory)
    }
}

impl MakeRoom for String {
    #[inline]
    fn make_room(&mut self, additional: usize) -> Result<()> {
        if self.capacity() - self.len() >= additional {
            return Ok(());
        }
        admit_growth(self.len(), self.capacity(), additional, 1)?;
        self.try_reserve(additional).map_err(|_| OutOfMemory)
    }
}

/// Requests of a million that fail; 0 in all but tests.
static RATE: AtomicU32 = AtomicU32::new(0);
static SEED: AtomicU64 = AtomicU64::new(0);

/// From now on so many of a million requests fail, chosen by `seed`.
pub fn inject(seed: u64, per_million: u32) {
    SEED.store(seed, Ordering::Relaxed);
    RATE.store(per_million, Ordering::Relaxed);
}

/// Whether [`inject`] makes this request fail.
#[inline(always)]
pub fn is_failure_injected() -> bool {
    RATE.load(Ordering::Relaxed) != 0 && draw()
}

#[cold]
fn draw() -> bool {
    // SplitMix64: the sequence is the seed's, whichever CPU takes the next number.
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut bits = SEED.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^= bits >> 31;
    bits % 1_000_000 < u64::from(RATE.load(Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn room_that_is_there_is_not_asked_for() {
        let mut list: Vec<u32> = Vec::with_capacity(8);
        assert_eq!(list.make_room(8), Ok(()));
        assert_eq!(list.capacity(), 8);
        assert_eq!(list.make_room(9), Ok(()));
        assert!(list.capacity() >= 9);
        assert_eq!(list.make_room(usize::MAX), Err(OutOfMemory));
        assert_eq!(room_for::<u64>(usize::MAX).err(), Some(OutOfMemory));
        assert_eq!(collected(0..5), Ok(vec![0, 1, 2, 3, 4]));
        assert_eq!(filled(7, 3), Ok(vec![7; 3]));
        let mut last = 0;
        let mut next = || {
            last += 1;
            last
        };
        assert_eq!(made(&mut next, 3).as_deref(), Ok(&[1, 2, 3][..]));
        assert_eq!(made(next, usize::MAX), Err(OutOfMemory));
    }

    #[test]
    fn a_value_is_put_into_its_room() {
        let shared = arc_room().unwrap().fill(vec![1, 2]);
        let weak = Arc::downgrade(&shared);
        assert_eq!(*shared, [1, 2]);
        drop(shared);
        assert!(weak.upgrade().is_none());
    }
}
