// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The kernel's symbol table as the command hands it over, behind the run configuration in the same boot module.
//!
//! Layout, little endian: [`MAGIC`], `u32` number of symbols, `u32` bytes of names; then for each symbol in ascending order
//! of address its distance from [`BASE`] and the offset of its name, both `u32`; then the names, each ended by NUL.

use alloc::vec::Vec;

/// First bytes of the table.
pub const MAGIC: &[u8; 8] = b"HADALSYM";
/// Addresses are stored relative to the kernel's link base.
pub const BASE: u64 = 0xffff_ffff_8000_0000;

const HEADER_LEN: usize = 16;
const ENTRY_LEN: usize = 8;

/// A table in memory.
#[derive(Clone, Copy, Debug)]
pub struct SymbolTable<'a> {
    entries: &'a [u8],
    names: &'a [u8],
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

impl<'a> SymbolTable<'a> {
    /// Finds the table behind other data, such as the run configuration; `None` if there is none or it is cut short.
    pub fn find_in(bytes: &'a [u8]) -> Option<Self> {
        // Right here when the caller has taken off what stands before it; the search is long.
        let start = match bytes.starts_with(MAGIC) {
            true => 0,
            false => bytes.windows(MAGIC.len()).rposition(|window| window == MAGIC)?,
        };
        let table = &bytes[start..];
        let count = word(table, 8)? as usize;
        let names_len = word(table, 12)? as usize;
        let names_at = HEADER_LEN.checked_add(count.checked_mul(ENTRY_LEN)?)?;
        let entries = table.get(HEADER_LEN..names_at)?;
        let names = table.get(names_at..names_at.checked_add(names_len)?)?;
        Some(Self { entries, names })
    }

    /// The function that contains an address, and the distance from its start.
    pub fn find(&self, address: u64) -> Option<(&'a str, u64)> {
        let wanted = u32::try_from(address.checked_sub(BASE)?).ok()?;
        let (mut low, mut high) = (0, self.entries.len() / ENTRY_LEN);
        while low < high {
            let middle = (low + high) / 2;
            if word(self.entries, middle * ENTRY_LEN)? <= wanted {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let at = low.checked_sub(1)? * ENTRY_LEN;
        let start = word(self.entries, at)?;
        let name = self.names.get(word(self.entries, at + 4)? as usize..)?;
        let len = name.iter().position(|&byte| byte == 0)?;
        Some((core::str::from_utf8(&name[..len]).ok()?, u64::from(wanted - start)))
    }
}

/// Builds a table from (address, name) pairs in any order; addresses outside the kernel's 2 GiB are left out.
pub fn encode<'n>(symbols: impl Iterator<Item = (u64, &'n str)>) -> Vec<u8> {
    let mut sorted: Vec<(u32, &str)> = symbols
        .filter_map(|(address, name)| Some((u32::try_from(address.checked_sub(BASE)?).ok()?, name)))
        .filter(|(_, name)| !name.contains('\0'))
        .collect();
    sorted.sort_unstable();
    sorted.dedup_by_key(|&mut (address, _)| address);
    let mut names = Vec::new();
    let mut entries = Vec::new();
    for (address, name) in &sorted {
        entries.extend_from_slice(&address.to_le_bytes());
        entries.extend_from_slice(&(names.len() as u32).to_le_bytes());
        names.extend_from_slice(name.as_bytes());
        names.push(0);
    }
    let mut table = MAGIC.to_vec();
    table.extend_from_slice(&(sorted.len() as u32).to_le_bytes());
    table.extend_from_slice(&(names.len() as u32).to_le_bytes());
    table.extend(entries);
    table.extend(names);
    table
}

#[cfg(test)]
mod tests {
    use super::{BASE, MAGIC, SymbolTable, encode};
    use alloc::vec::Vec;

    #[test]
    fn finds_the_function_around_an_address() {
        let symbols = [(BASE + 0x200, "second"), (BASE + 0x100, "first"), (5, "below the base")];
        let mut bytes = b"configuration".to_vec();
        bytes.extend(encode(symbols.into_iter()));
        bytes.extend([0; 7]);
        let table = SymbolTable::find_in(&bytes).unwrap();
        assert_eq!(table.find(BASE + 0x1ff), Some(("first", 0xff)));
        assert_eq!(table.find(BASE + 0x200), Some(("second", 0)));
        assert_eq!(table.find(BASE + 0xff), None);
        assert_eq!(table.find(7), None);
    }

    #[test]
    fn refuses_a_cut_table() {
        let table = encode([(BASE, "name")].into_iter());
        assert!(SymbolTable::find_in(&table[..table.len() - 1]).is_none());
        let mut wrong: Vec<u8> = MAGIC.to_vec();
        wrong.extend([0xff; 8]);
        assert!(SymbolTable::find_in(&wrong).is_none());
    }
}
