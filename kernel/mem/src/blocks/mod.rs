// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Memory that programs use through the direct map (`hrt_alloc`): contiguous, never moved, never faulting.
//!
//! Small sizes are objects in pages (`slab.rs`), larger ones blocks of frames from the zones' buddy allocators. Each CPU
//! keeps some of every class up to 2 MiB (`cache.rs`), so that the usual allocation and free touch nothing of another CPU's:
//! a zone's lock is taken once for a page of objects or 32, and for what has to go home to another zone.
//!
//! A program is not trusted with what it frees: records of pages tell what they are used for, and a bit for each object
//! whether the program has it. Nothing that the program can write by accident is ever believed.

mod cache;
mod class;
mod live;
mod pages;
mod slab;

use alloc::boxed::Box;
use core::sync::atomic::Ordering;

use hadal_hal::cpu::percpu::CpuLocal;
use hadal_hal::sync::{Rank, SpinLock};

use crate::buddy::{Arena, FRAME_BYTES, Use};
use crate::frames::{Class as For, FrameAllocator, ZoneId, ZonePolicy};
use cache::Cache;
use class::{Class, LARGEST_OBJECT, OBJECTS, object_class, per_page};
use live::Live;
use pages::Pages;
use slab::{Object, Stock};

/// The part of memory that all CPUs together may keep in blocks of frames: a fourth. Who asks on another CPU does not get it.
const KEPT_PART: u64 = 4;

/// Where a block may come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// This zone (`None`: the caller's), then the others by distance.
    Prefer(Option<ZoneId>),
    /// This zone only.
    Only(Option<ZoneId>),
    /// Zones in turn.
    Interleave,
}

/// What is in a block at first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Zeros.
    Zeros,
    /// Whatever was there.
    Any,
}

/// The address is not the start of a block that the program has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotABlock;

/// Given out from one zone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Bytes now, rounded up to the classes.
    pub bytes: u64,
    /// Allocations so far.
    pub allocations: u64,
}

/// The allocator.
pub struct Blocks {
    frames: &'static FrameAllocator,
    live: Live,
    pages: Pages,
    cpus: CpuLocal<Cache>,
    /// By zone and object class.
    stocks: Box<[[SpinLock<Stock>; OBJECTS.len()]]>,
}

/// What is at an address.
enum Found<'a> {
    Object(Object),
    Frames(&'a Arena, u8),
}

impl Blocks {
    /// An allocator on `frames`, once those know the `cpus`.
    pub fn new(frames: &'static FrameAllocator, cpus: usize) -> Self {
        let zones = frames.zone_count();
        let kept_bytes = frames.stats().total_bytes / KEPT_PART / cpus as u64;
        Self {
            frames,
            live: Live::new(frames.frame_limit()),
            pages: Pages::new(frames.end()),
            cpus: CpuLocal::new(cpus, |cpu| {
                Cache::new(usize::from(frames.cpu_zone(cpu).0), zones, kept_bytes)
            }),
            stocks: (0..zones)
                .map(|_| [const { SpinLock::ranked(Rank::BlockStock, Stock::new()) }; OBJECTS.len()])
                .collect(),
        }
    }

    /// The physical address of a new block of at least `bytes` at a multiple of `align`, a power of two. For kernel code in
    /// thread context.
    pub fn alloc(&self, bytes: u64, align: u64, place: Place, content: Content) -> Option<u64> {
        if bytes == 0 || !align.is_power_of_two() {
            return None;
        }
        let class = Class::of(bytes, align)?;
        let own = self.cpus.this();
        let (zone, others) = match place {
            Place::Prefer(zone) => (zone.map_or(own.zone, |zone| zone.0.into()), true),
            Place::Only(zone) => (zone.map_or(own.zone, |zone| zone.0.into()), false),
            Place::Interleave => (own.turn.fetch_add(1, Ordering::Relaxed) % self.stocks.len(), true),
        };
        if zone >= self.stocks.len() {
            return None;
        }
        let pa = match class {
            Class::Object(number) => self.alloc_object(own, number, zone, others),
            Class::Frames(order) => self.alloc_frames(own, order, zone, others),
        }?;
        if content == Content::Zeros {
            hadal_hal::memory::frames::zero_unowned(pa, bytes as usize);
        }
        Some(pa)
    }

    /// The same for up to 2 KiB of any content, from the caller's zone if it has any: the usual request.
    #[inline(always)]
    pub fn alloc_small(&self, bytes: u64) -> Option<u64> {
        if bytes.wrapping_sub(1) >= LARGEST_OBJECT {
            return self.alloc(bytes, 16, Place::Prefer(None), Content::Any);
        }
        let own = self.cpus.this();
        let number = object_class(bytes);
        let kept = &own.objects[usize::from(number)];
        let Some(object) = kept.pop() else {
            return self.alloc_object(own, number, own.zone, true);
        };
        kept.given.add(1);
        object.hand_out();
        Some(object.pa())
    }

    #[cold]
    fn alloc_object(&self, own: &Cache, class: u8, zone: usize, others: bool) -> Option<u64> {
        if zone == own.zone
            && let Some(object) = self.take_kept(own, class)
        {
            own.objects[usize::from(class)].given.add(1);
            object.hand_out();
            return Some(object.pa());
        }
        let object = self.first_of_zones(zone, others, |zone| {
            let mut stock = self.stocks[zone][usize::from(class)].lock();
            self.take_object(&mut stock, zone, class)
        })?;
        self.note_given(own, object.slab.zone(), Class::Object(class));
        object.hand_out();
        Some(object.pa())
    }

    fn alloc_frames(&self, own: &Cache, order: u8, zone: usize, others: bool) -> Option<u64> {
        let kept = own.frames.get(usize::from(order)).filter(|_| zone == own.zone);
        let pa = kept.and_then(|kept| kept.pop()).or_else(|| {
            self.first_of_zones(zone, others, |zone| {
                self.frames.alloc_raw(order, ZonePolicy::Only(ZoneId(zone as u8)), For::Request)
            })
        })?;
        let (arena, frame) = self.frames.find(pa)?;
        self.live.set(frame, order, true);
        arena.set_use(frame, Use::Program(order));
        self.note_given(own, arena.zone(), Class::Frames(order));
        Some(pa)
    }

    /// What `take` finds in a zone, or if allowed in the nearest of the others.
    fn first_of_zones<T>(&self, zone: usize, others: bool, take: impl Fn(usize) -> Option<T>) -> Option<T> {
        take(zone).or_else(|| {
            let nearest = self.frames.zones_by_distance(ZoneId(zone as u8)).filter(|_| others);
            nearest.map(|zone| usize::from(zone.0)).find_map(take)
        })
    }

    fn note_given(&self, own: &Cache, zone: usize, class: Class) {
        own.figures[zone].bytes.add(class.bytes());
        own.figures[zone].allocations.add(1);
    }

    /// Takes an object of the caller's zone, with more to keep: all of a new page, so that no other CPU gets any of it.
    fn take_kept(&self, own: &Cache, class: u8) -> Option<Object> {
        let kept = &own.objects[usize::from(class)];
        if let Some(object) = kept.pop() {
            return Some(object);
        }
        let mut stock = self.stocks[own.zone][usize::from(class)].lock();
        for _ in 0..(kept.limit() / 2).max(per_page(class) as usize) {
            let Some(object) = self.take_object(&mut stock, own.zone, class) else { break };
            kept.push(object);
        }
        kept.pop()
    }

    fn take_object(&self, stock: &mut Stock, zone: usize, class: u8) -> Option<Object> {
        if let Some(object) = stock.take() {
            return Some(object);
        }
        let pa = self.frames.alloc_raw(0, ZonePolicy::Only(ZoneId(zone as u8)), For::Request)?;
        let (arena, frame) = self.frames.find(pa)?;
        let noted = self.pages.place(pa);
        let Some((noted, index)) = noted.and_then(|noted| Some((noted, stock.add_page(pa, zone, class)?)))
        else {
            self.frames.free_raw(pa, 0);
            return None;
        };
        noted.store(Some(slab::slab(index)), Ordering::Release);
        arena.set_use(frame, Use::Slab);
        self.live.set(frame, 0, true);
        stock.take()
    }

    fn find(&self, pa: u64) -> Option<Found<'_>> {
        if let Some(page) = self.pages.at(pa) {
            return page.at(pa).filter(|object| object.is_live()).map(Found::Object);
        }
        let (arena, frame) = self.frames.find(pa)?;
        match arena.use_of(frame) {
            Use::Program(order) => Some(Found::Frames(arena, order)),
            _ => None,
        }
    }

    /// Takes a block back. For kernel code in thread context.
    #[inline(always)]
    pub fn free(&self, pa: u64) -> Result<(), NotABlock> {
        let Some(page) = self.pages.at(pa) else {
            return self.free_frames(pa);
        };
        let object = page.at(pa).filter(|object| object.take_back()).ok_or(NotABlock)?;
        let own = self.cpus.this();
        if page.zone() != own.zone {
            self.put_away(own, object);
            return Ok(());
        }
        let kept = &own.objects[usize::from(page.class())];
        kept.taken_back.add(1);
        if !kept.push(object) {
            self.make_room(own, object);
        }
        Ok(())
    }

    #[cold]
    fn free_frames(&self, pa: u64) -> Result<(), NotABlock> {
        let (arena, frame) = self.frames.find(pa).ok_or(NotABlock)?;
        let Use::Program(order) = arena.use_of(frame) else { return Err(NotABlock) };
        arena.claim(frame, Use::Program(order), Use::Allocated(order)).map_err(|_| NotABlock)?;
        self.live.set(frame, order, false);
        let own = self.cpus.this();
        let kept = own.frames.get(usize::from(order)).filter(|_| arena.zone() == own.zone);
        if !kept.is_some_and(|kept| kept.push(pa)) {
            self.frames.free_raw(pa, order);
        }
        self.note_back(own, arena.zone(), Class::Frames(order));
        Ok(())
    }

    fn note_back(&self, own: &Cache, zone: usize, class: Class) {
        own.figures[zone].bytes.add(class.bytes().wrapping_neg());
    }

    /// An object of another zone.
    #[cold]
    fn put_away(&self, own: &Cache, object: Object) {
        self.note_back(own, object.slab.zone(), Class::Object(object.slab.class()));
        if !own.away.push(object) {
            self.send_home(own);
            own.away.push(object);
        }
    }

    /// Keeps an object where there is no room: half of what is there goes back to the zone.
    #[cold]
    fn make_room(&self, own: &Cache, object: Object) {
        let class = usize::from(object.slab.class());
        let kept = &own.objects[class];
        let mut stock = self.stocks[own.zone][class].lock();
        for _ in 0..kept.limit() / 2 {
            if let Some(other) = kept.pop() {
                self.give_object(&mut stock, other);
            }
        }
        drop(stock);
        kept.push(object);
    }

    /// Gives the objects of other zones back.
    fn send_home(&self, own: &Cache) {
        while let Some(object) = own.away.pop() {
            let page = object.slab;
            let mut stock = self.stocks[page.zone()][usize::from(page.class())].lock();
            self.give_object(&mut stock, object);
        }
    }

    fn give_object(&self, stock: &mut Stock, object: Object) {
        let Some(empty) = stock.give(object) else { return };
        let Some((arena, frame)) = self.frames.find(empty.pa) else { return };
        self.live.set(frame, 0, false);
        if let Some(noted) = self.pages.place(empty.pa) {
            noted.store(None, Ordering::Release);
        }
        arena.set_use(frame, Use::Allocated(0));
        empty.forget();
        self.frames.free_raw(empty.pa, 0);
    }

    /// Bytes that may be used from the start of a block on.
    pub fn usable_bytes(&self, pa: u64) -> Option<u64> {
        Some(match self.find(pa)? {
            Found::Object(object) => Class::Object(object.slab.class()).bytes(),
            Found::Frames(_, order) => Class::Frames(order).bytes(),
        })
    }

    /// The zone of a block, by its start.
    pub fn zone_of(&self, pa: u64) -> Option<ZoneId> {
        let zone = match self.find(pa)? {
            Found::Object(object) => object.slab.zone(),
            Found::Frames(arena, _) => arena.zone(),
        };
        Some(ZoneId(zone as u8))
    }

    /// Whether all of a range of memory is in pages given to the program.
    pub fn contains(&self, pa: u64, len: usize) -> bool {
        let Some(end) = pa.checked_add(len as u64) else { return false };
        let Some((_, mut frame)) = self.frames.find(pa & !(FRAME_BYTES - 1)) else { return false };
        let mut at = pa & !(FRAME_BYTES - 1);
        loop {
            let span = self.live.span(frame);
            if span == 0 {
                return false;
            }
            at += u64::from(span) * FRAME_BYTES;
            frame += span;
            if at >= end {
                return true;
            }
        }
    }

    /// What is given out from a zone.
    pub fn figures(&self, zone: ZoneId) -> Figures {
        let mut sum = Figures::default();
        for cpu in self.cpus.iter() {
            if let Some(one) = cpu.figures.get(usize::from(zone.0)) {
                sum.bytes = sum.bytes.wrapping_add(one.bytes.get());
                sum.allocations += one.allocations.get();
            }
            for (kept, &size) in cpu.objects.iter().zip(&OBJECTS).filter(|_| cpu.zone == usize::from(zone.0))
            {
                let now = kept.given.get().wrapping_sub(kept.taken_back.get());
                sum.bytes = sum.bytes.wrapping_add(now.wrapping_mul(size.into()));
                sum.allocations += kept.given.get();
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests;
