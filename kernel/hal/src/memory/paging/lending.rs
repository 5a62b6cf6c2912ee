// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Mapping frames that are lent, several at a time: what one fault on a file shows.

use super::entry::{LENT, PageFlags, PageSize, index, program_leaf};
use super::tables::{set_empty, table_for};
use super::{MapError, PROGRAM_HALF, PageTable, bytes_of, groups};
use crate::cpu::percpu;
use crate::memory::frames::Lent;
use crate::memory::layout::PAGE_SIZE;

impl PageTable {
    /// Maps frames at addresses of one block of 2 MiB, which takes one way from the root, and tells `mapped` of each whether it is
    /// there now. The shares of the others end. Callers may race.
    ///
    /// # Panics
    /// If an address is not that of a page, or not in the block of the first, or not in the program's half.
    pub fn map_lent(
        &self,
        frames: impl Iterator<Item = (usize, Lent)>,
        flags: PageFlags,
        mapped: &mut impl FnMut(usize, Result<(), MapError>),
    ) {
        let block = |va: usize| va / bytes_of(1);
        let mut frames = frames.peekable();
        let Some(&(first, _)) = frames.peek() else { return };
        assert!(first < PROGRAM_HALF, "no place for a page: {first:#x}");
        let table = table_for(self.root(), first, PageSize::Size4K, || self.new_table());
        let bits = program_leaf(LENT, PageSize::Size4K, flags);
        for (va, frame) in frames {
            assert!(
                va.is_multiple_of(PAGE_SIZE) && block(va) == block(first),
                "no place for a page: {va:#x}"
            );
            percpu::count_page_table_change();
            let result = table.and_then(|table| {
                let slot = index(va, 0);
                groups::note(table, slot);
                set_empty(&table[slot], bits | frame.phys())
            });
            if result.is_ok() {
                // The entry has it.
                let _ = frame.into_phys();
            }
            mapped(va, result);
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;
    use core::mem::ManuallyDrop;

    use super::super::growing::tests::{AT, set_frames};
    use super::super::{Page, take};
    use super::*;
    use crate::memory::frames::{Block, host_arena};

    #[test]
    fn frames_are_lent_where_there_is_room() {
        set_frames();
        let table = take().expect("memory");
        let arena = host_arena(2 << 20);
        let block = |number: usize| Block::claim(arena + (number * PAGE_SIZE) as u64, 0).expect("free");
        let owner: Vec<Block> = (0..4).map(block).collect();
        assert_eq!(table.map(AT + PAGE_SIZE, Page::from(block(9)), PageFlags::READ), Ok(()));
        let mut results = Vec::new();
        let lent = owner.iter().enumerate().map(|(number, frame)| (AT + number * PAGE_SIZE, frame.lend()));
        table
            .map_lent(lent, PageFlags::READ, &mut |va, result| results.push(((va - AT) / PAGE_SIZE, result)));
        let taken = Err(MapError::AlreadyMapped);
        assert_eq!(results, [(0, Ok(())), (1, taken), (2, Ok(())), (3, Ok(()))]);
        let found = |number: usize| table.lookup(AT + number * PAGE_SIZE).map(|found| found.0);
        for number in [0, 2, 3] {
            assert_eq!(found(number), Some(owner[number].phys()));
        }
        let mut lent = 0;
        let unmapped = table.unmap(AT, 4 * PAGE_SIZE, &mut |_, page, _| lent += usize::from(page.is_lent()));
        assert_eq!((unmapped, lent), (Ok(()), 3));
        // Nothing is lent any more, the one that was not mapped neither.
        for frame in owner {
            frame.release();
        }
    }

    #[test]
    #[should_panic(expected = "no place")]
    fn frames_of_another_block_are_refused() {
        set_frames();
        // With a page in it, it cannot be given back.
        let table = ManuallyDrop::new(take().expect("memory"));
        let owner = Block::claim(host_arena(2 << 20), 0).expect("free");
        let frames = [AT, AT + (2 << 20)].into_iter().map(|va| (va, owner.lend()));
        table.map_lent(frames, PageFlags::READ, &mut |_, _| {});
    }
}
