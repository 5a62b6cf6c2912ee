// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sets of descriptors as bit fields, and the core of `select` and `pselect6`.

use alloc::vec::Vec;
use core::ops::{Deref, DerefMut};

use hadal_hal::memory::fallible::{self, MakeRoom};
use hadal_vfs::{FdTable, MAX_DESCRIPTORS, PollEvents};
use zerocopy::IntoBytes;

use super::polling::{self, Watched};
use crate::call::Call;
use crate::{Errno, Result, memory};

const WORD_BITS: usize = u64::BITS as usize;

/// Which events make a descriptor ready for reading, for writing, and exceptional.
const READY: [PollEvents; 3] = [
    PollEvents::READABLE.union(PollEvents::HANG_UP).union(PollEvents::ERROR),
    PollEvents::WRITABLE.union(PollEvents::ERROR),
    PollEvents::PRIORITY,
];

/// A set, as words.
type Set = memory::ProgramArray<u64, 16>;

fn contains(set: &[u64], fd: usize) -> bool {
    set.get(fd / WORD_BITS).is_some_and(|word| word >> (fd % WORD_BITS) & 1 != 0)
}

/// The descriptors below `count` that are in one of the sets, with the events they are asked about.
fn questions(sets: [&[u64]; 3], count: usize) -> impl Iterator<Item = (usize, PollEvents)> {
    (0..count).filter_map(move |fd| {
        let wanted = (0..3).filter(|&kind| contains(sets[kind], fd)).map(|kind| READY[kind]);
        let wanted = wanted.fold(PollEvents::empty(), PollEvents::union);
        (!wanted.is_empty()).then_some((fd, wanted))
    })
}

/// Leaves in each set only the descriptors that are ready; the answers are in the order of descriptors. Returns how many
/// bits that are.
fn keep_ready(sets: [&mut [u64]; 3], answers: &[(usize, PollEvents)]) -> usize {
    let mut bits = 0;
    for (set, events) in sets.into_iter().zip(READY) {
        let mut ready = answers.iter().filter(|(_, ready)| ready.intersects(events)).peekable();
        for (index, word) in set.iter_mut().enumerate() {
            let mut kept = 0;
            while let Some((fd, _)) = ready.next_if(|(fd, _)| fd / WORD_BITS == index) {
                kept |= 1 << (fd % WORD_BITS);
            }
            *word &= kept;
            bits += word.count_ones() as usize;
        }
    }
    bits
}

fn watch(files: &FdTable, sets: [&[u64]; 3], count: usize) -> Result<(Vec<usize>, Vec<Watched>)> {
    let mut fds = Vec::new();
    let mut watched = Vec::new();
    for (fd, wanted) in questions(sets, count) {
        watched.make_room(1)?;
        fds.make_room(1)?;
        watched.push(Watched::new(Some(files.get(fd as i32)?), wanted));
        fds.push(fd);
    }
    Ok((fds, watched))
}

/// Waits for the sets that arguments 0 to 3 describe and stores what is ready in them; returns the number of bits.
pub(crate) fn select(call: &Call<'_>, deadline_ns: Option<u64>) -> Result<usize> {
    let count = usize::try_from(call.int(0)).map_err(|_| Errno::EINVAL)?.min(MAX_DESCRIPTORS as usize);
    let words = count.div_ceil(WORD_BITS);
    let addresses = [call.arg(1), call.arg(2), call.arg(3)];
    // One that is not given is empty.
    let mut sets = [Set::new(), Set::new(), Set::new()];
    for (set, address) in sets.iter_mut().zip(addresses) {
        if address != 0 {
            set.read(address, words)?;
        }
    }
    let (fds, mut watched) = watch(&call.process.files(), sets.each_ref().map(Deref::deref), count)?;
    polling::wait(call, &mut watched, deadline_ns)?;
    let answers = fallible::collected(fds.into_iter().zip(watched.iter().map(|entry| entry.ready)))?;
    let bits = keep_ready(sets.each_mut().map(DerefMut::deref_mut), &answers);
    for (set, address) in sets.iter().zip(addresses) {
        if address != 0 {
            memory::write_bytes(address, set.as_bytes())?;
        }
    }
    Ok(bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_the_union_of_the_sets() {
        let sets: [&[u64]; 3] = [&[0b101, 1], &[0b100, 0], &[]];
        let all: Vec<_> = questions(sets, 128).collect();
        assert_eq!(all.iter().map(|(fd, _)| *fd).collect::<Vec<_>>(), [0, 2, 64]);
        assert_eq!(all[1].1, READY[0] | READY[1]);
        assert_eq!(questions(sets, 64).count(), 2);
        assert_eq!(questions(sets, 0).count(), 0);
    }

    #[test]
    fn only_what_was_asked_for_stays() {
        let mut sets = [[0b111], [0b100], [0b001]];
        let answers = [
            (0, PollEvents::HANG_UP),
            (1, PollEvents::WRITABLE),
            (2, PollEvents::READABLE | PollEvents::WRITABLE),
        ];
        assert_eq!(keep_ready(sets.each_mut().map(|set| &mut set[..]), &answers), 3);
        assert_eq!(sets, [[0b101], [0b100], [0]]);
    }
}
