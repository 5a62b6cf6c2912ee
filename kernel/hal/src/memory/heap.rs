// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The kernel heap: size classes with free lists per CPU on top of the frame source.
//!
//! An object goes back to the list of the CPU that frees it; a list that grows long gives half to a shared list, one that
//! runs empty takes a batch from there before it cuts a new page. Nothing but the shared list of one class is ever
//! contended. Larger objects are blocks of frames.
//!
//! Pages whose objects are all free go back to the frame source when memory is short ([`give_back_unused`]). Blocks of more
//! than [`RESERVE_MAX_BYTES`] never come from the kernel's reserve: every caller copes with a refusal.

use core::alloc::{GlobalAlloc, Layout};
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crate::cpu;
use crate::cpu::percpu;
use crate::interrupts::irq;
use crate::memory::frames::{self, Block};
use crate::memory::layout::{DIRECT_MAP, PAGE_SIZE};
use crate::sync::{Rank, SpinLock, SpinLockGuard};

/// Sizes in bytes; the powers of two among them are aligned to themselves.
const CLASSES: [usize; 14] = [16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048];
/// What all sizes are multiples of.
const UNIT: usize = CLASSES[0];
/// The smallest class for each number of units.
const CLASS_OF_UNITS: [u8; CLASSES[CLASSES.len() - 1] / UNIT + 1] = {
    let mut classes = [0; CLASSES[CLASSES.len() - 1] / UNIT + 1];
    let (mut units, mut class) = (0, 0);
    while units < classes.len() {
        if units * UNIT > CLASSES[class] {
            class += 1;
        }
        classes[units] = class as u8;
        units += 1;
    }
    classes
};
/// Bytes of a class that a CPU keeps before it shares.
const KEEP_BYTES: usize = 64 << 10;
/// As many objects of each class.
const KEEP_OBJECTS: [usize; CLASSES.len()] = {
    let mut objects = [0; CLASSES.len()];
    let mut class = 0;
    while class < CLASSES.len() {
        objects[class] = KEEP_BYTES / CLASSES[class];
        class += 1;
    }
    objects
};
/// Bytes that move between a CPU's list and the shared one at a time.
const BATCH_BYTES: usize = 16 << 10;
/// Larger blocks are refused while memory is short of the reserve.
const RESERVE_MAX_BYTES: usize = 32 << 10;

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

    /// The same objects by address: a merge sort of chains whose lengths are powers of two.
    fn sorted(mut self) -> Self {
        let mut chains = [ptr::null_mut::<FreeObject>(); usize::BITS as usize];
        let len = self.len;
        while let Some(object) = self.pop() {
            // SAFETY: the object is no longer in a list.
            unsafe { (*object).next = ptr::null_mut() };
            let mut chain = object;
            for place in &mut chains {
                if place.is_null() {
                    *place = chain;
                    break;
                }
                // SAFETY: disjoint chains of objects of this list.
                chain = unsafe { merged(core::mem::replace(place, ptr::null_mut()), chain) };
            }
        }
        // SAFETY: as above.
        let head = chains.into_iter().fold(ptr::null_mut(), |all, chain| unsafe { merged(all, chain) });
        Self { head, len }
    }

    fn move_to(&mut self, other: &mut FreeList, count: usize) {
        for _ in 0..count {
            let Some(object) = self.pop() else { return };
            // SAFETY: just taken from a list of the same class.
            unsafe { other.push(object) };
        }
    }
}

/// Two sorted chains in one.
///
/// # Safety
/// Both are chains of free objects of one list that ends with null.
unsafe fn merged(mut one: *mut FreeObject, mut other: *mut FreeObject) -> *mut FreeObject {
    let mut head = ptr::null_mut();
    let mut end = &raw mut head;
    // SAFETY: `end` is `head` or the `next` of an object of the chains, and what is not null is an object of theirs.
    unsafe {
        while !one.is_null() && !other.is_null() {
            let lower = if one < other { &raw mut one } else { &raw mut other };
            *end = *lower;
            end = &raw mut (**lower).next;
            *lower = *end;
        }
        *end = if one.is_null() { other } else { one };
    }
    head
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
    CLASS_OF_UNITS.get(size.div_ceil(UNIT)).map(|&class| usize::from(class))
}

fn order_of(layout: Layout) -> u8 {
    let pages = layout.size().max(layout.align()).div_ceil(PAGE_SIZE);
    pages.next_power_of_two().trailing_zeros() as u8
}

fn frames(order: u8) -> *mut u8 {
    let spare_only = PAGE_SIZE << order > RESERVE_MAX_BYTES;
    let block = frames::source().and_then(|source| match spare_only {
        true => source.alloc_spare(order),
        false => source.alloc(order),
    });
    let Some(block) = block else { return ptr::null_mut() };
    assert!(block.order() == order, "a block of the order that was asked for");
    BYTES.fetch_add((PAGE_SIZE as u64) << order, Ordering::Relaxed);
    (DIRECT_MAP + block.into_phys() as usize) as *mut u8
}

/// Gives a block of frames back.
///
/// # Safety
/// It came from [`frames`], and nobody uses it.
unsafe fn give_back(address: usize, order: u8) {
    BYTES.fetch_sub((PAGE_SIZE as u64) << order, Ordering::Relaxed);
    if let Some(source) = frames::source() {
        // SAFETY: as the caller says.
        source.free(unsafe { Block::owned((address - DIRECT_MAP) as u64, order) });
    }
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

/// An object of a class whose list on this CPU is empty; null when memory is out.
#[cold]
#[inline(never)]
fn refilled(class: usize, mut list: SpinLockGuard<'_, FreeList>) -> *mut u8 {
    refill(class, &mut list);
    list.pop().map_or(ptr::null_mut(), <*mut FreeObject>::cast)
}

/// Gives a part of a list that has grown long to all CPUs.
#[cold]
#[inline(never)]
fn share(class: usize, mut list: SpinLockGuard<'_, FreeList>) {
    list.move_to(&mut SHARED.0[class].lock(), BATCH_BYTES / CLASSES[class]);
}

/// A block of frames for a layout that no class serves.
#[cold]
#[inline(never)]
fn alloc_large(layout: Layout) -> *mut u8 {
    frames(order_of(layout))
}

/// # Safety
/// `object` came from [`alloc_large`] for the same layout, and nobody uses it.
#[cold]
#[inline(never)]
unsafe fn dealloc_large(object: *mut u8, layout: Layout) {
    // SAFETY: as the caller says, hence a block of this order.
    unsafe { give_back(object as usize, order_of(layout)) };
}

/// Objects that a shared list had after it was last looked through.
static LOOKED_THROUGH: [AtomicUsize; CLASSES.len()] = [const { AtomicUsize::new(0) }; CLASSES.len()];

/// Gives pages whose objects are all free back to the frame source. Looks only at classes of which much has been freed since
/// the last time, and does nothing with interrupts off, because it looks at every free object.
pub(crate) fn give_back_unused() {
    static BUSY: AtomicBool = AtomicBool::new(false);
    if !irq::enabled() || BUSY.swap(true, Ordering::Acquire) {
        return;
    }
    for (class, &size) in CLASSES.iter().enumerate() {
        let shared = SHARED.0[class].lock().len;
        if shared > LOOKED_THROUGH[class].load(Ordering::Relaxed) + KEEP_BYTES / size {
            give_back_class(class, size);
        }
    }
    BUSY.store(false, Ordering::Release);
}

fn give_back_class(class: usize, size: usize) {
    let mut all = core::mem::replace(&mut *SHARED.0[class].lock(), FreeList::new());
    for cpu in 0..cpu::count() {
        let mut own = core::mem::replace(&mut *percpu::of(cpu).heap.0[class].lock(), FreeList::new());
        let count = own.len;
        own.move_to(&mut all, count);
    }
    let mut rest = all.sorted();
    let mut kept = FreeList::new();
    while let Some(first) = rest.pop() {
        let page = first as usize & !(PAGE_SIZE - 1);
        let mut run = FreeList::new();
        // SAFETY: taken from a list of this class, as are those that follow.
        unsafe { run.push(first) };
        while rest.head as usize & !(PAGE_SIZE - 1) == page {
            rest.move_to(&mut run, 1);
        }
        if run.len < PAGE_SIZE / size {
            let count = run.len;
            run.move_to(&mut kept, count);
        } else {
            // SAFETY: every object of the page is in `run`, which is forgotten here.
            unsafe { give_back(page, 0) };
        }
    }
    LOOKED_THROUGH[class].store(kept.len, Ordering::Relaxed);
    while kept.len > 0 {
        kept.move_to(&mut SHARED.0[class].lock(), BATCH_BYTES / size);
    }
}

// SAFETY: objects come from disjoint parts of frames that belong to the heap, sized and aligned by `class_of` and
// `order_of`; the lists hand each out once.
unsafe impl GlobalAlloc for KernelHeap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(class) = class_of(layout) else { return alloc_large(layout) };
        let mut list = percpu::this().heap.0[class].lock();
        match list.pop() {
            Some(object) => object.cast(),
            None => refilled(class, list),
        }
    }

    unsafe fn dealloc(&self, object: *mut u8, layout: Layout) {
        let Some(class) = class_of(layout) else {
            // SAFETY: the caller frees an object of this layout.
            unsafe { dealloc_large(object, layout) };
            return;
        };
        let mut list = percpu::this().heap.0[class].lock();
        // SAFETY: the caller frees an object of this layout, hence of this class.
        unsafe { list.push(object.cast()) };
        if list.len > KEEP_OBJECTS[class] {
            share(class, list);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_class_that_fits_serves() {
        for size in 0..=CLASSES[CLASSES.len() - 1] {
            let layout = Layout::from_size_align(size, 8).unwrap();
            assert_eq!(class_of(layout), CLASSES.iter().position(|&class| size <= class), "{size}");
        }
        let class = |size, align| class_of(Layout::from_size_align(size, align).unwrap());
        assert_eq!(class(2049, 8), None);
        assert_eq!(class(isize::MAX as usize - 4095, 1), None);
        assert_eq!(class(40, 64).map(|class| CLASSES[class]), Some(64));
        assert_eq!(class(65, 64).map(|class| CLASSES[class]), Some(128));
    }
}
