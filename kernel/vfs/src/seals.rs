// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Seals of a file in memory: what nobody can do to it any more, whatever descriptors there are (`memfd_create(2)`).

use bitflags::bitflags;

use crate::errno::{Errno, Result};

bitflags! {
    /// Seals; the bits are Linux's `F_SEAL_*`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Seals: u8 {
        /// Nobody adds a seal.
        const SEAL = 1;
        /// The file does not become shorter.
        const SHRINK = 2;
        /// The file does not become longer.
        const GROW = 4;
        /// The content does not change.
        const WRITE = 8;
        /// The content changes through mappings that are there already, and in no other way.
        const FUTURE_WRITE = 16;
    }
}

impl Seals {
    /// The content stays what it is, but for old mappings.
    pub(crate) const CONTENT: Self = Self::WRITE.union(Self::FUTURE_WRITE);
    /// Those that a write has to look at.
    pub(crate) const OF_WRITES: Self = Self::CONTENT.union(Self::GROW);

    /// Whether a file of `old` bytes may have `new`.
    #[inline]
    pub(crate) fn check_length(self, old: u64, new: u64) -> Result<()> {
        let sealed = (new < old && self.contains(Self::SHRINK)) || (new > old && self.contains(Self::GROW));
        if sealed { Err(Errno::EPERM) } else { Ok(()) }
    }

    /// Whether the content may change in other ways than through old mappings.
    pub(crate) fn check_content(self) -> Result<()> {
        if self.intersects(Self::CONTENT) { Err(Errno::EPERM) } else { Ok(()) }
    }

    /// These and others; `EPERM` if they are all that there will be, `EBUSY` if a mapping changes content that is to stay.
    pub(crate) fn with(self, more: Self, is_mapped: bool) -> Result<Self> {
        if self.contains(Self::SEAL) {
            return Err(Errno::EPERM);
        }
        if is_mapped && more.difference(self).contains(Self::WRITE) {
            return Err(Errno::EBUSY);
        }
        Ok(self | more)
    }
}
