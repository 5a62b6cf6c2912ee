// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Physical memory: who gets which frame.
//!
//! [`FrameAllocator`] joins the zones (`zone.rs`, one buddy allocator each) with small caches per CPU (`cache.rs`) and
//! pages that idle CPUs fill with zeros (`prezeroed.rs`), and decides by [`ZonePolicy`] where a block comes from: the caller's zone first, then the others by distance. [`Frame`] is a
//! block that frees itself.
//!
//! What is decided here is checked elsewhere: that a block has one owner, by [`Block::claim`]. An address from
//! [`FrameAllocator::alloc_raw`] is nobody's memory yet.
//!
//! Memory that runs out is `None`, never a panic. Allocations for programs fail while a small reserve is left, so that the
//! kernel can still report what happened, and those that a program can do without ([`Class::Request`]) before the others. A free
//! that does not match an allocation is a bug in the kernel and panics.
//!
//! Start-up has three steps: [`FrameAllocator::init`] before there is a heap, [`FrameAllocator::init_high`] once the direct
//! map covers all memory, [`FrameAllocator::init_cpus`] once the heap works and CPUs are known.

mod cache;
mod owned;
mod prezeroed;
mod setup;
#[cfg(test)]
pub(crate) mod tests;

use core::sync::atomic::{AtomicUsize, Ordering};

use arrayvec::ArrayVec;
use hadal_hal::cpu;
use hadal_hal::cpu::percpu::CpuLocal;
use hadal_hal::memory::fallible;
use hadal_hal::memory::frames::{Block, Chain, FrameSource};
use hadal_hal::sync::SpinLock;
use spin::Once;

pub use owned::Frame;
pub use prezeroed::PrezeroStats;
pub use setup::UsableRange;

use crate::buddy::{Arena, FRAME_BYTES, Use};
use crate::zone::Zone;
use cache::{CpuCache, LARGE_ORDER, SMALL_BATCH, SMALL_LIMIT};
use prezeroed::Prezeroed;
use setup::Layout;

/// Most NUMA zones.
pub const MAX_ZONES: usize = 32;
/// The largest order: blocks of 1 GiB.
pub const MAX_ORDER: u8 = crate::buddy::MAX_ORDER;

/// Number of a NUMA zone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ZoneId(pub u8);

impl ZoneId {
    fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// Where a block should come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ZonePolicy {
    /// The zone of the calling CPU, then the others by distance.
    #[default]
    Local,
    /// This zone, then the others by distance from it.
    Prefer(ZoneId),
    /// This zone or nowhere.
    Only(ZoneId),
    /// Zones in turn.
    Interleave,
}

/// For whom a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The kernel itself: may use the reserve.
    Kernel,
    /// A page of a program's: fails while there is no more than the reserve.
    Program,
    /// What a program asks for and may be refused: fails while there is no more than twice the reserve. The rest is for pages, of
    /// stacks and of code that has to be read again, which the program cannot do without when it tells of the failure.
    Request,
}

impl Class {
    /// How many times the reserve has to stay.
    fn reserves(self) -> usize {
        match self {
            Self::Kernel => 0,
            Self::Program => 1,
            Self::Request => 2,
        }
    }
}

/// Memory that is only kept for speed: the page cache, which this crate does not know.
pub trait Reclaim: Sync {
    /// Frees about `frames` frames, if there are so many; returns how many. Called under locks of any kind: it must neither
    /// wait nor take memory.
    fn reclaim(&self, frames: usize) -> usize;
}

/// Frames asked for at a time.
const RECLAIM_FRAMES: usize = 64;

/// Counters of one zone, or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ZoneStats {
    /// Memory that can be handed out, in bytes.
    pub total_bytes: u64,
    /// What of it is free now, per-CPU caches and pre-zeroed pages included.
    pub free_bytes: u64,
    /// Most that was in use at the same time, per-CPU caches included. Over all zones this is the sum of their peaks.
    pub high_water_bytes: u64,
}

/// All physical memory.
pub struct FrameAllocator {
    zones: [Zone; MAX_ZONES],
    layout: Once<Layout>,
    low: Once<()>,
    high: Once<()>,
    caches: Once<CpuLocal<SpinLock<CpuCache>>>,
    /// Pages that idle CPUs have filled with zeros.
    prezeroed: Prezeroed,
    /// Who has memory to give back.
    reclaimer: Once<&'static dyn Reclaim>,
    interleave: AtomicUsize,
    reserve_frames: AtomicUsize,
}

static GLOBAL: FrameAllocator = FrameAllocator::new();

/// The machine's memory.
pub fn global() -> &'static FrameAllocator {
    &GLOBAL
}

impl Default for FrameAllocator {
    fn default() -> Self {
        Self::new()
    }
}

impl FrameAllocator {
    /// An allocator without memory.
    pub const fn new() -> Self {
        Self {
            zones: [const { Zone::new() }; MAX_ZONES],
            layout: Once::new(),
            low: Once::new(),
            high: Once::new(),
            caches: Once::new(),
            prezeroed: Prezeroed::new(),
            reclaimer: Once::new(),
            interleave: AtomicUsize::new(0),
            reserve_frames: AtomicUsize::new(0),
        }
    }

    /// A block of `4096 << order` bytes for the kernel, content arbitrary.
    pub fn alloc(&'static self, order: u8, policy: ZonePolicy) -> Option<Frame> {
        self.claim(order, policy, Class::Kernel).map(|block| Frame::new(self, block))
    }

    /// A block for the kernel, filled with zeros.
    pub fn alloc_zeroed(&'static self, order: u8, policy: ZonePolicy) -> Option<Frame> {
        self.alloc(order, policy).inspect(|frame| frame.clear())
    }

    /// A block for a program, content arbitrary: zero it before the program sees it.
    #[inline(never)]
    pub fn alloc_program(&'static self, order: u8, policy: ZonePolicy) -> Option<Frame> {
        self.claim(order, policy, Class::Program).map(|block| Frame::new(self, block))
    }

    #[inline(always)]
    fn claim(&self, order: u8, policy: ZonePolicy, class: Class) -> Option<Block> {
        if is_refused(class) {
            return None;
        }
        if order == LARGE_ORDER
            && let Some(block) = self.take_large(policy)
        {
            return Some(block);
        }
        let pa = self.choose(order, policy, class)?;
        let block = Block::claim(pa, order);
        assert!(block.is_some(), "the memory at {pa:#x} was free, and has an owner");
        block
    }

    /// A block of a zone if there is one right now: nothing is given back for it.
    fn claim_from(&self, zone: ZoneId, order: u8, class: Class) -> Option<Block> {
        if order == LARGE_ORDER
            && let Some(block) = self.take_large(ZonePolicy::Only(zone))
        {
            return Some(block);
        }
        let layout = self.layout.get()?;
        let pa = layout.arenas.pa(self.take(layout, order, zone, false, class)?);
        let block = Block::claim(pa, order);
        assert!(block.is_some(), "the memory at {pa:#x} was free, and has an owner");
        block
    }

    /// Takes a block back.
    ///
    /// # Panics
    /// If it is lent, or none of this allocator.
    pub fn free(&self, block: Block) {
        let order = block.order();
        if order == LARGE_ORDER {
            self.put_large(block);
        } else {
            self.free_raw(block.release(), order);
        }
    }

    /// Frees all blocks of a chain.
    pub fn free_chain(&self, mut chain: Chain) {
        while let Some(block) = chain.pop() {
            self.free(block);
        }
    }

    /// The physical address of a new block that has no owner in the kernel, for callers that give it to the program.
    pub fn alloc_raw(&self, order: u8, policy: ZonePolicy, class: Class) -> Option<u64> {
        if is_refused(class) {
            return None;
        }
        if order == LARGE_ORDER
            && let Some(block) = self.take_large(policy)
        {
            return Some(block.release());
        }
        self.choose(order, policy, class)
    }

    /// Takes a block out of what is free.
    #[inline(always)]
    fn choose(&self, order: u8, policy: ZonePolicy, class: Class) -> Option<u64> {
        let layout = self.layout.get()?;
        let (zone, others) = match policy {
            ZonePolicy::Local => (self.cpu_zone(cpu::current_id()), true),
            ZonePolicy::Prefer(zone) => (zone, true),
            ZonePolicy::Only(zone) => (zone, false),
            ZonePolicy::Interleave => (self.next_zone(layout), true),
        };
        if zone.index() >= layout.zone_count {
            return None;
        }
        let frame = match self.take_cached(layout, order, zone, class) {
            Some(frame) => frame,
            None => self.take_anyhow(layout, order, zone, others, class)?,
        };
        Some(layout.arenas.pa(frame))
    }

    /// A block from the zones, for which what is only kept is given back.
    #[inline(never)]
    fn take_anyhow(
        &self,
        layout: &Layout,
        order: u8,
        zone: ZoneId,
        others: bool,
        class: Class,
    ) -> Option<u32> {
        let take = || self.take(layout, order, zone, others, class);
        let frame = take().or_else(|| {
            fallible::give_back_unused();
            self.drain_caches();
            take()
        });
        // Large pages can be done without, and the kernel's requests may come under any lock.
        if frame.is_none() && order == 0 && class != Class::Kernel && self.reclaim() {
            return take();
        }
        frame
    }

    /// Takes a block back.
    ///
    /// # Panics
    /// If no block of that address and order is out.
    pub fn free_raw(&self, pa: u64, order: u8) {
        self.release(pa, order);
    }

    /// Turns an allocated block into `2^order` single frames, to be freed one by one.
    ///
    /// # Panics
    /// If no block of that address and order is out.
    pub fn split(&self, pa: u64, order: u8) {
        let (_, arena, frame) = self.locate(pa, order);
        if order == 0 {
            return;
        }
        if let Err(found) = arena.claim(frame, Use::Allocated(order), Use::Allocated(0)) {
            bad_frame("split", pa, order, found);
        }
        for part in 1..1 << order {
            arena.set_use(frame + part, Use::Allocated(0));
        }
    }

    /// Finds the metadata of a block.
    #[inline]
    fn locate(&self, pa: u64, order: u8) -> (&Layout, &Arena, u32) {
        let Some(layout) = self.layout.get() else { bad_frame("use", pa, order, Use::Unknown) };
        let found = layout.arenas.frame(pa).and_then(|frame| Some((layout.arenas.find(frame)?, frame)));
        let Some((arena, frame)) = found else { bad_frame("use", pa, order, Use::Unknown) };
        (layout, arena, frame)
    }

    /// The metadata of the frame at `pa`, if it is memory that can be handed out.
    pub(crate) fn find(&self, pa: u64) -> Option<(&Arena, u32)> {
        let arenas = &self.layout.get()?.arenas;
        let frame = arenas.frame(pa)?;
        Some((arenas.find(frame)?, frame))
    }

    /// First number that no frame has.
    pub(crate) fn frame_limit(&self) -> u32 {
        let arenas = self.layout.get().map(|layout| layout.arenas.iter());
        arenas.into_iter().flatten().map(|arena| arena.first() + arena.count() as u32).max().unwrap_or(0)
    }

    /// First physical address behind all frames.
    pub(crate) fn end(&self) -> u64 {
        self.layout.get().map_or(0, |layout| layout.arenas.pa(self.frame_limit()))
    }

    /// The zones other than `zone`, nearest first.
    pub(crate) fn zones_by_distance(&self, zone: ZoneId) -> impl Iterator<Item = ZoneId> {
        self.layout.get().into_iter().flat_map(move |layout| layout.by_distance(zone))
    }

    /// Number of free pages of 2 MiB in a zone, those in larger blocks included.
    pub fn free_large_pages(&self, zone: ZoneId) -> u64 {
        self.zones.get(zone.index()).map_or(0, Zone::free_large_pages)
    }

    fn next_zone(&self, layout: &Layout) -> ZoneId {
        let turn = self.interleave.fetch_add(1, Ordering::Relaxed);
        (0..layout.zone_count)
            .map(|step| (turn + step) % layout.zone_count)
            .find(|&zone| self.zones[zone].total_frames() > 0)
            .map_or(ZoneId(0), |zone| ZoneId(zone as u8))
    }

    fn take(&self, layout: &Layout, order: u8, zone: ZoneId, others: bool, class: Class) -> Option<u32> {
        if let Some(frame) = self.take_cached(layout, order, zone, class) {
            return Some(frame);
        }
        if !self.permits(order, class) {
            return None;
        }
        let nearest = self.zones[zone.index()].take(&layout.arenas, order, Use::Allocated);
        if nearest.is_some() || !others {
            return nearest;
        }
        layout
            .by_distance(zone)
            .find_map(|other| self.zones[other.index()].take(&layout.arenas, order, Use::Allocated))
    }

    /// Whether a block of that order may be taken without touching what has to stay.
    fn permits(&self, order: u8, class: Class) -> bool {
        let reserve = self.reserve_frames.load(Ordering::Relaxed) * class.reserves();
        class == Class::Kernel
            || 1usize
                .checked_shl(u32::from(order))
                .is_some_and(|frames| self.has_free_frames(reserve + frames))
    }

    /// Whether the zones have so many free frames, but for what is in the caches of CPUs. Mostly the first one has.
    #[inline]
    fn has_free_frames(&self, wanted: usize) -> bool {
        let zones = self.layout.get().map_or(0, |layout| layout.zone_count);
        let mut free = 0;
        wanted == 0
            || self.zones[..zones].iter().any(|zone| {
                free += zone.free_frames();
                free >= wanted
            })
    }

    /// The same for so many bytes.
    pub(crate) fn has_free_bytes(&self, wanted: u64) -> bool {
        self.has_free_frames(wanted.div_ceil(FRAME_BYTES) as usize)
    }

    /// Memory that is in use, or in the caches of CPUs; without a lock, so that interrupts may ask.
    pub fn used_bytes(&self) -> u64 {
        let zones = self.layout.get().map_or(0, |layout| layout.zone_count);
        self.zones[..zones].iter().map(Zone::used_frames).sum::<usize>() as u64 * FRAME_BYTES
    }

    fn release(&self, pa: u64, order: u8) {
        let (layout, arena, frame) = self.locate(pa, order);
        if let Err(found) = arena.claim(frame, Use::Allocated(order), Use::Cached(order)) {
            bad_frame("free", pa, order, found);
        }
        let zone = &self.zones[arena.zone()];
        match (order, self.caches.get()) {
            (0, Some(caches)) => {
                let mut cache = caches.this().lock();
                if cache.zone.index() != arena.zone() {
                    drop(cache);
                    zone.give(&layout.arenas, [frame].into_iter(), order);
                    return;
                }
                if cache.small.len() == SMALL_LIMIT {
                    let coldest: ArrayVec<u32, SMALL_BATCH> = cache.small.drain(..SMALL_BATCH).collect();
                    zone.give(&layout.arenas, coldest.into_iter(), 0);
                }
                cache.small.push(frame);
            }
            (LARGE_ORDER, Some(_)) => {
                // Of a block that is in a cache already the cache is the owner.
                let Some(block) = Block::claim(pa, order) else {
                    bad_frame("free", pa, order, Use::Cached(order))
                };
                arena.set_use(frame, Use::Allocated(order));
                self.put_large(block);
            }
            _ => zone.give(&layout.arenas, [frame].into_iter(), order),
        }
    }

    /// Number of zones.
    pub fn zone_count(&self) -> usize {
        self.layout.get().map_or(0, |layout| layout.zone_count)
    }

    /// The zone that a physical address is in, if it is memory that can be handed out.
    pub fn zone_of(&self, pa: u64) -> Option<ZoneId> {
        let arenas = &self.layout.get()?.arenas;
        let arena = arenas.find(arenas.frame(pa & !(FRAME_BYTES - 1))?)?;
        Some(ZoneId(arena.zone() as u8))
    }

    /// The zone of a CPU; zone 0 before [`FrameAllocator::init_cpus`].
    pub fn cpu_zone(&self, cpu: usize) -> ZoneId {
        self.layout.get().map_or(ZoneId(0), |layout| layout.cpu_zone(cpu))
    }

    /// Relative cost of reaching memory of zone `to` from a CPU of zone `from`: 10 is local.
    pub fn distance(&self, from: ZoneId, to: ZoneId) -> u8 {
        self.layout.get().map_or(10, |layout| layout.distance(from, to))
    }

    /// Counters of one zone. Frames that move between the zone and a CPU's cache meanwhile may be counted twice or not at
    /// all; what is free is never more than there is.
    pub fn zone_stats(&self, zone: ZoneId) -> ZoneStats {
        let cached: usize = self.caches.get().map_or(0, |caches| {
            caches
                .iter()
                .map(|cache| cache.lock())
                .filter(|cache| cache.zone == zone)
                .map(|cache| cache.frames())
                .sum()
        });
        let Some(counters) = self.zones.get(zone.index()) else { return ZoneStats::default() };
        let cached = cached + counters.prezeroed_frames();
        let bytes = |frames: usize| frames as u64 * FRAME_BYTES;
        let total = counters.total_frames();
        ZoneStats {
            total_bytes: bytes(total),
            free_bytes: bytes((counters.free_frames() + cached).min(total)),
            high_water_bytes: bytes(counters.most_used_frames()),
        }
    }

    /// Sums over all zones.
    pub fn stats(&self) -> ZoneStats {
        (0..self.zone_count()).map(|zone| self.zone_stats(ZoneId(zone as u8))).fold(
            ZoneStats::default(),
            |sum, zone| ZoneStats {
                total_bytes: sum.total_bytes + zone.total_bytes,
                free_bytes: sum.free_bytes + zone.free_bytes,
                high_water_bytes: sum.high_water_bytes + zone.high_water_bytes,
            },
        )
    }

    /// Names who is asked to give memory back before a program is refused a frame; the first call wins.
    pub fn set_reclaimer(&self, reclaimer: &'static dyn Reclaim) {
        self.reclaimer.call_once(|| reclaimer);
    }

    /// Asks for memory back; whether there was any.
    fn reclaim(&self) -> bool {
        self.reclaimer.get().is_some_and(|reclaimer| reclaimer.reclaim(RECLAIM_FRAMES) > 0)
    }

    /// Whether so many frames can be had without touching the kernel's reserve `reserves` times over, once caches and what is
    /// only kept for speed are given back.
    #[inline]
    fn has_beyond(&self, reserves: usize, frames: usize) -> bool {
        let wanted = self.reserve_frames.load(Ordering::Relaxed) * reserves + frames;
        self.has_free_frames(wanted) || self.gets(wanted)
    }

    /// Gives back what can be, and says whether so many frames are free then.
    #[cold]
    fn gets(&self, wanted: usize) -> bool {
        let is_there = || self.has_free_frames(wanted);
        fallible::give_back_unused();
        self.drain_caches();
        is_there() || (self.reclaim() && is_there())
    }

    /// Whether programs can have no more memory, even what is only kept for speed.
    pub fn is_short(&self) -> bool {
        !self.has_beyond(Class::Program.reserves(), 1)
    }

    /// Memory that programs cannot have.
    pub fn reserve_bytes(&self) -> u64 {
        self.reserve_frames.load(Ordering::Relaxed) as u64 * FRAME_BYTES
    }
}

impl FrameSource for FrameAllocator {
    fn alloc(&self, order: u8) -> Option<Block> {
        self.claim(order, ZonePolicy::Local, Class::Kernel)
    }

    fn alloc_spare(&self, order: u8) -> Option<Block> {
        self.claim(order, ZonePolicy::Local, Class::Program)
    }

    fn has_spare(&self, bytes: usize) -> bool {
        self.has_beyond(Class::Request.reserves(), bytes.div_ceil(FRAME_BYTES as usize))
    }

    fn free(&self, block: Block) {
        self.free(block);
    }

    fn split(&self, pa: u64, order: u8) {
        self.split(pa, order);
    }
}

/// Whether a request is one of those that a test lets fail.
#[inline]
fn is_refused(class: Class) -> bool {
    class != Class::Kernel && fallible::is_failure_injected()
}

#[cold]
fn bad_frame(what: &str, pa: u64, order: u8, found: Use) -> ! {
    panic!("{what} of a frame that is not allocated: address {pa:#x}, order {order}, in truth {found:?}");
}
