// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Packing directory entries for `getdents64` and `getdents`.

use alloc::vec::Vec;

use hadal_hal::memory::fallible;
use hadal_mem::space::FaultAccess;
use hadal_vfs::DirEntry;

use super::segments::check_accessible;
use super::transfer::CHUNK;
use crate::call::Call;
use crate::{Errno, Result, memory};

/// Which structure a program expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// `struct linux_dirent64`: the type before the name.
    Wide,
    /// `struct linux_dirent`: the type in the last byte of the record.
    Old,
}

/// Number and next offset, 8 bytes each, and the length of the record, 2 bytes.
const HEAD: usize = 18;

/// Appends an entry unless it would make the list longer than `limit`; says whether it did.
fn pack(list: &mut Vec<u8>, limit: usize, layout: Layout, entry: &DirEntry<'_>) -> bool {
    // Either way one byte for the type and one for the NUL.
    let len = (HEAD + entry.name.len() + 2).next_multiple_of(8);
    if list.len() + len > limit {
        return false;
    }
    let end = list.len() + len;
    let kind = entry.kind.map_or(0, |kind| kind.dirent_type());
    list.extend_from_slice(&entry.ino.to_ne_bytes());
    list.extend_from_slice(&entry.next_cookie.to_ne_bytes());
    list.extend_from_slice(&(len as u16).to_ne_bytes());
    if layout == Layout::Wide {
        list.push(kind);
    }
    list.extend_from_slice(entry.name);
    list.resize(end, 0);
    if layout == Layout::Old {
        list[end - 1] = kind;
    }
    true
}

/// Lists the directory behind argument 0 into the buffer that arguments 1 and 2 describe; returns the bytes used, 0 at
/// the end, or `EINVAL` when not even one entry fits.
pub(crate) fn list(call: &Call<'_>, layout: Layout) -> Result<usize> {
    let file = call.process.files().get(call.int(0))?;
    let limit = (call.uint(2) as usize).min(CHUNK);
    check_accessible(call.process, call.arg(1), limit, FaultAccess::Write)?;
    let mut packed = fallible::room_for(limit)?;
    let mut too_small = false;
    let result = file.readdir(&mut |entry| {
        let taken = pack(&mut packed, limit, layout, &entry);
        too_small = !taken && packed.is_empty();
        taken
    });
    // Entries that were taken before an error are delivered; the error comes again with the next call.
    if packed.is_empty() {
        result?;
    }
    if too_small {
        return Err(Errno::EINVAL);
    }
    memory::write_bytes(call.arg(1), &packed)?;
    Ok(packed.len())
}

#[cfg(test)]
mod tests {
    use hadal_vfs::FileKind;

    use super::*;

    fn entry(name: &[u8]) -> DirEntry<'_> {
        DirEntry { ino: 0x1122, next_cookie: 7, kind: Some(FileKind::Regular), name }
    }

    #[test]
    fn records_are_aligned_and_end_in_nul() {
        let mut list = Vec::new();
        assert!(pack(&mut list, 4096, Layout::Wide, &entry(b"abcd")));
        assert!(pack(&mut list, 4096, Layout::Wide, &entry(b"abcde")));
        assert_eq!(list.len(), 24 + 32);
        assert_eq!(list[..8], 0x1122_u64.to_ne_bytes());
        assert_eq!(list[8..16], 7_u64.to_ne_bytes());
        assert_eq!(list[16..18], 24_u16.to_ne_bytes());
        assert_eq!(list[18], 8);
        assert_eq!(&list[19..24], b"abcd\0");
        assert_eq!(list[24 + 16..24 + 18], 32_u16.to_ne_bytes());
        assert_eq!(&list[24 + 19..24 + 26], b"abcde\0\0");
    }

    #[test]
    fn the_old_layout_has_the_type_last() {
        let mut list = Vec::new();
        assert!(pack(&mut list, 4096, Layout::Old, &entry(b"ab")));
        assert_eq!(list.len(), 24);
        assert_eq!(&list[18..21], b"ab\0");
        assert_eq!(list[23], 8);
    }

    #[test]
    fn what_does_not_fit_is_left_out() {
        let mut list = Vec::new();
        assert!(!pack(&mut list, 23, Layout::Wide, &entry(b"abcd")));
        assert!(list.is_empty());
        assert!(pack(&mut list, 24, Layout::Wide, &entry(b"abcd")));
        assert!(!pack(&mut list, 47, Layout::Wide, &entry(b"x")));
        assert_eq!(list.len(), 24);
    }
}
