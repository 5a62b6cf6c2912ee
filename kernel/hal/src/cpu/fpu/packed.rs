// SPDX-License-Identifier: Apache-2.0 OR MIT
//! State images without what is in its initial state: of a standard image most is unused, and the components that are in use
//! may be far apart.

use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering};

use arrayvec::ArrayVec;

use super::{HEADER_SIZE, LEGACY_SIZE, State, WANTED, components};

/// Bytes of the components that may be enabled: legacy part and header, then AVX, opmask, ZMM_Hi256, Hi16_ZMM, PKRU.
const MOST: usize = LEGACY_SIZE as usize + HEADER_SIZE + 256 + 64 + 512 + 1024 + 8;
/// Components with a number below this.
const NUMBERS: usize = (u64::BITS - WANTED.leading_zeros()) as usize;
/// Components of the legacy part.
const LEGACY: u64 = 0b11;

/// Where each component is in an image: the offset, and the size above it.
static PLACES: [AtomicU64; NUMBERS] = [const { AtomicU64::new(0) }; NUMBERS];

/// Asks the processor where the components are (Intel SDM vol. 1, 13.4.3).
#[cfg(target_os = "none")]
pub(super) fn note_places(enabled: u64) {
    for (number, place) in PLACES.iter().enumerate().skip(2) {
        if enabled & 1 << number != 0 {
            let leaf = core::arch::x86_64::__cpuid_count(0xd, number as u32);
            place.store(u64::from(leaf.eax) << 32 | u64::from(leaf.ebx), Ordering::Relaxed);
        }
    }
}

/// Bytes of legacy part and header.
fn head_bytes() -> usize {
    LEGACY_SIZE as usize + if components() == 0 { 0 } else { HEADER_SIZE }
}

/// Where components are in an image, the legacy ones left out.
fn places(present: u64) -> impl Iterator<Item = Range<usize>> {
    let mut left = present & components() & !LEGACY;
    core::iter::from_fn(move || {
        let number = left.trailing_zeros() as usize;
        let place = PLACES.get(number)?.load(Ordering::Relaxed);
        left &= left - 1;
        let start = place as u32 as usize;
        Some(start..start + (place >> 32) as usize)
    })
}

/// Those of some components that lie in the first bytes of an image.
fn within(present: u64, bytes: usize) -> u64 {
    if places(present).all(|place| place.end <= bytes) {
        return present;
    }
    let lies = |one: &u64| present & one != 0 && places(*one).all(|place| place.end <= bytes);
    (0..u64::BITS).map(|number| 1 << number).filter(lies).sum()
}

/// A state image in pieces. It is large, and filled where it is.
#[derive(Default)]
pub struct Packed {
    present: u64,
    bytes: ArrayVec<u8, MOST>,
}

impl Packed {
    /// An image of nothing, to be filled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the components that an image holds, besides the legacy ones.
    pub(super) fn take(&mut self, state: &State, present: u64) {
        self.present = present;
        self.bytes.clear();
        for place in core::iter::once(0..head_bytes()).chain(places(present)) {
            // There is room for all that may be enabled.
            let _ = self.bytes.try_extend_from_slice(&state.bytes()[place]);
        }
    }

    /// Takes an image of `bytes` bytes that begins with legacy part and header: those of the `present` components that lie in
    /// it. `read` brings what is behind the header, by its offset.
    ///
    /// # Panics
    /// If the head has another size.
    pub fn read<E>(
        &mut self,
        head: &[u8],
        present: u64,
        bytes: usize,
        mut read: impl FnMut(usize, &mut [u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        assert!(head.len() == head_bytes(), "a head has {} bytes", head_bytes());
        self.present = within(present, bytes);
        self.bytes.clear();
        let _ = self.bytes.try_extend_from_slice(head);
        for place in places(self.present) {
            let at = self.bytes.len();
            for part in place.clone().step_by(ZEROS.len()) {
                let _ = self.bytes.try_extend_from_slice(&ZEROS[..ZEROS.len().min(place.end - part)]);
            }
            read(place.start, &mut self.bytes[at..])?;
        }
        Ok(())
    }

    /// The components.
    pub(super) fn present(&self) -> u64 {
        self.present
    }

    /// Where the components are that an image does not hold: all zeros, if somebody looks there.
    pub fn absent(&self) -> impl Iterator<Item = Range<usize>> {
        places(components() & !self.present)
    }

    /// The pieces, by their offset in an image; legacy part and header are the first.
    pub fn pieces(&self) -> impl Iterator<Item = (usize, &[u8])> {
        let mut rest = self.bytes.as_slice();
        core::iter::once(0..head_bytes()).chain(places(self.present)).map(move |place| {
            let (piece, left) = rest.split_at(place.len());
            rest = left;
            (place.start, piece)
        })
    }
}

const ZEROS: [u8; 256] = [0; 256];

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use super::super::{COMPONENTS, SIZE};
    use super::*;

    const AVX: u64 = 1 << 2;
    const PKRU: u64 = 1 << 9;
    const IMAGE_BYTES: usize = 2696;

    /// A processor with x87, SSE, AVX and PKRU, which lies far behind the others.
    fn set_up() {
        PLACES[2].store(256 << 32 | 576, Ordering::Relaxed);
        PLACES[9].store(8 << 32 | 2688, Ordering::Relaxed);
        COMPONENTS.store(LEGACY | AVX | PKRU, Ordering::Relaxed);
        SIZE.store(IMAGE_BYTES as u32, Ordering::Relaxed);
    }

    fn holding(present: u64) -> State {
        let mut state = State::fresh().expect("memory");
        state.bytes_mut()[576..832].fill(0xa5);
        state.bytes_mut()[2688..2696].fill(0x5a);
        state.bytes_mut()[512..520].copy_from_slice(&present.to_le_bytes());
        state
    }

    fn offsets(packed: &Packed) -> Vec<(usize, usize)> {
        packed.pieces().map(|(at, piece)| (at, piece.len())).collect()
    }

    #[test]
    fn an_image_is_what_its_header_says() {
        set_up();
        let mut packed = Packed::new();
        holding(LEGACY | AVX).pack(&mut packed);
        assert_eq!(offsets(&packed), [(0, 576), (576, 256)]);
        assert_eq!(packed.absent().map(|place| (place.start, place.end)).collect::<Vec<_>>(), [(2688, 2696)]);
        holding(LEGACY | AVX | PKRU).pack(&mut packed);
        assert_eq!(offsets(&packed), [(0, 576), (576, 256), (2688, 8)]);
        assert!(packed.pieces().last().is_some_and(|(_, piece)| piece == [0x5a; 8]));
        let mut other = State::fresh().expect("memory");
        other.unpack(&packed);
        assert_eq!(other.bytes()[576..832], [0xa5; 256]);
        assert_eq!(super::super::word(other.bytes(), 512), LEGACY | AVX | PKRU);
    }

    #[test]
    fn a_short_image_lacks_what_lies_behind_its_end() {
        set_up();
        let head = vec![0; 576];
        let mut packed = Packed::new();
        let mut read = Vec::new();
        let all = LEGACY | AVX | PKRU | 1 << 40;
        let result = packed.read(&head, all, 832, |at, bytes: &mut [u8]| {
            read.push((at, bytes.len()));
            bytes.fill(7);
            Ok::<(), ()>(())
        });
        assert_eq!((result, read), (Ok(()), vec![(576, 256)]));
        assert_eq!(packed.absent().map(|place| (place.start, place.end)).collect::<Vec<_>>(), [(2688, 2696)]);
        assert_eq!(packed.read(&head, all, IMAGE_BYTES, |_, _| Err(5)), Err(5));
    }
}
