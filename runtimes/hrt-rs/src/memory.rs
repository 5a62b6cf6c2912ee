// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Memory from the kernel: physically contiguous, on the zone asked for, never moved.

use std::alloc::Layout;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use hadal_hrt_abi::memory::{ALLOC_HUGE, ALLOC_INTERLEAVE, ALLOC_STRICT};

use crate::error::{Error, Result};
use crate::ffi;

/// Where a block lies, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    zone: Option<u32>,
    flags: u32,
}

impl Placement {
    /// Local to the caller's CPU, else wherever there is memory.
    pub const LOCAL: Self = Self { zone: None, flags: 0 };
    /// Zone by zone in turn, from one block to the next.
    pub const INTERLEAVED: Self = Self { zone: None, flags: ALLOC_INTERLEAVE };

    /// In this zone, else in others when it is full.
    #[must_use]
    pub fn zone(zone: u32) -> Self {
        Self { zone: Some(zone), flags: 0 }
    }

    /// In this zone or not at all.
    #[must_use]
    pub fn only_zone(zone: u32) -> Self {
        Self { zone: Some(zone), flags: ALLOC_STRICT }
    }

    /// At least one whole page of 2 MiB.
    #[must_use]
    pub fn huge(self) -> Self {
        Self { flags: self.flags | ALLOC_HUGE, ..self }
    }

    fn allocate(self, layout: Layout, flags: u32) -> Result<NonNull<u8>> {
        let zone = self.zone.map_or(Ok(ffi::ZONE_ANY), i32::try_from).map_err(|_| Error::Invalid)?;
        let bytes = layout.size().max(1) as u64;
        let memory = ffi::hrt_rs_alloc_aligned(bytes, layout.align() as u64, zone, self.flags | flags);
        NonNull::new(memory.cast()).ok_or(Error::NoMemory)
    }
}

fn release(memory: NonNull<u8>) {
    // SAFETY: callers are the destructors of this file, with what `allocate` returned.
    let status = unsafe { ffi::hrt_rs_free(memory.as_ptr().cast()) };
    debug_assert_eq!(status, ffi::OK);
}

/// A value in a zone.
#[derive(Debug)]
pub struct ZoneBox<T> {
    memory: NonNull<T>,
}

// SAFETY: owns its value, like `Box`.
unsafe impl<T: Send> Send for ZoneBox<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for ZoneBox<T> {}

impl<T> ZoneBox<T> {
    /// Moves a value to its place.
    ///
    /// # Errors
    ///
    /// [`Error::NoMemory`], also for a zone that there is not.
    pub fn new(value: T, placement: Placement) -> Result<Self> {
        let memory = placement.allocate(Layout::new::<T>(), 0)?.cast::<T>();
        // SAFETY: fresh memory of the type's layout.
        unsafe { memory.write(value) };
        Ok(Self { memory })
    }

    /// The zone it lies in.
    #[must_use]
    pub fn zone(this: &Self) -> Option<u32> {
        u32::try_from(ffi::hrt_rs_zone_of(this.memory.as_ptr().cast())).ok()
    }
}

impl<T> Deref for ZoneBox<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: holds a value from `new` to `drop`.
        unsafe { self.memory.as_ref() }
    }
}

impl<T> DerefMut for ZoneBox<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and `self` is borrowed mutably.
        unsafe { self.memory.as_mut() }
    }
}

impl<T> Drop for ZoneBox<T> {
    fn drop(&mut self) {
        // SAFETY: the value is dropped once, and then its memory given back.
        unsafe { self.memory.drop_in_place() };
        release(self.memory.cast());
    }
}

/// Zeroed bytes in a zone.
#[derive(Debug)]
pub struct ZoneBytes {
    memory: NonNull<u8>,
    len: usize,
}

// SAFETY: owns its bytes.
unsafe impl Send for ZoneBytes {}
// SAFETY: as above.
unsafe impl Sync for ZoneBytes {}

impl ZoneBytes {
    /// Allocates `len` zeroed bytes, aligned to `align`.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: `align` is not a power of two; [`Error::NoMemory`].
    pub fn zeroed(len: usize, align: usize, placement: Placement) -> Result<Self> {
        let layout = Layout::from_size_align(len, align).map_err(|_| Error::Invalid)?;
        Ok(Self { memory: placement.allocate(layout, 1)?, len })
    }

    /// Bytes that the block really has.
    #[must_use]
    pub fn usable(&self) -> u64 {
        ffi::hrt_rs_usable_bytes(self.memory.as_ptr().cast())
    }

    /// The zone they lie in.
    #[must_use]
    pub fn zone(&self) -> Option<u32> {
        u32::try_from(ffi::hrt_rs_zone_of(self.memory.as_ptr().cast())).ok()
    }
}

impl Deref for ZoneBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `len` bytes, zeroed at first.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr(), self.len) }
    }
}

impl DerefMut for ZoneBytes {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `self` is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.memory.as_ptr(), self.len) }
    }
}

impl Drop for ZoneBytes {
    fn drop(&mut self) {
        release(self.memory);
    }
}
