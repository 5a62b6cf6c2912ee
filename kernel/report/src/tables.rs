// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Finding the unwind table of an address.
//!
//! Most files have `.eh_frame_hdr`, a sorted table of where the description of each function is: then a few words of the
//! program's memory are read, whatever the size of the file. Statically linked programs have none, and all of `.eh_frame` is
//! loaded, and an index made.

use alloc::rc::Rc;
use alloc::vec::Vec;

use hadal_unwind::{Table, Tables};

use crate::elf::{Module, Part};
use crate::view::View;

/// Longest description that is read.
const MAX_ENTRY: usize = 64 << 10;
/// Most functions a sorted table may claim.
const MAX_FUNCTIONS: u32 = 1 << 26;

/// Bytes that a table owns or shares.
pub(crate) enum Bytes {
    Own(Vec<u8>),
    Shared(Rc<Tables>),
}

impl core::ops::Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Own(bytes) => bytes,
            Self::Shared(tables) => tables.bytes(),
        }
    }
}

/// The table for a code address.
pub(crate) fn find(view: &View<'_>, address: u64) -> Option<Table<Bytes>> {
    let loaded = view.module(address)?;
    let module = &loaded.module;
    if let Some(header) = module.eh_frame_hdr
        && let Some(header) = Header::read(view, module, header)
    {
        return read_entry(view, module, header.entry_for(view, module, address)?);
    }
    let whole = loaded.whole_table()?;
    let Table { address, at, .. } = whole.find(address)?;
    Some(Table { address, bytes: Bytes::Shared(whole), at })
}

/// `.eh_frame_hdr` in the one form that linkers write: offsets of 32 bits from its own start.
struct Header {
    start: u64,
    count: u32,
}

/// Length of the header before the sorted entries, and of an entry.
const HEADER_LEN: u64 = 12;
const ENTRY_LEN: u64 = 8;

impl Header {
    fn read(view: &View<'_>, module: &Module, part: Part) -> Option<Self> {
        /// Version, encodings of `.eh_frame`'s address, of the count and of the entries (LSB core, 10.6.2).
        const USUAL: [u8; 4] = [1, 0x1b, 0x03, 0x3b];
        let start = part.address.wrapping_add(module.bias);
        let mut bytes = [0; HEADER_LEN as usize];
        if !view.read_module(module, start, &mut bytes) || bytes[..4] != USUAL {
            return None;
        }
        let count = u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]);
        (count > 0 && count < MAX_FUNCTIONS).then_some(Self { start, count })
    }

    /// Function start and address of its description.
    fn entry(&self, view: &View<'_>, module: &Module, index: u32) -> Option<(u64, u64)> {
        let mut bytes = [0; ENTRY_LEN as usize];
        let at = self.start.wrapping_add(HEADER_LEN + ENTRY_LEN * u64::from(index));
        if !view.read_module(module, at, &mut bytes) {
            return None;
        }
        let [a, b, c, d, e, f, g, h] = bytes;
        let target = |bytes| self.start.wrapping_add_signed(i32::from_le_bytes(bytes).into());
        Some((target([a, b, c, d]), target([e, f, g, h])))
    }

    /// The description of the last function that starts at or before an address.
    fn entry_for(&self, view: &View<'_>, module: &Module, address: u64) -> Option<u64> {
        let (mut low, mut high) = (0, self.count);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.entry(view, module, middle)?.0 <= address {
                low = middle;
            } else {
                high = middle;
            }
        }
        let (start, description) = self.entry(view, module, low)?;
        (start <= address).then_some(description)
    }
}

/// Reads the length word at an address and everything that it announces.
fn read_sized(view: &View<'_>, module: &Module, address: u64) -> Option<Vec<u8>> {
    let mut word = [0; 4];
    if !view.read_module(module, address, &mut word) {
        return None;
    }
    // A length of all ones would announce a 64-bit one, which no compiler uses here; it is over the limit.
    let len = usize::try_from(u32::from_le_bytes(word)).ok().filter(|len| (4..MAX_ENTRY).contains(len))?;
    let mut bytes = crate::filled(0, len + 4)?;
    view.read_module(module, address, &mut bytes).then_some(bytes)
}

/// A function's description together with the common part that it refers to, as a section of two entries.
fn read_entry(view: &View<'_>, module: &Module, address: u64) -> Option<Table<Bytes>> {
    let mut own = read_sized(view, module, address)?;
    // After the length comes the distance from here back to the common part.
    let back = u32::from_le_bytes([own[4], own[5], own[6], own[7]]);
    let mut bytes = read_sized(view, module, address.wrapping_add(4).wrapping_sub(back.into()))?;
    let at = bytes.len();
    own[4..8].copy_from_slice(&(at as u32 + 4).to_le_bytes());
    bytes.extend_from_slice(&own);
    // Pointers in the description are relative to where they are, so that is kept; the common part's are not needed.
    Some(Table { address: address.wrapping_sub(at as u64), bytes: Bytes::Own(bytes), at })
}
