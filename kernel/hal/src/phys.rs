// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Physical memory through the direct map.
//!
//! These functions are safe by the frame discipline: the kernel's own objects live in frames that only the heap and the
//! page tables know, so an address that the frame allocator handed to somebody else never aliases a Rust object. Every
//! range is checked against the direct map. On the host an arena stands in for memory.

use core::sync::atomic::AtomicU32;

#[cfg(target_os = "none")]
fn pointer(pa: u64, len: usize) -> *mut u8 {
    let end = pa.checked_add(len as u64).expect("physical range does not wrap");
    assert!(
        end <= crate::layout::DIRECT_MAP_SIZE,
        "physical range {pa:#x}+{len:#x} is beyond the direct map"
    );
    (crate::layout::DIRECT_MAP + pa as usize) as *mut u8
}

#[cfg(not(target_os = "none"))]
fn pointer(pa: u64, _len: usize) -> *mut u8 {
    core::ptr::with_exposed_provenance_mut(pa as usize)
}

/// Reserves memory that stands in for `bytes` of RAM and returns its "physical" address, 2 MiB-aligned. Host tests only;
/// never freed.
#[cfg(not(target_os = "none"))]
pub fn host_arena(bytes: usize) -> u64 {
    let layout = core::alloc::Layout::from_size_align(bytes, 2 << 20).expect("arena layout");
    // SAFETY: the size is not zero in any test and the alignment is a power of two.
    let base = unsafe { alloc::alloc::alloc_zeroed(layout) };
    assert!(!base.is_null(), "host arena");
    base.expose_provenance() as u64
}

/// Copies physical memory into `buffer`.
pub fn read(pa: u64, buffer: &mut [u8]) {
    let source = pointer(pa, buffer.len());
    // SAFETY: the range is in the direct map, and cannot overlap `buffer` by the frame discipline.
    unsafe { core::ptr::copy_nonoverlapping(source, buffer.as_mut_ptr(), buffer.len()) };
}

/// Copies `data` into physical memory.
pub fn write(pa: u64, data: &[u8]) {
    let target = pointer(pa, data.len());
    // SAFETY: as for `read`.
    unsafe { core::ptr::copy_nonoverlapping(data.as_ptr(), target, data.len()) };
}

/// Fills physical memory with zeros.
pub fn zero(pa: u64, len: usize) {
    let target = pointer(pa, len);
    // SAFETY: the range is in the direct map and holds no Rust object.
    unsafe { core::ptr::write_bytes(target, 0, len) };
}

/// Copies between two ranges of physical memory that do not overlap.
pub fn copy(dst: u64, src: u64, len: usize) {
    assert!(dst.abs_diff(src) >= len as u64, "physical copy overlaps");
    let (target, source) = (pointer(dst, len), pointer(src, len));
    // SAFETY: both ranges are in the direct map and checked not to overlap.
    unsafe { core::ptr::copy_nonoverlapping(source, target, len) };
}

/// Physical memory as atomic words, for metadata that is kept for ever. The content is what memory held.
pub fn atomic_u32s(pa: u64, count: usize) -> &'static [AtomicU32] {
    assert!(pa.is_multiple_of(4), "metadata is aligned");
    let base = pointer(pa, count * 4).cast::<AtomicU32>();
    // SAFETY: the range is in the direct map and aligned; atomics may be shared and any bits are a valid value. By the
    // frame discipline the owner of the range gives it away for good.
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
