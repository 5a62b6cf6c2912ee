// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The buddy algorithm: blocks of `2^order` frames, split in halves and merged again.
//!
//! An [`Arena`] is one run of usable memory. Its first frames hold three words for each other frame: what the block that
//! begins there is used for, and the links of the list it is in. [`FreeLists`] has one list for each order and may span
//! several arenas.
//!
//! # Why metadata needs no initialisation
//! At any time the frames of an arena are divided into blocks, each naturally aligned, and the word of each block's first
//! frame is accurate: it is written when the block comes to be, by [`FreeLists::seed`], a split or a merge. Words of other
//! frames are left over from earlier or are what memory held, and are never believed:
//! - A merge at order `k` asks for the word of the buddy's first frame. That frame is in the arena (checked). The block that
//!   contains it cannot be larger than order `k`, since a larger aligned one would contain the block being merged too. So
//!   that frame is the first of a block, and its word is accurate. If it says "free, order `k`", the buddy is whole.
//! - Two blocks of the initial division never merge: buddies that both fit would have been one block.
//! - A word is believed only with its frame's tag, so that a free of an address that never was a block is noticed, too,
//!   with a probability of 1 - 2^-24 for arbitrary memory content.
//!
//! Every operation takes O(log size) steps.

use core::sync::atomic::{AtomicU32, Ordering};

use arrayvec::ArrayVec;
use hadal_hal::memory::frames;

/// Orders 0 (4 KiB) to 18 (1 GiB).
pub(crate) const ORDERS: usize = 19;
/// The largest order.
pub(crate) const MAX_ORDER: u8 = ORDERS as u8 - 1;
/// Most runs of usable memory; what exceeds it is not used.
pub(crate) const MAX_ARENAS: usize = 96;
/// Arenas that are looked at one by one.
const FEW_ARENAS: usize = 4;
/// Bytes in a frame.
pub(crate) const FRAME_BYTES: u64 = 4096;

const NIL: u32 = u32::MAX;
const WORDS: usize = 3;
const USE: usize = 0;
const NEXT: usize = 1;
const PREV: usize = 2;

/// What a block is used for, with its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// The word does not describe a block.
    Unknown,
    /// In a free list.
    Free(u8),
    /// Given to somebody.
    Allocated(u8),
    /// In a per-CPU cache.
    Cached(u8),
    /// A block that the program has from [`crate::blocks`].
    Program(u8),
    /// A page that [`crate::blocks`] has cut into objects.
    Slab,
}

impl Use {
    fn encode(self, frame: u32) -> u32 {
        let (kind, order) = match self {
            Self::Unknown => return !tag(frame),
            Self::Free(order) => (1, order),
            Self::Allocated(order) => (2, order),
            Self::Cached(order) => (3, order),
            Self::Program(order) => (5, order),
            Self::Slab => (6, 0),
        };
        tag(frame) | kind << 5 | u32::from(order)
    }

    fn decode(word: u32, frame: u32) -> Self {
        if (word ^ tag(frame)) >> 8 != 0 {
            return Self::Unknown;
        }
        let order = (word & 31) as u8;
        match word >> 5 & 7 {
            1 => Self::Free(order),
            2 => Self::Allocated(order),
            3 => Self::Cached(order),
            5 => Self::Program(order),
            6 => Self::Slab,
            _ => Self::Unknown,
        }
    }
}

/// A different value in the upper 24 bits for (nearly) each frame.
fn tag(frame: u32) -> u32 {
    frame.wrapping_add(1).wrapping_mul(0x9e37_79b1) & !0xff
}

/// One run of usable memory of one zone.
pub(crate) struct Arena {
    first: u32,
    count: u32,
    zone: u8,
    meta: &'static [AtomicU32],
}

impl Arena {
    /// Takes over frames `first..end`, using the first of them (at `pa`) for metadata; `None` if nothing would be left,
    /// or the first have an owner. Touches none of the memory.
    pub(crate) fn new(pa: u64, first: u32, end: u32, zone: u8) -> Option<Self> {
        let all = u64::from(end.checked_sub(first)?);
        let meta_frames = (all * WORDS as u64 * 4).div_ceil(FRAME_BYTES) as u32;
        let count = (end - first).checked_sub(meta_frames).filter(|&count| count > 0)?;
        let meta = frames::words(pa, count as usize * WORDS)?;
        Some(Self { first: first + meta_frames, count, zone, meta })
    }

    /// The first frame to hand out.
    pub(crate) fn first(&self) -> u32 {
        self.first
    }

    /// Number of frames to hand out.
    pub(crate) fn count(&self) -> usize {
        self.count as usize
    }

    /// The zone that the frames belong to.
    pub(crate) fn zone(&self) -> usize {
        usize::from(self.zone)
    }

    pub(crate) fn contains(&self, frame: u32) -> bool {
        frame.wrapping_sub(self.first) < self.count
    }

    fn word(&self, frame: u32, which: usize) -> &AtomicU32 {
        &self.meta[(frame - self.first) as usize * WORDS + which]
    }

    fn load(&self, frame: u32, which: usize) -> u32 {
        self.word(frame, which).load(Ordering::Relaxed)
    }

    fn store(&self, frame: u32, which: usize, value: u32) {
        self.word(frame, which).store(value, Ordering::Relaxed);
    }

    pub(crate) fn use_of(&self, frame: u32) -> Use {
        Use::decode(self.load(frame, USE), frame)
    }

    pub(crate) fn set_use(&self, frame: u32, new: Use) {
        self.store(frame, USE, new.encode(frame));
    }

    /// Changes the use of a block from `old` to `new`, or reports what it is instead. Only one of several racing callers
    /// succeeds, which is how a double free is caught.
    pub(crate) fn claim(&self, frame: u32, old: Use, new: Use) -> Result<(), Use> {
        self.word(frame, USE)
            .compare_exchange(old.encode(frame), new.encode(frame), Ordering::AcqRel, Ordering::Relaxed)
            .map(drop)
            .map_err(|found| Use::decode(found, frame))
    }
}

/// All arenas, by address. Frames are numbered from an origin at or below all of them.
pub(crate) struct Arenas {
    /// A multiple of the largest block, in bytes.
    origin: u64,
    list: ArrayVec<Arena, MAX_ARENAS>,
}

impl Arenas {
    /// For memory that begins at `lowest` or above.
    pub(crate) const fn new(lowest: u64) -> Self {
        Self { origin: lowest & !((FRAME_BYTES << MAX_ORDER) - 1), list: ArrayVec::new_const() }
    }

    /// Adds whole frames of the bytes `start..end`; `false` if that is not possible.
    pub(crate) fn add(&mut self, start: u64, end: u64, zone: u8) -> bool {
        let pa = start.next_multiple_of(FRAME_BYTES);
        let (Some(first), Some(end)) = (self.frame(pa), self.frame(end & !(FRAME_BYTES - 1))) else {
            return false;
        };
        let at = self.list.partition_point(|other| other.first < first);
        if self.list.is_full() {
            return false;
        }
        let Some(arena) = Arena::new(pa, first, end, zone) else { return false };
        self.list.insert(at, arena);
        true
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arena> {
        self.list.iter()
    }

    /// The number of the frame that begins at `pa`.
    pub(crate) fn frame(&self, pa: u64) -> Option<u32> {
        let number = pa.checked_sub(self.origin)? / FRAME_BYTES;
        u32::try_from(number).ok().filter(|&frame| frame != NIL && pa.is_multiple_of(FRAME_BYTES))
    }

    /// Where a frame begins.
    pub(crate) fn pa(&self, frame: u32) -> u64 {
        self.origin + u64::from(frame) * FRAME_BYTES
    }

    /// The arena that `frame` is in.
    #[inline]
    pub(crate) fn find(&self, frame: u32) -> Option<&Arena> {
        // Most machines have a few, of which most frames are in the first that are large.
        self.list.iter().take(FEW_ARENAS).find(|arena| arena.contains(frame)).or_else(|| self.search(frame))
    }

    #[inline(never)]
    fn search(&self, frame: u32) -> Option<&Arena> {
        let at = self.list.partition_point(|arena| arena.first <= frame);
        self.list.get(at.checked_sub(1)?).filter(|arena| arena.contains(frame))
    }

    fn of(&self, frame: u32) -> &Arena {
        self.find(frame).expect("listed frames are in an arena")
    }
}

/// The free blocks of one zone.
pub(crate) struct FreeLists {
    heads: [u32; ORDERS],
    /// Bit `k` is set if the list of order `k` has a block.
    nonempty: u32,
    free: usize,
    /// Free frames in blocks of at least 2 MiB.
    free_large: usize,
}

/// The order of a 2 MiB block.
const LARGE_ORDER: u8 = 9;

impl FreeLists {
    pub(crate) const fn new() -> Self {
        Self { heads: [NIL; ORDERS], nonempty: 0, free: 0, free_large: 0 }
    }

    /// Number of free frames.
    pub(crate) fn free_frames(&self) -> usize {
        self.free
    }

    /// Free 2 MiB pages, those in larger blocks included.
    pub(crate) fn free_large_pages(&self) -> u64 {
        (self.free_large >> LARGE_ORDER) as u64
    }

    /// Makes all frames of a new arena free, cut into the largest aligned blocks that fit.
    pub(crate) fn seed(&mut self, arenas: &Arenas, arena: &Arena) {
        let mut frame = arena.first;
        let end = arena.first + arena.count;
        while frame < end {
            let order = frame.trailing_zeros().min((end - frame).ilog2()).min(u32::from(MAX_ORDER)) as u8;
            self.push(arenas, arena, frame, order);
            self.free += 1 << order;
            frame += 1 << order;
        }
    }

    /// Takes a block of `order` and marks it as `new_use` says.
    pub(crate) fn take(&mut self, arenas: &Arenas, order: u8, new_use: fn(u8) -> Use) -> Option<u32> {
        let candidates = self.nonempty & u32::MAX.checked_shl(u32::from(order))?;
        if candidates == 0 {
            return None;
        }
        let mut found = candidates.trailing_zeros() as u8;
        let frame = self.heads[usize::from(found)];
        let arena = arenas.of(frame);
        self.unlink(arenas, arena, frame, found);
        while found > order {
            found -= 1;
            self.push(arenas, arena, frame + (1 << found), found);
        }
        arena.set_use(frame, new_use(order));
        self.free -= 1 << order;
        Some(frame)
    }

    /// Takes a block back that the caller has claimed: nobody else can name it any more.
    pub(crate) fn give(&mut self, arenas: &Arenas, arena: &Arena, frame: u32, order: u8) {
        self.free += 1 << order;
        let (mut frame, mut order) = (frame, order);
        while order < MAX_ORDER {
            let buddy = frame ^ 1 << order;
            if !arena.contains(buddy) || arena.use_of(buddy) != Use::Free(order) {
                break;
            }
            self.unlink(arenas, arena, buddy, order);
            arena.set_use(frame.max(buddy), Use::Unknown);
            frame = frame.min(buddy);
            order += 1;
        }
        self.push(arenas, arena, frame, order);
    }

    fn push(&mut self, arenas: &Arenas, arena: &Arena, frame: u32, order: u8) {
        if order >= LARGE_ORDER {
            self.free_large += 1 << order;
        }
        let head = &mut self.heads[usize::from(order)];
        arena.set_use(frame, Use::Free(order));
        arena.store(frame, NEXT, *head);
        arena.store(frame, PREV, NIL);
        if *head != NIL {
            arenas.of(*head).store(*head, PREV, frame);
        }
        *head = frame;
        self.nonempty |= 1 << order;
    }

    fn unlink(&mut self, arenas: &Arenas, arena: &Arena, frame: u32, order: u8) {
        if order >= LARGE_ORDER {
            self.free_large -= 1 << order;
        }
        let (next, prev) = (arena.load(frame, NEXT), arena.load(frame, PREV));
        if next != NIL {
            arenas.of(next).store(next, PREV, prev);
        }
        if prev != NIL {
            arenas.of(prev).store(prev, NEXT, next);
            return;
        }
        self.heads[usize::from(order)] = next;
        if next == NIL {
            self.nonempty &= !(1 << order);
        }
    }
}

#[cfg(test)]
mod tests;
