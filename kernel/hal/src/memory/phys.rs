// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Physical memory through the direct map: what [`crate::memory::frames`] is made of.
//!
//! Every range is checked against the direct map. On the host an arena stands in for memory.
//!
//! # Safety
//! Whoever calls these knows that the range is the caller's: nothing but bytes is there, to which no Rust reference leads.

use core::sync::atomic::AtomicU32;

/// Where physical address 0 is in the direct map.
#[cfg(target_os = "none")]
pub(crate) const BASE: usize = crate::memory::layout::DIRECT_MAP;
#[cfg(not(target_os = "none"))]
pub(crate) const BASE: usize = 0;

#[cfg(target_os = "none")]
pub(super) fn pointer(pa: u64, len: usize) -> *mut u8 {
    let end = pa.checked_add(len as u64).expect("physical range does not wrap");
    assert!(
        end <= crate::memory::layout::DIRECT_MAP_SIZE,
        "physical range {pa:#x}+{len:#x} is beyond the direct map"
    );
    (BASE + pa as usize) as *mut u8
}

#[cfg(not(target_os = "none"))]
pub(super) fn pointer(pa: u64, _len: usize) -> *mut u8 {
    core::ptr::with_exposed_provenance_mut(pa as usize)
}

/// Copies physical memory into `buffer`.
///
/// # Safety
/// The range is memory, and its content means nothing to Rust.
pub(crate) unsafe fn read(pa: u64, buffer: &mut [u8]) {
    let source = pointer(pa, buffer.len());
    // SAFETY: the range is in the direct map, and the caller's; `buffer` is a Rust object, so they do not overlap.
    unsafe { core::ptr::copy_nonoverlapping(source, buffer.as_mut_ptr(), buffer.len()) };
}

/// Reads a byte, whatever it is.
///
/// # Safety
/// The byte is memory.
pub(crate) unsafe fn touch(pa: u64) {
    // SAFETY: as the caller says; any byte may be read, also one that somebody changes.
    unsafe { pointer(pa, 1).cast_const().read_volatile() };
}

/// Copies `data` into physical memory.
///
/// # Safety
/// As the head of the module says.
pub(crate) unsafe fn write(pa: u64, data: &[u8]) {
    let target = pointer(pa, data.len());
    // SAFETY: as for `read`.
    unsafe { core::ptr::copy_nonoverlapping(data.as_ptr(), target, data.len()) };
}

/// Fills physical memory with zeros.
///
/// # Safety
/// As the head of the module says.
pub(crate) unsafe fn zero(pa: u64, len: usize) {
    let target = pointer(pa, len);
    // SAFETY: the range is in the direct map, and the caller's.
    unsafe { core::ptr::write_bytes(target, 0, len) };
}

/// Copies between two ranges of physical memory that do not overlap.
///
/// # Safety
/// As the head of the module says, for both.
pub(crate) unsafe fn copy(dst: u64, src: u64, len: usize) {
    assert!(dst.abs_diff(src) >= len as u64, "physical copy overlaps");
    let (target, source) = (pointer(dst, len), pointer(src, len));
    // SAFETY: both ranges are in the direct map, the caller's, and checked not to overlap.
    unsafe { core::ptr::copy_nonoverlapping(source, target, len) };
}

/// Physical memory as atomic words. The content is what memory held.
///
/// # Safety
/// The range is the caller's for `'a`, and used as words or bytes only.
pub(crate) unsafe fn words<'a>(pa: u64, count: usize) -> &'a [AtomicU32] {
    // SAFETY: as the caller says; any bits are a valid word.
    unsafe { slice(pa, count) }
}

/// Physical memory as a slice of what any bits are a valid value of.
///
/// # Safety
/// The range is the caller's for `'a`, for such values only.
pub(crate) unsafe fn slice<'a, T>(pa: u64, count: usize) -> &'a [T] {
    assert!(pa.is_multiple_of(align_of::<T>() as u64), "metadata is aligned");
    let base = pointer(pa, count * size_of::<T>()).cast::<T>();
    // SAFETY: the range is in the direct map and aligned, and the rest is the caller's promise.
    unsafe { core::slice::from_raw_parts(base, count) }
}

/// The bytes of memory that nobody writes any more: firmware tables and boot modules.
///
/// # Safety
/// The range is mapped, and nothing writes to it while the slice is in use.
#[cfg(target_os = "none")]
pub(crate) unsafe fn bytes(pa: u64, len: usize) -> &'static [u8] {
    // SAFETY: the caller vouches for the content; `pointer` checks the range.
    unsafe { core::slice::from_raw_parts(pointer(pa, len), len) }
}
