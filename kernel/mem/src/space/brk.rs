// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The program break (`brk`).

use core::sync::atomic::Ordering;

use super::limits::Limits;
use super::lock::Lock;
use super::pages::Removed;
use super::vma::{Backing, Name, Prot, Vma, VmaFlags};
use super::{AddressSpace, Inner, Mmu, PAGE_SIZE, WINDOW_END, WINDOW_START};

impl<M: Mmu> AddressSpace<M> {
    /// Says where the heap begins: after the program's last segment.
    pub fn set_brk(&self, start: usize) {
        self.change().brk = Some((start, start));
    }

    /// Moves the break to `wanted` if possible, and returns where it is then. What is not possible changes nothing; nor does
    /// what would take more than the limits.
    pub fn brk(&self, wanted: usize, limits: Limits<'_>) -> usize {
        let mut inner = self.change();
        let Some((first, current)) = inner.brk else { return 0 };
        let end = wanted.checked_next_multiple_of(PAGE_SIZE).filter(|&end| end <= WINDOW_END);
        let (Some(end), Some(old_end)) = (end, current.checked_next_multiple_of(PAGE_SIZE)) else {
            return current;
        };
        if wanted < first || first < WINDOW_START {
            return current;
        }
        if end < old_end {
            let Ok(removed) = self.evict(&mut inner, end, old_end) else { return current };
            let deferred = self.defer(&mut inner, end, old_end, removed.unwrap_or_default());
            inner.brk = Some((first, wanted));
            drop(inner);
            self.finish_later(deferred);
        } else if end > old_end {
            let fits = limits.mapped.is_none_or(|most| wanted - first <= most.heap.load(Ordering::Relaxed));
            let may_grow =
                fits && self.admits_growth(&inner) && inner.may_map(end - old_end, limits, || true);
            if !may_grow || !inner.map.is_free(old_end, end) {
                return current;
            }
            if inner.future.is_some() && !inner.may_lock(end - old_end, limits.locked) {
                return current;
            }
            let stale = inner.quarantine.busy(old_end, end).is_some();
            grow(&mut inner, old_end, end);
            inner.brk = Some((first, wanted));
            drop(inner);
            if stale {
                self.finish_now(old_end, end, Removed { stale, ..Removed::default() });
            }
        } else {
            inner.brk = Some((first, wanted));
        }
        wanted
    }
}

fn grow(inner: &mut Inner, start: usize, end: usize) {
    let vma = Vma {
        start,
        end,
        prot: Prot::READ | Prot::WRITE,
        max_prot: Prot::all(),
        flags: inner.future.map_or(VmaFlags::empty(), Lock::flags),
        backing: Backing::Anonymous,
        name: Name::Static("[heap]"),
        policy: None,
    };
    inner.map.insert(vma);
}
