// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Size classes of blocks: objects that share a page, then powers of two of frames.

use crate::buddy::{FRAME_BYTES, MAX_ORDER};

/// Sizes of objects in bytes: multiples of 16, the powers of two among them aligned to themselves, and for the rest what
/// leaves little of a page unused.
pub(super) const OBJECTS: [u32; 14] = [16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 672, 1024, 1360, 2048];
/// Blocks of frames that CPUs keep at hand: up to 2 MiB.
pub(super) const KEPT_ORDERS: usize = 10;
/// The largest object.
pub(super) const LARGEST_OBJECT: u64 = OBJECTS[OBJECTS.len() - 1] as u64;

/// How a block is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// One of [`OBJECTS`].
    Object(u8),
    /// A block of `4096 << order` bytes.
    Frames(u8),
}

/// The object class for each size up to the largest, in steps of 16 bytes.
const BY_SIZE: [u8; 129] = {
    let mut table = [0; 129];
    let (mut step, mut class) = (0, 0);
    while step < table.len() {
        if step * 16 > OBJECTS[class] as usize {
            class += 1;
        }
        table[step] = class as u8;
        step += 1;
    }
    table
};

/// The class of objects of up to [`LARGEST_OBJECT`] bytes.
#[inline(always)]
pub(super) fn object_class(bytes: u64) -> u8 {
    BY_SIZE[bytes.div_ceil(16) as usize]
}

impl Class {
    /// The smallest class for `bytes` at a multiple of `align`, a power of two; `None` if there is none.
    pub(super) fn of(bytes: u64, align: u64) -> Option<Self> {
        let bytes = if align > 16 { bytes.max(align).checked_next_power_of_two()? } else { bytes };
        if bytes <= LARGEST_OBJECT {
            return Some(Self::Object(object_class(bytes)));
        }
        let frames = bytes.div_ceil(FRAME_BYTES).checked_next_power_of_two()?;
        let order = frames.trailing_zeros() as u8;
        (order <= MAX_ORDER).then_some(Self::Frames(order))
    }

    /// Bytes that may be used.
    pub(super) fn bytes(self) -> u64 {
        match self {
            Self::Object(class) => OBJECTS[usize::from(class)].into(),
            Self::Frames(order) => FRAME_BYTES << order,
        }
    }
}

/// Objects of a class in a page.
pub(super) const fn per_page(class: u8) -> u32 {
    FRAME_BYTES as u32 / OBJECTS[class as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_fit_and_are_the_smallest() {
        for bytes in 1..=3 * FRAME_BYTES {
            let class = Class::of(bytes, 16).unwrap();
            assert!(class.bytes() >= bytes, "{bytes}");
            let smaller = OBJECTS.iter().map(|&size| u64::from(size)).filter(|&size| size >= bytes).min();
            assert_eq!(class.bytes(), smaller.unwrap_or(bytes.next_multiple_of(4096).next_power_of_two()));
        }
    }

    #[test]
    fn alignment_is_that_of_the_place() {
        for align in (4..=30).map(|bit| 1u64 << bit) {
            let class = Class::of(40, align).unwrap();
            assert!(align <= 16 || class.bytes().is_power_of_two() && class.bytes() >= align);
        }
        assert_eq!(Class::of(40, 1 << 31), None);
        assert_eq!(Class::of((1 << 30) + 1, 16), None);
        assert_eq!(Class::of(u64::MAX, 16), None);
    }
}
