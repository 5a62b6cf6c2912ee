// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The alternate signal stack of a thread (`sigaltstack`).

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use linux_raw_sys::general::{SS_AUTODISARM, SS_DISABLE, SS_ONSTACK};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::task::Task;
use crate::{Errno, Result};

/// Smallest stack that `sigaltstack` takes (`MINSIGSTKSZ`). A handler's frame may need more: see `AT_MINSIGSTKSZ`.
const MIN_BYTES: u64 = 2048;

/// `stack_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct RawStack {
    sp: u64,
    flags: u32,
    padding: u32,
    size: u64,
}

/// An alternate stack, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AltStack {
    start: u64,
    /// 0 when there is none.
    size: u64,
    /// The stack is taken away while a handler runs on it.
    auto_disarm: bool,
}

impl AltStack {
    /// No alternate stack.
    pub const NONE: Self = Self { start: 0, size: 0, auto_disarm: false };

    /// Whether handlers can be sent there.
    pub(super) fn is_set(&self) -> bool {
        self.size != 0
    }

    /// Where a frame starts to grow down from.
    pub(super) fn top(&self) -> u64 {
        self.start.wrapping_add(self.size)
    }

    /// Whether it is to be taken away when a handler starts on it.
    pub(super) fn auto_disarms(&self) -> bool {
        self.auto_disarm
    }

    /// Whether a stack pointer lies on it. One that disarms itself is never in use as far as the kernel knows.
    pub(super) fn contains(&self, sp: u64) -> bool {
        !self.auto_disarm && self.holds(sp)
    }

    /// Whether an address lies on it.
    pub(super) fn holds(&self, sp: u64) -> bool {
        sp > self.start && sp - self.start <= self.size
    }

    /// As the program sees it when its stack pointer is `sp`.
    pub fn to_raw(self, sp: u64) -> RawStack {
        let state = if !self.is_set() {
            SS_DISABLE
        } else if self.contains(sp) {
            SS_ONSTACK
        } else {
            0
        };
        let disarm = if self.auto_disarm { SS_AUTODISARM } else { 0 };
        RawStack { sp: self.start, flags: state | disarm, padding: 0, size: self.size }
    }

    /// Checks what a program gives.
    pub fn from_raw(raw: RawStack) -> Result<Self> {
        let auto_disarm = raw.flags & SS_AUTODISARM != 0;
        match raw.flags & !SS_AUTODISARM {
            SS_DISABLE => Ok(Self { start: 0, size: 0, auto_disarm }),
            0 | SS_ONSTACK if raw.size < MIN_BYTES => Err(Errno::ENOMEM),
            0 | SS_ONSTACK => Ok(Self { start: raw.sp, size: raw.size, auto_disarm }),
            _ => Err(Errno::EINVAL),
        }
    }
}

/// The alternate stack of a thread. Only the thread itself asks for it and changes it, and who makes the thread, before.
pub(super) struct ThreadAltStack {
    start: AtomicU64,
    size: AtomicU64,
    auto_disarm: AtomicBool,
}

impl ThreadAltStack {
    pub(super) const fn new() -> Self {
        Self { start: AtomicU64::new(0), size: AtomicU64::new(0), auto_disarm: AtomicBool::new(false) }
    }

    #[inline]
    fn get(&self) -> AltStack {
        AltStack {
            start: self.start.load(Ordering::Relaxed),
            size: self.size.load(Ordering::Relaxed),
            auto_disarm: self.auto_disarm.load(Ordering::Relaxed),
        }
    }

    #[inline]
    pub(super) fn put(&self, stack: AltStack) {
        self.start.store(stack.start, Ordering::Relaxed);
        self.size.store(stack.size, Ordering::Relaxed);
        self.auto_disarm.store(stack.auto_disarm, Ordering::Relaxed);
    }
}

/// The alternate stack of the calling thread.
#[inline]
pub fn get(task: &Task) -> AltStack {
    task.signals.alt_stack.get()
}

/// Changes it; `sp` is the program's stack pointer, which must not be on the old one.
#[inline]
pub fn set(task: &Task, raw: RawStack, sp: u64) -> Result<()> {
    let current = get(task);
    if current.contains(sp) {
        return Err(Errno::EPERM);
    }
    let stack = AltStack::from_raw(raw)?;
    // What a handler returns to is mostly what it was.
    if stack != current {
        task.signals.alt_stack.put(stack);
        task.set_altered(true);
    }
    Ok(())
}

/// Gives a new thread that of another.
pub(crate) fn copy(from: &Task, to: &Task) {
    let stack = get(from);
    if stack != AltStack::NONE {
        to.signals.alt_stack.put(stack);
        to.set_altered(true);
    }
}

/// Takes it away from the calling thread.
pub(crate) fn disarm(task: &Task) {
    task.signals.alt_stack.put(AltStack::NONE);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(flags: u32, size: u64) -> RawStack {
        RawStack { sp: 0x10000, flags, padding: 0, size }
    }

    #[test]
    fn states() {
        let stack = AltStack::from_raw(raw(0, 8192)).unwrap();
        assert_eq!(stack.to_raw(0x11000).flags, SS_ONSTACK);
        assert_eq!(stack.to_raw(0x12000).flags, SS_ONSTACK, "an empty stack is in use");
        assert_eq!(stack.to_raw(0x12001).flags, 0);
        assert_eq!(stack.to_raw(0x10000).flags, 0);
        assert_eq!(AltStack::NONE.to_raw(0).flags, SS_DISABLE);
    }

    #[test]
    fn a_thread_has_the_stack_that_it_was_given_last() {
        let of_thread = ThreadAltStack::new();
        let disarming = AltStack::from_raw(raw(SS_DISABLE | SS_AUTODISARM, 0)).unwrap();
        for stack in [AltStack::NONE, AltStack::from_raw(raw(0, 8192)).unwrap(), disarming, AltStack::NONE] {
            of_thread.put(stack);
            assert_eq!(of_thread.get(), stack);
        }
    }

    #[test]
    fn refusals() {
        assert_eq!(AltStack::from_raw(raw(0, 2047)), Err(Errno::ENOMEM));
        assert_eq!(AltStack::from_raw(raw(4, 8192)), Err(Errno::EINVAL));
        assert_eq!(AltStack::from_raw(raw(SS_DISABLE, 0)), Ok(AltStack::NONE));
    }

    #[test]
    fn a_disarming_stack_is_never_in_use() {
        let stack = AltStack::from_raw(raw(SS_AUTODISARM, 8192)).unwrap();
        assert_eq!(stack.to_raw(0x11000).flags, SS_AUTODISARM);
    }
}
