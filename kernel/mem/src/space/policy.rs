// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where the memory of a mapping, or of a thread, comes from: policies in the sense of mbind(2). Without one it comes from the
//! zone of the CPU that touches it first.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use spin::Once;

use super::mmu::BlockState;
use super::vma::Vma;
use super::{
    AddressSpace, Inner, LARGE_BYTES, LARGE_ORDER, Mmu, PAGE_SIZE, SpaceError, WINDOW_END, WINDOW_START,
};
use crate::frames::{Frame, FrameAllocator, MAX_ZONES, ZoneId, ZonePolicy};

/// A set of zones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Zones(u32);

const _: () = assert!(MAX_ZONES == u32::BITS as usize);

impl Zones {
    /// The zones whose bits are set; there are no zones from [`MAX_ZONES`] on.
    pub fn from_bits(bits: u64) -> Self {
        Self(bits as u32)
    }

    /// A bit for each zone.
    pub fn bits(self) -> u64 {
        self.0.into()
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether a zone is one of them.
    pub fn contains(self, zone: ZoneId) -> bool {
        self.0 & 1 << zone.0 != 0
    }

    /// Number of zones.
    pub fn count(self) -> usize {
        self.0.count_ones() as usize
    }

    /// All of them, in order.
    pub fn iter(self) -> impl Iterator<Item = ZoneId> {
        (0..MAX_ZONES as u8).map(ZoneId).filter(move |&zone| self.contains(zone))
    }

    /// The first one behind `zone`, or the first of all.
    fn after(self, zone: u8) -> Option<ZoneId> {
        self.iter().find(|next| next.0 > zone).or_else(|| self.iter().next())
    }
}

/// The kinds of policies, by Linux's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// One zone, then those near to it.
    Preferred = 1,
    /// These zones and no others, the nearest first.
    Bind = 2,
    /// These zones in turn.
    Interleave = 3,
    /// The zone of the CPU.
    Local = 4,
    /// These zones, the nearest first, then others.
    PreferredMany = 5,
}

/// Zone "before the first" for [`Policy::last`].
const NONE: u8 = u8::MAX;

/// A policy.
#[derive(Debug)]
pub struct Policy {
    /// Its kind.
    pub mode: Mode,
    /// Its zones: one for [`Mode::Preferred`], none for [`Mode::Local`].
    pub zones: Zones,
    /// From where distances count, if not from the CPU.
    pub home: Option<ZoneId>,
    /// Flags and zones as the program gave them, to be given back.
    pub given: (u32, u64),
    /// The zone that a thread's policy has used last, for [`Mode::Interleave`].
    last: AtomicU8,
}

impl Clone for Policy {
    fn clone(&self) -> Self {
        Self::new(self.mode, self.zones, self.home, self.given)
    }
}

impl PartialEq for Policy {
    fn eq(&self, other: &Self) -> bool {
        (self.mode, self.zones, self.home, self.given) == (other.mode, other.zones, other.home, other.given)
    }
}

impl Eq for Policy {}

impl Policy {
    /// A policy that has not been used.
    pub fn new(mode: Mode, zones: Zones, home: Option<ZoneId>, given: (u32, u64)) -> Self {
        Self { mode, zones, home, given, last: AtomicU8::new(NONE) }
    }

    /// The zone whose turn is next for a thread.
    pub fn next_zone(&self) -> Option<ZoneId> {
        let last = self.last.load(Ordering::Relaxed);
        if last == NONE { self.zones.iter().next() } else { self.zones.after(last) }
    }

    /// A frame for the page at `at`.
    #[inline(never)]
    fn take(&self, frames: &'static FrameAllocator, order: u8, at: usize, of_thread: bool) -> Option<Frame> {
        match self.mode {
            Mode::Local => frames.alloc_program(order, ZonePolicy::Local),
            Mode::Preferred => {
                let zone = self.zones.iter().next()?;
                frames.alloc_program(order, ZonePolicy::Prefer(zone))
            }
            Mode::Interleave => {
                let zone = if of_thread { self.turn() } else { self.zone_at(order, at) }?;
                frames.alloc_program(order, ZonePolicy::Prefer(zone))
            }
            Mode::Bind => self.nearest(frames, order),
            Mode::PreferredMany => {
                self.nearest(frames, order).or_else(|| frames.alloc_program(order, ZonePolicy::Local))
            }
        }
    }

    fn turn(&self) -> Option<ZoneId> {
        let zone = self.next_zone()?;
        self.last.store(zone.0, Ordering::Relaxed);
        Some(zone)
    }

    /// A mapping's pages take turns by address, whoever touches them.
    fn zone_at(&self, order: u8, at: usize) -> Option<ZoneId> {
        let unit = if order == LARGE_ORDER { LARGE_BYTES } else { PAGE_SIZE };
        self.zones.iter().nth(at / unit % self.zones.count().max(1))
    }

    fn nearest(&self, frames: &'static FrameAllocator, order: u8) -> Option<Frame> {
        let from = self.home.unwrap_or_else(|| frames.cpu_zone(hadal_hal::cpu::current_id()));
        let by_distance = core::iter::once(from).chain(frames.zones_by_distance(from));
        by_distance
            .filter(|&zone| self.zones.contains(zone))
            .find_map(|zone| frames.alloc_program(order, ZonePolicy::Only(zone)))
    }
}

/// Tells the policy of the calling thread.
static OF_CALLER: Once<fn() -> Option<Arc<Policy>>> = Once::new();
/// Some thread has had one.
static IN_USE: AtomicBool = AtomicBool::new(false);

/// From now on `of_caller` is asked for the policy of the calling thread. It is called with a window's lock held.
pub fn use_thread_policies(of_caller: fn() -> Option<Arc<Policy>>) {
    OF_CALLER.call_once(|| of_caller);
    IN_USE.store(true, Ordering::Release);
}

/// What decides about new pages of a mapping.
#[derive(Clone, Default)]
pub(super) struct Choice {
    policy: Option<Arc<Policy>>,
    of_thread: bool,
}

impl Choice {
    #[inline]
    pub(super) fn for_mapping(vma: &Vma) -> Self {
        if vma.policy.is_none() && !IN_USE.load(Ordering::Acquire) {
            return Self::default();
        }
        Self::by_policy(vma)
    }

    #[inline(never)]
    fn by_policy(vma: &Vma) -> Self {
        if vma.policy.is_some() {
            return Self { policy: vma.policy.clone(), of_thread: false };
        }
        Self { policy: OF_CALLER.get().and_then(|of_caller| of_caller()), of_thread: true }
    }

    /// A large page of zeros that is there already: only where nothing says from which zone.
    pub(super) fn take_prezeroed(&self, frames: &'static FrameAllocator) -> Option<Frame> {
        if self.policy.is_none() { frames.alloc_prezeroed() } else { None }
    }

    #[inline]
    pub(super) fn take(&self, frames: &'static FrameAllocator, order: u8, at: usize) -> Option<Frame> {
        match &self.policy {
            None => frames.alloc_program(order, ZonePolicy::Local),
            Some(policy) => policy.take(frames, order, at, self.of_thread),
        }
    }
}

impl<M: Mmu> AddressSpace<M> {
    /// Gives the mappings of a range of whole pages a policy, for pages that are touched from now on. [`SpaceError::NoMapping`]
    /// at a hole, unless the policy is `None` and anything is mapped; nothing has changed then.
    pub fn set_policy(
        &self,
        start: usize,
        end: usize,
        policy: Option<&Arc<Policy>>,
    ) -> Result<(), SpaceError> {
        self.change_policy(start, end, policy.is_none(), |_| Ok(policy.cloned()))
    }

    /// Changes the home of the policies in a range: [`SpaceError::NotSupported`] at one that counts no distances,
    /// [`SpaceError::NoMapping`] if there is no policy.
    pub fn set_home(&self, start: usize, end: usize, home: ZoneId) -> Result<(), SpaceError> {
        let policies = |inner: &Inner| {
            let mut found = false;
            for vma in inner.map.overlapping(start, end) {
                match vma.policy.as_ref().map(|policy| policy.mode) {
                    None => {}
                    Some(Mode::Bind | Mode::PreferredMany) => found = true,
                    Some(_) => return Err(SpaceError::NotSupported),
                }
            }
            if found { Ok(()) } else { Err(SpaceError::NoMapping) }
        };
        policies(&self.inner.read())?;
        self.change_policy(start, end, true, |old| {
            let Some(old) = old else { return Ok(None) };
            let moved = Policy { home: Some(home), ..Policy::clone(old) };
            hadal_hal::memory::fallible::arc(moved).map(Some).map_err(|_| SpaceError::NoMemory)
        })
    }

    fn change_policy(
        &self,
        start: usize,
        end: usize,
        holes: bool,
        new: impl Fn(Option<&Arc<Policy>>) -> Result<Option<Arc<Policy>>, SpaceError>,
    ) -> Result<(), SpaceError> {
        let mut inner = self.change();
        if !holes && inner.map.covered_until(start, end, |_| true) < end {
            return Err(SpaceError::NoMapping);
        }
        // Holes may reach beyond the window, where the pages are not the program's.
        let (start, end) = (start.max(WINDOW_START), end.min(WINDOW_END));
        if start >= end || inner.map.overlapping(start, end).next().is_none() {
            return Err(SpaceError::NoMapping);
        }
        if !self.admits_mappings(&inner) {
            return Err(SpaceError::NoMemory);
        }
        self.split_edges(start, end)?;
        let mut result = Ok(());
        inner.map.update(start, end, |vma| match new(vma.policy.as_ref()) {
            Ok(policy) => vma.policy = policy,
            Err(error) => result = Err(error),
        });
        result
    }

    /// The policy of the mapping at an address; `None` where nothing is mapped.
    pub fn policy_at(&self, addr: usize) -> Option<Option<Arc<Policy>>> {
        self.inner.read().map.find(addr).map(|vma| vma.policy.clone())
    }

    /// The zone of the page at an address, if one is there; `None` where nothing is mapped.
    pub fn zone_at(&self, addr: usize) -> Option<Option<ZoneId>> {
        let inner = self.inner.read();
        inner.map.find(addr)?;
        Some(self.mmu.lookup(addr).and_then(|(pa, ..)| self.frames.zone_of(pa)))
    }

    /// Counts the pages of a range by zone, in units of 4 KiB, and how many are the window's own.
    pub fn pages_by_zone(&self, start: usize, end: usize) -> ([usize; MAX_ZONES], usize) {
        let (mut counts, mut own) = ([0; MAX_ZONES], 0);
        let mut at = start;
        while at < end {
            let inner = self.inner.read();
            let Some(vma) = inner.map.find(at) else { break };
            let (mut page, until) = (at, vma.end.min(end).min(at + PIECE_BYTES));
            while page < until {
                let Some((pa, size, _)) = self.mmu.lookup(page) else {
                    let empty = page.is_multiple_of(LARGE_BYTES) && self.mmu.block(page) == BlockState::Empty;
                    page += if empty { LARGE_BYTES } else { PAGE_SIZE };
                    continue;
                };
                let next = ((page & !(size.bytes() - 1)) + size.bytes()).min(until);
                let pages = (next - page) / PAGE_SIZE;
                if let Some(zone) = self.frames.zone_of(pa) {
                    counts[usize::from(zone.0)] += pages;
                }
                own += if vma.owns_frames() { pages } else { 0 };
                page = next;
            }
            at = page;
        }
        (counts, own)
    }
}

/// What is looked through without letting others at the lock.
const PIECE_BYTES: usize = 256 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_take_turns() {
        let zones = Zones::from_bits(0b1_0110);
        let policy = Policy::new(Mode::Interleave, zones, None, (0, 0));
        let turns: Vec<u8> = (0..5).filter_map(|_| policy.turn()).map(|zone| zone.0).collect();
        assert_eq!(turns, [1, 2, 4, 1, 2]);
        let by_address: Vec<u8> =
            (0..4).filter_map(|page| policy.zone_at(0, page * PAGE_SIZE)).map(|zone| zone.0).collect();
        assert_eq!(by_address, [1, 2, 4, 1]);
        assert_eq!(policy.zone_at(LARGE_ORDER, LARGE_BYTES), Some(ZoneId(2)));
        assert_eq!((zones.count(), zones.contains(ZoneId(3))), (3, false));
    }
}
