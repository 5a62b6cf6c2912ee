// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which parts of a table of 4 KiB pages may have any: a thread's stack has a few pages in the 2,048 entries that are looked
//! through when the thread ends.
//!
//! The ledger's word for the table's frame has a bit for each cache line of entries. Whoever makes an entry sets the bit
//! first; whoever empties the line, with changes excluded, clears it. (A block that grows keeps its progress in that word:
//! its table is looked through whole.)

use core::sync::atomic::Ordering;

use super::PAGE_SIZE;
use super::tables::{Table, phys_of};
use crate::memory::frames::ledger;

/// Entries for each bit.
const GROUP: usize = 8;

/// Before an entry is made.
pub(super) fn note(table: &'static Table, slot: usize) {
    let (word, bit) = (ledger::users(phys_of(table)), 1 << (slot / GROUP));
    if word.load(Ordering::Relaxed) & bit == 0 {
        word.fetch_or(bit, Ordering::Relaxed);
    }
}

/// Before entries are made where another table has some.
pub(super) fn note_those_of(other: &'static Table, table: &'static Table) {
    let noted = ledger::users(phys_of(other)).load(Ordering::Relaxed);
    ledger::users(phys_of(table)).fetch_or(noted, Ordering::Relaxed);
}

/// For a new table that is full.
pub(super) fn note_all(table: &'static Table) {
    ledger::users(phys_of(table)).store(u64::MAX, Ordering::Relaxed);
}

/// Whether a table has no pages at all.
pub(super) fn is_empty(table: &'static Table) -> bool {
    !any(table, 0, 0, table.len() * PAGE_SIZE)
}

/// Whether a table from the address `base` on has pages that are in `start..end`.
pub(super) fn any(table: &'static Table, base: usize, start: usize, end: usize) -> bool {
    let noted = ledger::users(phys_of(table)).load(Ordering::Relaxed);
    let (first, last) = bounds(base, start, end);
    let mut groups = noted & bits(first / GROUP, last.div_ceil(GROUP));
    while groups != 0 {
        let line = groups.trailing_zeros() as usize * GROUP;
        groups &= groups - 1;
        let entries = &table[line.max(first)..(line + GROUP).min(last)];
        if entries.iter().any(|entry| entry.load(Ordering::Relaxed) != 0) {
            return true;
        }
    }
    false
}

/// The slots of a table from the address `base` on that may have pages and are in `start..end`, with the address of each.
pub(super) fn of(
    table: &'static Table,
    base: usize,
    start: usize,
    end: usize,
) -> impl Iterator<Item = (usize, usize)> {
    let noted = ledger::users(phys_of(table)).load(Ordering::Relaxed);
    slots(noted, base, bounds(base, start, end))
}

/// The same; they will have none any more. The caller excludes other changes.
pub(super) fn take(
    table: &'static Table,
    base: usize,
    start: usize,
    end: usize,
) -> impl Iterator<Item = (usize, usize)> {
    let word = ledger::users(phys_of(table));
    let noted = word.load(Ordering::Relaxed);
    let (first, last) = bounds(base, start, end);
    let emptied = noted & bits(first.div_ceil(GROUP), last / GROUP);
    if emptied != 0 {
        word.store(noted & !emptied, Ordering::Relaxed);
    }
    slots(noted, base, (first, last))
}

/// The slots of a range: the first, and the first behind it.
fn bounds(base: usize, start: usize, end: usize) -> (usize, usize) {
    (start.saturating_sub(base) / PAGE_SIZE, ((end - base) / PAGE_SIZE).min(512))
}

/// The bits `first..end`.
fn bits(first: usize, end: usize) -> u64 {
    if first >= end { 0 } else { u64::MAX >> (64 - (end - first)) << first }
}

fn slots(noted: u64, base: usize, (first, last): (usize, usize)) -> impl Iterator<Item = (usize, usize)> {
    let mut groups = noted & bits(first / GROUP, last.div_ceil(GROUP));
    let lines = core::iter::from_fn(move || {
        let group = groups.trailing_zeros() as usize;
        groups &= groups.wrapping_sub(1);
        (group < 64).then_some(group * GROUP)
    });
    lines
        .flat_map(move |line| line.max(first)..(line + GROUP).min(last))
        .map(move |slot| (slot, base + slot * PAGE_SIZE))
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn slots_are_those_of_the_groups_in_the_range() {
        let base = 3 * 512 * PAGE_SIZE;
        for noted in [0, 1, 1 << 63, u64::MAX, 0x8000_0100_0000_0001, 0x00ff_0f00_5500_aa0c] {
            for first in (0..512).step_by(5) {
                for len in [1, 2, 7, 8, 9, 64, 511, 512, 1000] {
                    // Also ranges that begin before the table, or end behind it.
                    let start = base + first * PAGE_SIZE - if first == 0 { 10 * PAGE_SIZE } else { 0 };
                    let end = start.max(base) + len * PAGE_SIZE;
                    let expected: Vec<_> = (0..512)
                        .map(|slot| (slot, base + slot * PAGE_SIZE))
                        .filter(|&(slot, va)| noted >> (slot / GROUP) & 1 != 0 && start <= va && va < end)
                        .collect();
                    assert_eq!(slots(noted, base, bounds(base, start, end)).collect::<Vec<_>>(), expected);
                }
            }
        }
    }

    #[test]
    fn bits_are_a_range() {
        assert_eq!((bits(0, 64), bits(3, 5), bits(5, 5), bits(63, 64)), (u64::MAX, 0b11000, 0, 1 << 63));
    }
}
