// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The kernel heap: size classes with free lists per CPU on top of the frame source.
//!
//! An object goes back to the list of the CPU that frees it; a list that grows long gives half to a shared list, one that
//! runs empty takes a batch from there before it cuts a new page. Nothing but the shared list of one class is ever
//! contended. Larger objects are blocks of frames.

use core::alloc::{GlobalAlloc, Layout};
use core::ptr;
use core::sync::atomic::{AtomicU64, Ordering};

use crate::frames;
use crate::layout::{DIRECT_MAP, PAGE_SIZE};
use crate::percpu;
use crate::sync::{Rank, SpinLock};

/// Sizes in bytes; the powers of two among them are aligned to themselves.
const CLASSES: [usize; 14] = [16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048];
/// Bytes of a class that a CPU keeps before it shares.
const KEEP_BYTES: usize = 64 << 10;
/// Bytes that move between a CPU's list and the shared one at a time.
const BATCH_BYTES: usize = 16 << 10;

/// A list threaded through the free objects themselves.
pub(crate) struct FreeList {
    head: *mut FreeObject,
    len: usize,
}

struct FreeObject {
    next: *mut FreeObject,
}

// SAFETY: the list owns the objects it links; they are plain memory and belong to no CPU.
unsafe impl Send for FreeList {}

impl FreeList {
    const fn new() -> Self {
        Self { head: ptr::null_mut(), len: 0 }
    }

    fn pop(&mut self) -> Option<*mut FreeObject> {
        let object = self.head;
        if object.is_null() {
            return None;
        }
        // SAFETY: `head` is a free object of this list.
        self.head = unsafe { (*object).next };
        self.len -= 1;
        Some(object)
    }

    /// # Safety
    /// `object` is free memory of this list's class that nobody else knows.
    unsafe fn push(&mut self, object: *mut FreeObject) {
        // SAFETY: the caller gives the memory away; every class holds a pointer and is aligned for one.
        unsafe { object.write(FreeObject { next: self.head }) };
        self.head = object;
        self.len += 1;
    }

    fn move_to(&mut self, other: &mut FreeList, count: usize) {
        for _ in 0..count {
            let Some(object) = self.pop() else { return };
            // SAFETY: just taken from a list of the same class.
            unsafe { other.push(object) };
        }
    }
}

/// The free lists of one CPU, or the shared ones.
pub(crate) struct Lists([SpinLock<FreeList>; CLASSES.len()]);

impl Lists {
    pub(crate) const fn of_cpu() -> Self {
        Self::new::<false>()
    }

    const fn new<const SHARED: bool>() -> Self {
        Self(
            [const { SpinLock::ranked(if SHARED { Rank::Heap } else { Rank::HeapOfCpu }, FreeList::new()) };
                CLASSES.len()],
        )
    }
}

static SHARED: Lists = Lists::new::<true>();
static BYTES: AtomicU64 = AtomicU64::new(0);

/// Bytes of memory that the heap has taken from the frame source and not given back.
pub fn bytes() -> u64 {
    BYTES.load(Ordering::Relaxed)
}

/// The allocator to name in `#[global_allocator]`.
pub struct KernelHeap;

/// The class that serves a layout, or `None` for blocks of frames.
fn class_of(layout: Layout) -> Option<usize> {
    let size = if layout.align() > 16 {
        layout.size().max(layout.align()).next_power_of_two()
    } else {
        layout.size()
    };
    CLASSES.iter().position(|&class| size <= class)
}

fn order_of(layout: Layout) -> u8 {
    let pages = layout.size().max(layout.align()).div_ceil(PAGE_SIZE);
    pages.next_power_of_two().trailing_zeros() as u8
}

fn frames(order: u8) -> *mut u8 {
    let Some(pa) = frames::source().and_then(|source| source.alloc(order)) else {
        return ptr::null_mut();
    };
    BYTES.fetch_add((PAGE_SIZE as u64) << order, Ordering::Relaxed);
    (DIRECT_MAP + pa as usize) as *mut u8
}

fn refill(class: usize, list: &mut FreeList) {
    let size = CLASSES[class];
    SHARED.0[class].lock().move_to(list, BATCH_BYTES / size);
    if list.len > 0 {
        return;
    }
    let page = frames(0);
    if page.is_null() {
        return;
    }
    for part in 0..PAGE_SIZE / size {
        // SAFETY: the page is fresh, and the parts do not overlap.
        unsafe { list.push(page.add(part * size).cast()) };
    }
}

// SAFETY: objects come from disjoint parts of frames that belong to the heap, sized and aligned by `class_of` and
// `order_of`; the lists hand each out once.
unsafe impl GlobalAlloc for KernelHeap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(class) = class_of(layout) else {
            return frames(order_of(layout));
        };
        let mut list = percpu::this().heap.0[class].lock();
        if list.head.is_null() {
            refill(class, &mut list);
        }
        list.pop().map_or(ptr::null_mut(), <*mut FreeObject>::cast)
    }

    unsafe fn dealloc(&self, object: *mut u8, layout: Layout) {
        let Some(class) = class_of(layout) else {
            let order = order_of(layout);
            BYTES.fetch_sub((PAGE_SIZE as u64) << order, Ordering::Relaxed);
            if let Some(source) = frames::source() {
                source.free((object as usize - DIRECT_MAP) as u64, order);
            }
            return;
        };
        let mut list = percpu::this().heap.0[class].lock();
        // SAFETY: the caller frees an object of this layout, hence of this class.
        unsafe { list.push(object.cast()) };
        if list.len * CLASSES[class] > KEEP_BYTES {
            list.move_to(&mut SHARED.0[class].lock(), BATCH_BYTES / CLASSES[class]);
        }
    }
}
