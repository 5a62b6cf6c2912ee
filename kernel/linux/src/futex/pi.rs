// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Priority-inheritance locks: the word holds the owner's thread id, and unlocking hands the lock to the first waiter.
//! The owner does not inherit the priority of a waiter: the protocol is all there is.

use hadal_hal::memory::user;
use hadal_sync::AllThreads;

use super::robust::WAITERS;
use super::{ANY, Key, unpark, wait};
use crate::memory::efault;
use crate::process::Process;
use crate::task::Task;
use crate::{Errno, Result};

const TID_MASK: u32 = 0x3fff_ffff;
const OWNER_DIED: u32 = 0x4000_0000;

/// Takes the lock if it is free.
pub fn try_lock_pi(task: &Task, address: usize) -> Result<()> {
    loop {
        let word = user::load_u32(address).map_err(efault)?;
        if word & TID_MASK == task.tid() {
            return Err(Errno::EDEADLK);
        }
        if word & TID_MASK != 0 {
            return Err(Errno::EAGAIN);
        }
        let taken = word & (WAITERS | OWNER_DIED) | task.tid();
        if user::cmpxchg_u32(address, word, taken).map_err(efault)?.is_ok() {
            return Ok(());
        }
    }
}

/// Takes the lock, waiting for it until `deadline_ns`.
pub fn lock_pi(
    task: &Task,
    process: &Process,
    address: usize,
    key: Key,
    deadline_ns: Option<u64>,
) -> Result<()> {
    loop {
        match try_lock_pi(task, address) {
            Err(Errno::EAGAIN) => {}
            outcome => return outcome,
        }
        let word = user::load_u32(address).map_err(efault)?;
        if word & TID_MASK == 0 {
            continue;
        }
        let marked = word | WAITERS;
        if user::cmpxchg_u32(address, word, marked).map_err(efault)?.is_err() {
            continue;
        }
        match wait(process, address, key, marked, deadline_ns, ANY) {
            // The owner has written this thread's id into the word before it woke it, unless the wake was another's.
            Ok(()) if user::load_u32(address).map_err(efault)? & TID_MASK == task.tid() => return Ok(()),
            Ok(()) | Err(Errno::EAGAIN) => {}
            // The lock was handed over while the wait was ending.
            Err(_) if user::load_u32(address).map_err(efault)? & TID_MASK == task.tid() => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

/// Gives the lock to the thread that has waited longest, or frees it.
pub fn unlock_pi(task: &Task, process: &Process, address: usize, key: Key) -> Result<()> {
    loop {
        // Under the bucket's lock, so that the first waiter cannot give up between being named and being woken.
        let mut done = None;
        let decide = |first: Option<u32>, more: bool| {
            let Ok(word) = user::load_u32(address) else { return false };
            if word & TID_MASK != task.tid() {
                done = Some(Err(Errno::EPERM));
                return false;
            }
            let new = first.map_or(0, |first| (first + 1) | if more { WAITERS } else { 0 });
            // Otherwise changed meanwhile, or not writable now: the next turn touches it with interrupts on.
            let given = matches!(user::cmpxchg_u32(address, word, new), Ok(Ok(_)));
            if given {
                done = Some(Ok(()));
            }
            given
        };
        process.futexes.of(&key).hand_over(&AllThreads, &key, decide, unpark);
        if let Some(outcome) = done {
            return outcome;
        }
        let word = user::load_u32(address).map_err(efault)?;
        let _ = user::cmpxchg_u32(address, word, word).map_err(efault)?;
    }
}
