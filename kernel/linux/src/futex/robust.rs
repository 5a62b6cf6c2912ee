// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The robust list: what a thread held when it ended (get_robust_list(2), the kernel's robust-futex-ABI document).

use core::sync::atomic::Ordering;

use hadal_hal::memory::user;

use crate::futex;
use crate::task::Task;

/// Bits of a lock word: owner's thread id, "owner died", "has waiters".
const TID_MASK: u32 = 0x3fff_ffff;
const OWNER_DIED: u32 = 0x4000_0000;
pub(super) const WAITERS: u32 = 0x8000_0000;
/// Longest list that is walked: a program can make a circle.
const LIMIT: usize = 2048;

/// Marks every lock that the thread still holds as ownerless and wakes one waiter of each.
#[inline]
pub fn exit_robust_list(task: &Task) {
    let head = task.robust_list.load(Ordering::Relaxed);
    task.robust_list.store(0, Ordering::Relaxed);
    if head != 0 && !is_empty(head) {
        release_all(task, head);
    }
}

/// Whether a head is that of an empty list, as that of nearly every thread; not if it takes more to read it.
#[inline]
fn is_empty(head: usize) -> bool {
    let word = |index: usize| user::load_ordinary_u64(head.wrapping_add(8 * index));
    word(0).is_ok_and(|first| first & !1 == head as u64) && word(2) == Ok(0)
}

#[inline(never)]
fn release_all(task: &Task, head: usize) {
    // struct robust_list_head { struct robust_list list; long futex_offset; struct robust_list *pending; }
    let word = |index: usize| user::load_u64(head.wrapping_add(8 * index));
    let (Ok(first), Ok(offset), Ok(pending)) = (word(0), word(1), word(2)) else { return };
    // Bit 0 of a link marks a priority-inheritance lock; the word is treated alike.
    let lock_of = |link: u64| (link & !1).wrapping_add(offset) as usize;
    let mut link = first;
    for _ in 0..LIMIT {
        if link & !1 == head as u64 {
            break;
        }
        let next = user::load_u64((link & !1) as usize);
        if link != pending {
            release(task, lock_of(link));
        }
        let Ok(next) = next else { break };
        link = next;
    }
    if pending != 0 {
        release(task, lock_of(pending));
    }
}

fn release(task: &Task, address: usize) {
    let Ok(mut word) = user::load_u32(address) else { return };
    while word & TID_MASK == task.tid() {
        match user::cmpxchg_u32(address, word, word & WAITERS | OWNER_DIED) {
            Ok(Ok(_)) => {
                if word & WAITERS != 0 {
                    futex::wake_address(task.process(), address, 1);
                }
                return;
            }
            Ok(Err(found)) => word = found,
            Err(_) => return,
        }
    }
}
