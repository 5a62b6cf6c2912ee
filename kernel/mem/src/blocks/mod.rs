// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Memory that programs use through the direct map (`hrt_alloc`): contiguous, never moved, never faulting.
//!
//! Small sizes are objects in pages (`slab.rs`), larger ones blocks of frames from the zones' buddy allocators. Each CPU
//! keeps some of every class up to 2 MiB (`cache.rs`), so that the usual allocation and free touch nothing of another CPU's:
//! a zone's lock is taken once for 32 objects, and for what has to go home to another zone.
//!
//! A program is not trusted with what it frees: a word for each page tells what it is used for, and a bit for each object
//! whether the program has it. Nothing that the program can write by accident is ever believed.

mod cache;
mod class;
mod live;
mod slab;

use alloc::boxed::Box;
use core::sync::atomic::Ordering;

use hadal_hal::percpu::CpuLocal;
use hadal_hal::phys;
use hadal_hal::sync::SpinLock;

use crate::buddy::{Arena, FRAME_BYTES, Use};
use crate::frames::{Class as For, FrameAllocator, ZoneId, ZonePolicy};
use cache::{BATCH, Cache};
use class::{Class, OBJECTS};
use live::Live;
use slab::{Object, Stock};

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
    cpus: CpuLocal<Cache>,
    /// By zone and object class.
    stocks: Box<[[SpinLock<Stock>; OBJECTS.len()]]>,
}

/// What is at an address.
enum Found<'a> {
    Object(Object),
    Frames(&'a Arena, u32, u8),
}

impl Blocks {
    /// An allocator on `frames`, once those know the `cpus`.
    pub fn new(frames: &'static FrameAllocator, cpus: usize) -> Self {
        let zones = frames.zone_count();
        Self {
            frames,
            live: Live::new(frames.frame_limit()),
            cpus: CpuLocal::new(cpus, |cpu| Cache::new(usize::from(frames.cpu_zone(cpu).0), zones)),
            stocks: (0..zones).map(|_| [const { SpinLock::new(Stock::new()) }; OBJECTS.len()]).collect(),
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
        let mut from = zone;
        let mut taken = if zone == own.zone { self.take_own(own, class) } else { self.take(zone, class) };
        if taken.is_none() && others {
            let nearest = self.frames.zones_by_distance(ZoneId(zone as u8)).map(|zone| usize::from(zone.0));
            (from, taken) =
                nearest.map(|zone| (zone, self.take(zone, class))).find(|(_, taken)| taken.is_some())?;
        }
        let pa = self.hand_out(class, taken?)?;
        let figures = &own.figures[from];
        figures.bytes.fetch_add(class.bytes(), Ordering::Relaxed);
        figures.allocations.fetch_add(1, Ordering::Relaxed);
        if content == Content::Zeros {
            phys::zero(pa, bytes as usize);
        }
        Some(pa)
    }

    /// Takes a block of the caller's zone: an [`Object`]'s word, or a block's address.
    #[inline]
    fn take_own(&self, own: &Cache, class: Class) -> Option<u64> {
        let Some(kept) = class.kept().map(|class| &own.kept[class]) else {
            return self.take(own.zone, class);
        };
        if let Some(word) = kept.pop() {
            return Some(word);
        }
        if let Class::Object(number) = class {
            let mut stock = self.stocks[own.zone][usize::from(number)].lock();
            for _ in 0..BATCH {
                let Some(object) = self.take_object(&mut stock, own.zone, number) else { break };
                kept.push(object.0);
            }
            return kept.pop();
        }
        self.take(own.zone, class)
    }

    /// Takes a block of any zone.
    fn take(&self, zone: usize, class: Class) -> Option<u64> {
        match class {
            Class::Object(number) => {
                let mut stock = self.stocks[zone][usize::from(number)].lock();
                self.take_object(&mut stock, zone, number).map(|object| object.0)
            }
            Class::Frames(order) => {
                self.frames.alloc_raw(order, ZonePolicy::Only(ZoneId(zone as u8)), For::Program)
            }
        }
    }

    fn take_object(&self, stock: &mut Stock, zone: usize, class: u8) -> Option<Object> {
        if let Some(object) = stock.take() {
            return Some(object);
        }
        let pa = self.frames.alloc_raw(0, ZonePolicy::Only(ZoneId(zone as u8)), For::Program)?;
        let (arena, frame) = self.frames.find(pa)?;
        let Some(index) = stock.add_page(pa, zone, class) else {
            self.frames.free_raw(pa, 0);
            return None;
        };
        arena.link(frame).store(index, Ordering::Relaxed);
        arena.set_use(frame, Use::Slab);
        self.live.set(frame, 0, true);
        stock.take()
    }

    /// The block becomes the program's; returns where it is.
    fn hand_out(&self, class: Class, word: u64) -> Option<u64> {
        match class {
            Class::Object(_) => {
                let object = Object(word);
                object.hand_out();
                Some(object.pa())
            }
            Class::Frames(order) => {
                let (arena, frame) = self.frames.find(word)?;
                self.live.set(frame, order, true);
                arena.set_use(frame, Use::Program(order));
                Some(word)
            }
        }
    }

    fn find(&self, pa: u64) -> Option<Found<'_>> {
        let offset = pa % FRAME_BYTES;
        let (arena, frame) = self.frames.find(pa - offset)?;
        if self.live.span(frame) == 0 {
            return None;
        }
        match arena.use_of(frame) {
            Use::Slab => {
                let index = arena.link(frame).load(Ordering::Relaxed);
                slab::slab(index).find(index, offset).map(Found::Object)
            }
            Use::Program(order) if offset == 0 => Some(Found::Frames(arena, frame, order)),
            _ => None,
        }
    }

    /// Takes a block back. For kernel code in thread context.
    pub fn free(&self, pa: u64) -> Result<(), NotABlock> {
        let own = self.cpus.this();
        let (zone, class) = match self.find(pa).ok_or(NotABlock)? {
            Found::Object(object) => {
                let page = object.slab();
                let (zone, class) = (page.zone(), page.class());
                if !page.take_back(object) {
                    return Err(NotABlock);
                }
                self.put_object(own, object, zone, class);
                (zone, Class::Object(class))
            }
            Found::Frames(arena, frame, order) => {
                arena.claim(frame, Use::Program(order), Use::Allocated(order)).map_err(|_| NotABlock)?;
                self.live.set(frame, order, false);
                let class = Class::Frames(order);
                let kept = class.kept().filter(|_| arena.zone() == own.zone).map(|class| &own.kept[class]);
                if !kept.is_some_and(|kept| kept.push(pa)) {
                    self.frames.free_raw(pa, order);
                }
                (arena.zone(), class)
            }
        };
        own.figures[zone].bytes.fetch_sub(class.bytes(), Ordering::Relaxed);
        Ok(())
    }

    #[inline]
    fn put_object(&self, own: &Cache, object: Object, zone: usize, class: u8) {
        if zone != own.zone {
            if !own.away.push(object.0) {
                self.send_home(own);
                own.away.push(object.0);
            }
            return;
        }
        let kept = &own.kept[usize::from(class)];
        if !kept.push(object.0) {
            let mut stock = self.stocks[zone][usize::from(class)].lock();
            for _ in 0..BATCH {
                if let Some(word) = kept.pop() {
                    self.give_object(&mut stock, Object(word));
                }
            }
            drop(stock);
            kept.push(object.0);
        }
    }

    /// Gives the objects of other zones back.
    fn send_home(&self, own: &Cache) {
        while let Some(word) = own.away.pop() {
            let object = Object(word);
            let page = object.slab();
            let mut stock = self.stocks[page.zone()][usize::from(page.class())].lock();
            self.give_object(&mut stock, object);
        }
    }

    fn give_object(&self, stock: &mut Stock, object: Object) {
        let Some(empty) = stock.give(object) else { return };
        let Some((arena, frame)) = self.frames.find(empty.pa) else { return };
        self.live.set(frame, 0, false);
        arena.set_use(frame, Use::Allocated(0));
        empty.forget();
        self.frames.free_raw(empty.pa, 0);
    }

    /// Bytes that may be used from the start of a block on.
    pub fn usable_bytes(&self, pa: u64) -> Option<u64> {
        Some(match self.find(pa)? {
            Found::Object(object) => Class::Object(object.slab().class()).bytes(),
            Found::Frames(_, _, order) => Class::Frames(order).bytes(),
        })
    }

    /// The zone of a block, by its start.
    pub fn zone_of(&self, pa: u64) -> Option<ZoneId> {
        let zone = match self.find(pa)? {
            Found::Object(object) => object.slab().zone(),
            Found::Frames(arena, ..) => arena.zone(),
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
        let each = self.cpus.iter().filter_map(|cpu| cpu.figures.get(usize::from(zone.0)));
        each.fold(Figures::default(), |sum, one| Figures {
            bytes: sum.bytes.wrapping_add(one.bytes.load(Ordering::Relaxed)),
            allocations: sum.allocations + one.allocations.load(Ordering::Relaxed),
        })
    }
}

#[cfg(test)]
mod tests;
