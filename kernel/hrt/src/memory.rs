// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Memory for programs through the direct map: the calls on top of `hadal_mem::blocks`.

use core::sync::atomic::Ordering;

use hadal_hal::cpu;
use hadal_hal::memory::fallible::OutOfMemory;
use hadal_hal::memory::layout::DIRECT_MAP;
use hadal_hal::memory::user;
use hadal_hal::threads::link::AtomicRef;
use hadal_hrt_abi::base::ZONE_ANY;
use hadal_hrt_abi::memory::{ALLOC_HUGE, ALLOC_INTERLEAVE, ALLOC_STRICT, ALLOC_ZERO};
use hadal_mem::blocks::{Blocks, Content, Figures, NotABlock, Place};
use hadal_mem::frames::{self, ZoneId};
use spin::Once;

use crate::program::Program;
use crate::status::{Code, Status};
use crate::{owners, topology};

/// Bytes of the smallest block for `ALLOC_HUGE`.
const HUGE_BYTES: u64 = 2 << 20;

static BLOCKS: Once<Blocks> = Once::new();

/// The same while no record is kept of who has which block ([`owners`]): for the usual calls, which have no time to ask.
#[cfg(not(loom))]
static UNRECORDED: AtomicRef<Blocks> = AtomicRef::none();
/// Models, which do not use it, have no atomics that are made at compile time.
#[cfg(loom)]
static UNRECORDED: spin::LazyLock<AtomicRef<Blocks>> = spin::LazyLock::new(AtomicRef::none);

struct Direct;

impl user::DirectMemory for Direct {
    fn contains(&self, pa: u64, len: usize) -> bool {
        blocks().contains(pa, len)
    }
}

/// Makes the allocator, once the processors are counted.
pub(crate) fn init() {
    let blocks = BLOCKS.call_once(|| Blocks::new(frames::global(), cpu::count()));
    UNRECORDED.store(Some(blocks), Ordering::Relaxed);
    user::set_direct_memory(&Direct);
}

fn blocks() -> &'static Blocks {
    match BLOCKS.get() {
        Some(blocks) => blocks,
        None => unreachable!("the allocator is made before the program runs"),
    }
}

/// From now on a record is kept of who has which block, for a machine that outlives programs.
pub fn keep_records() {
    UNRECORDED.store(None, Ordering::Relaxed);
}

/// The memory of a process is copied for a child of its own, from one window to another.
///
/// # Errors
/// There is no memory to keep a record of that.
pub fn window_copied(from: u16, to: u16) -> Result<(), OutOfMemory> {
    owners::share(from, to)
}

/// No process runs in a window any more.
pub fn window_emptied(window: u16) {
    owners::leave(window, blocks());
}

/// What is given out from a zone.
pub(crate) fn figures(zone: ZoneId) -> Figures {
    blocks().figures(zone)
}

/// The physical address of a pointer into the direct map.
fn physical(address: usize) -> Option<u64> {
    address.checked_sub(DIRECT_MAP).map(|pa| pa as u64)
}

#[cold]
fn allocate(bytes: u64, align: u64, zone: i32, flags: u32) -> Option<u64> {
    if flags & !(ALLOC_ZERO | ALLOC_STRICT | ALLOC_INTERLEAVE | ALLOC_HUGE) != 0 {
        return None;
    }
    let zone = match zone {
        ZONE_ANY => None,
        _ => Some(topology::known_zone(u32::try_from(zone).ok()?)?),
    };
    let place = match () {
        () if flags & ALLOC_INTERLEAVE != 0 => Place::Interleave,
        () if flags & ALLOC_STRICT != 0 => Place::Only(zone),
        () => Place::Prefer(zone),
    };
    let content = if flags & ALLOC_ZERO != 0 { Content::Zeros } else { Content::Any };
    let bytes = if flags & ALLOC_HUGE != 0 && bytes != 0 { bytes.max(HUGE_BYTES) } else { bytes };
    blocks().alloc(bytes, align, place, content)
}

/// Any request, with a record of it if records are kept.
#[cold]
fn allocate_any<P: Program>(bytes: u64, align: u64, zone: i32, flags: u32) -> Option<u64> {
    let pa = allocate(bytes, align, zone, flags)?;
    if UNRECORDED.load(Ordering::Relaxed).is_some() {
        return Some(pa);
    }
    match owners::add(own_window::<P>(), pa) {
        Ok(()) => Some(pa),
        Err(OutOfMemory) => {
            let _ = blocks().free(pa);
            None
        }
    }
}

#[cold]
#[inline(never)]
fn free_recorded<P: Program>(memory: usize) -> Code {
    let free = |pa| if owners::remove(own_window::<P>(), pa) { blocks().free(pa) } else { Err(NotABlock) };
    freed(physical(memory).map(free))
}

fn own_window<P: Program>() -> u16 {
    P::current().window()
}

/// `alloc`.
pub(crate) extern "C" fn alloc<P: Program>(bytes: u64, align: u64, zone: i32, flags: u32) -> usize {
    let pa = if (align, zone, flags) == (16, ZONE_ANY, 0)
        && let Some(blocks) = UNRECORDED.load(Ordering::Relaxed)
    {
        blocks.alloc_small(bytes)
    } else {
        allocate_any::<P>(bytes, align, zone, flags)
    };
    pa.map_or(0, |pa| DIRECT_MAP + pa as usize)
}

/// `free`.
pub(crate) extern "C" fn free<P: Program>(memory: usize) -> Code {
    if memory == 0 {
        return 0;
    }
    let Some(blocks) = UNRECORDED.load(Ordering::Relaxed) else { return free_recorded::<P>(memory) };
    freed(physical(memory).map(|pa| blocks.free(pa)))
}

#[inline(always)]
fn freed(outcome: Option<Result<(), NotABlock>>) -> Code {
    match outcome {
        Some(Ok(())) => 0,
        _ => Status::Invalid as Code,
    }
}

/// `usable_bytes`.
pub(crate) extern "C" fn usable_bytes(memory: usize) -> u64 {
    physical(memory).and_then(|pa| blocks().usable_bytes(pa)).unwrap_or(0)
}

/// `zone_of`.
pub(crate) extern "C" fn zone_of(memory: usize) -> i32 {
    physical(memory).and_then(|pa| blocks().zone_of(pa)).map_or(ZONE_ANY, |zone| zone.0.into())
}
