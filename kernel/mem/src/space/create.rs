// SPDX-License-Identifier: Apache-2.0 OR MIT
//! New mappings (`mmap`).

use alloc::sync::Arc;

use super::limits::Limits;
use super::lock::Lock;
use super::pages::Removed;
use super::room::Room;
use super::source::PageSource;
use super::vma::{Backing, Name, Prot, Vma, VmaFlags};
use super::{
    AddressSpace, Inner, LARGE_BYTES, Mmu, PAGE_SIZE, SpaceError, WINDOW_END, WINDOW_START, window_range,
};

/// Where a new mapping goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// Wherever there is room.
    #[default]
    Anywhere,
    /// At this address, rounded up to a page, if nothing is there; else anywhere.
    Hint(usize),
    /// Exactly here; what is there is replaced at once (`MAP_FIXED`).
    Fixed(usize),
    /// Exactly here, or fail with [`SpaceError::Exists`] (`MAP_FIXED_NOREPLACE`).
    FixedNoReplace(usize),
}

/// What a new mapping contains.
#[derive(Clone, Default)]
pub enum MapBacking {
    /// Zeros.
    #[default]
    Anonymous,
    /// Zeros (`MAP_SHARED | MAP_ANONYMOUS`).
    SharedAnonymous,
    /// A file from a page-aligned offset on.
    File {
        /// The file.
        source: Arc<dyn PageSource>,
        /// Offset in bytes.
        offset: u64,
        /// `MAP_SHARED`.
        shared: bool,
    },
}

/// A new mapping.
#[derive(Clone, Default)]
pub struct MapRequest {
    /// Size in bytes; rounded up to pages.
    pub len: usize,
    /// Where it goes.
    pub placement: Placement,
    /// What the program may do with it.
    pub prot: Prot,
    /// What [`AddressSpace::protect`] may grant later.
    pub max_prot: Prot,
    /// Other properties.
    pub flags: VmaFlags,
    /// What it contains.
    pub backing: MapBacking,
    /// Its name in `/proc/self/maps`.
    pub name: Name,
}

impl MapRequest {
    /// Private zeros, anywhere.
    pub fn anonymous(len: usize, prot: Prot) -> Self {
        Self { len, prot, max_prot: Prot::all(), ..Self::default() }
    }
}

impl<M: Mmu> AddressSpace<M> {
    /// Makes a mapping and returns its address.
    pub fn map(&self, request: MapRequest) -> Result<usize, SpaceError> {
        self.map_within(request, None, Limits::default())
    }

    /// Makes a mapping that is locked, or with `None` is locked if all new mappings are, within limits: [`SpaceError::LockLimit`]
    /// if too much would be locked then, [`SpaceError::NoMemory`] if too much would be mapped.
    pub fn map_within(
        &self,
        mut request: MapRequest,
        lock: Option<Lock>,
        limits: Limits<'_>,
    ) -> Result<usize, SpaceError> {
        check(&mut request)?;
        if let MapBacking::SharedAnonymous = &request.backing {
            self.give_object(&mut request)?;
        }
        if let MapBacking::File { source, shared: true, .. } = &request.backing
            && source.notes_writes()
            && request.max_prot.contains(Prot::WRITE)
        {
            self.counters.note_noted();
            if source.is_written_back() {
                self.counters.note_written_back();
            }
        }
        match &request.backing {
            MapBacking::File { source, shared: true, .. } if !source.is_kernels_own() => {
                self.counters.note_shared();
            }
            _ => {}
        }
        let len = request.len;
        let mut tried = false;
        let mut removed = None;
        let addr = loop {
            let mut inner = self.change();
            if lock.is_some() || self.uses_locks() {
                request.flags |= self.lock_new(&inner, len, lock, limits.locked)?;
            }
            if !inner.may_add(&request, limits) {
                return Err(SpaceError::NoMemory);
            }
            match self.place(&mut inner, &request, &mut removed) {
                Ok(addr) => {
                    if inner.quarantine.busy(addr, addr + len).is_some() {
                        removed.get_or_insert_with(Removed::default).stale = true;
                    }
                    let vma = vma_of(request, addr);
                    inner.map.insert(vma);
                    break addr;
                }
                // Addresses in quarantine may be what is missing.
                Err(SpaceError::NoMemory) if !tried && !inner.quarantine.is_empty() => {
                    drop(inner);
                    tried = true;
                    self.reclaim();
                }
                Err(error) => return Err(error),
            }
        };
        if let Some(removed) = removed {
            self.finish_now(addr, addr + len, removed);
        }
        Ok(addr)
    }

    /// Chooses the address and makes sure that nothing is there; what was there goes to `removed`.
    #[inline]
    fn place(
        &self,
        inner: &mut Inner,
        request: &MapRequest,
        removed: &mut Option<Removed>,
    ) -> Result<usize, SpaceError> {
        if !self.admits_growth(inner) {
            return Err(SpaceError::NoMemory);
        }
        let len = request.len;
        match request.placement {
            Placement::Fixed(addr) => {
                *removed = self.evict(inner, addr, addr + len)?;
                return Ok(addr);
            }
            Placement::FixedNoReplace(addr) if inner.map.is_free(addr, addr + len) => {
                return Ok(addr);
            }
            Placement::FixedNoReplace(_) => return Err(SpaceError::Exists),
            Placement::Hint(hint) => {
                let hint = hint.checked_next_multiple_of(PAGE_SIZE).map(|hint| hint.max(WINDOW_START));
                let range = hint.and_then(|hint| window_range(hint, len));
                // A program that asks for a place it has just left gets it, as on Linux; the caller flushes first.
                if let Some((start, end)) = range
                    && inner.map.is_free(start, end)
                {
                    return Ok(start);
                }
            }
            Placement::Anywhere => {}
        }
        let stack = request.flags.contains(VmaFlags::STACK);
        let large = len >= LARGE_BYTES && !stack && !matches!(request.backing, MapBacking::File { .. });
        let room = Room { len, align: if large { LARGE_BYTES } else { PAGE_SIZE }, phase: 0 };
        let Inner { map, quarantine, .. } = inner;
        let busy = |start, end| quarantine.busy(start, end);
        map.find_room(room, &busy, quarantine.releases()).ok_or(SpaceError::NoMemory)
    }
}

/// Checks what needs no lock, and rounds the length.
#[inline]
fn check(request: &mut MapRequest) -> Result<(), SpaceError> {
    if request.len == 0 {
        return Err(SpaceError::Invalid);
    }
    request.len = request.len.checked_next_multiple_of(PAGE_SIZE).ok_or(SpaceError::NoMemory)?;
    if request.len > WINDOW_END - WINDOW_START {
        return Err(SpaceError::NoMemory);
    }
    if let Placement::Fixed(addr) | Placement::FixedNoReplace(addr) = request.placement {
        if !addr.is_multiple_of(PAGE_SIZE) {
            return Err(SpaceError::Invalid);
        }
        if addr > WINDOW_END - request.len {
            return Err(SpaceError::NoMemory);
        }
        if addr < WINDOW_START {
            return Err(SpaceError::Forbidden);
        }
    }
    if let MapBacking::File { source, offset, shared } = &request.backing {
        if !offset.is_multiple_of(PAGE_SIZE as u64) {
            return Err(SpaceError::Invalid);
        }
        if offset.checked_add(request.len as u64).is_none() {
            return Err(SpaceError::NoMemory);
        }
        if *shared && !source.can_share() {
            if request.prot.contains(Prot::WRITE) {
                return Err(SpaceError::NotSupported);
            }
            request.max_prot.remove(Prot::WRITE);
        }
    }
    if !request.max_prot.contains(request.prot) {
        return Err(SpaceError::Access);
    }
    Ok(())
}

/// The mapping that was asked for.
#[inline]
fn vma_of(request: MapRequest, start: usize) -> Vma {
    let backing = match request.backing {
        MapBacking::Anonymous => Backing::Anonymous,
        MapBacking::SharedAnonymous => unreachable!("it has got its object"),
        MapBacking::File { source, offset, shared } => {
            let own_frames = !source.can_share() || (!shared && request.prot.contains(Prot::WRITE));
            Backing::file(source, offset, shared, own_frames)
        }
    };
    Vma {
        start,
        end: start + request.len,
        prot: request.prot,
        max_prot: request.max_prot,
        flags: request.flags,
        backing,
        name: request.name,
        policy: None,
    }
}
