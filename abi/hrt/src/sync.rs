// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Synchronisation objects: those that programs put into their own memory, and how they look when nobody uses them.

use crate::words::ThreadId;

/// Interrupt the woken thread's CPU if it sleeps or runs something less urgent.
pub const WAKE_KICK: u32 = 0_u32;
/// No interrupt: the thread runs when its CPU looks next, at most 1 ms later.
pub const WAKE_NO_KICK: u32 = 1_u32;
/// Signals do not end the wait; they are handled when it is over.
pub const WAIT_NO_INTR: u32 = 1_u32;
/// The count that wakes all.
pub const WAKE_ALL: u32 = u32::MAX;

/// Magic of a mutex: the upper half of `word`.
pub const MUTEX_MAGIC: u32 = 0x4d54_0000_u32;
/// Magic of a reader-writer lock: the bits 24 to 31 of `state`.
pub const RWLOCK_MAGIC: u64 = 0x5200_0000_u64;
/// Magic of a wait queue: the upper 12 bits of `state`.
pub const WAIT_QUEUE_MAGIC: u32 = 0x5710_0000_u32;
/// Magic of a semaphore: the upper 12 bits of `state`.
pub const SEM_MAGIC: u64 = 0x5e40_0000_0000_0000_u64;
/// The highest value of a semaphore.
pub const SEM_MAX: u32 = 0x7fff_ffff_u32;

/// Test-and-set: the cheapest when it is rarely contended, and unfair.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Spin {
    /// 1 while somebody holds it.
    pub held: u32,
}

/// How often a mutex may be locked, and by whom.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MutexKind {
    /// No owner: locking it twice waits for ever, any thread may unlock it.
    Normal = 0,
    /// Knows its owner: HRT_EDEADLK and HRT_EPERM instead.
    ErrorChecking = 1,
    /// Knows its owner, who may lock it again.
    Recursive = 2,
}

/// The word is magic, kind, and two bits of state, so that the inline paths check all of them with one
/// compare-and-swap. A waiter spins for a bounded while as long as nobody sleeps, where there is more than
/// one CPU, and then sleeps.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Mutex {
    /// Magic, kind and state.
    pub word: u32,
    /// Of the recursive kind, less one.
    pub depth: u32,
    /// Not of the normal kind.
    pub owner: ThreadId,
}

impl Mutex {
    /// A free one of the normal kind.
    #[must_use]
    pub const fn new() -> Self {
        Self { word: MUTEX_MAGIC | (MutexKind::Normal as u32) << 4, depth: 0, owner: 0 }
    }
}

impl Default for Mutex {
    fn default() -> Self {
        Self::new()
    }
}

/// One writer or many readers. By default a reader joins other readers past waiting writers, so a thread may
/// read-lock again what it has read-locked; with HRT_RWLOCK_PREFER_WRITER it waits behind them, and may not.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Rwlock {
    /// Readers see, and sleep on, the lower half; writers sleep on the upper one.
    pub state: u64,
}

impl Rwlock {
    /// A free one that prefers readers.
    #[must_use]
    pub const fn new() -> Self {
        Self { state: RWLOCK_MAGIC }
    }
}

impl Default for Rwlock {
    fn default() -> Self {
        Self::new()
    }
}

/// Threads that wait for something to become true, without a lock.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct WaitQueue {
    /// Grows with every wake; sleepers wait for that.
    pub sequence: u32,
    /// Magic and how many are between prepare and the end of wait.
    pub state: u32,
}

/// A wait queue that hands back a mutex. Threads that need no lock to look wait on `queue` itself: prepare,
/// look, wait; signal and broadcast reach both, and none of the woken has to queue for a mutex.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Cond {
    /// Who waits.
    pub queue: WaitQueue,
}

impl Cond {
    /// One that nobody waits for.
    #[must_use]
    pub const fn new() -> Self {
        Self { queue: WaitQueue { sequence: 0, state: WAIT_QUEUE_MAGIC } }
    }
}

impl Default for Cond {
    fn default() -> Self {
        Self::new()
    }
}

/// One 64-bit word, so that a post touches the object once: whoever it lets go on may destroy it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Sem {
    /// Value in the lower half; number of waiters and magic in the upper one.
    pub state: u64,
}

impl Sem {
    /// One with a value, at most [`SEM_MAX`].
    #[must_use]
    pub const fn new(value: u32) -> Self {
        Self { state: SEM_MAGIC | value as u64 }
    }
}
