// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Store buffers: a store is seen by its own CPU at once, and by the others when it has left the buffer.

use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use super::machine::{Machine, machine};

/// Stores that a buffer holds; those of real CPUs hold some dozens.
const BUFFER: usize = 8;

/// Bytes of an atomic.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Width {
    Byte,
    Four,
    Eight,
}

#[derive(Clone, Copy)]
pub(super) struct Store {
    address: usize,
    width: Width,
    value: u64,
}

impl Store {
    /// The store reaches memory.
    pub(super) fn perform(self) {
        // SAFETY: the address is that of an atomic of this width which was there when the store was made; what is
        // simulated keeps its atomics in statics or leaked memory, so it is there still.
        unsafe {
            match self.width {
                Width::Byte => {
                    AtomicU8::from_ptr(self.address as *mut u8).store(self.value as u8, Ordering::Relaxed)
                }
                Width::Four => {
                    AtomicU32::from_ptr(self.address as *mut u32).store(self.value as u32, Ordering::Relaxed)
                }
                Width::Eight => {
                    AtomicU64::from_ptr(self.address as *mut u64).store(self.value, Ordering::Relaxed)
                }
            }
        }
    }
}

impl Machine {
    /// Sends the buffer of this CPU to memory.
    pub(super) fn drain(&self) {
        let stores = core::mem::take(&mut *self.own().buffer.borrow_mut());
        stores.into_iter().for_each(Store::perform);
    }
}

/// Before an access: locked ones find the buffer empty.
#[inline]
pub(crate) fn access(locked: bool) {
    if let Some(machine) = machine() {
        machine.step();
        if locked {
            machine.drain();
        }
    }
}

/// What the calling CPU's buffer holds for an address.
#[inline]
pub(crate) fn buffered(address: usize) -> Option<u64> {
    let buffer = machine()?.own().buffer.borrow();
    buffer.iter().rev().find(|store| store.address == address).map(|store| store.value)
}

/// Puts a store into the buffer; false if stores are not buffered.
#[inline]
pub(crate) fn store(address: usize, width: Width, value: u64) -> bool {
    let Some(machine) = machine().filter(|machine| machine.course.get().buffers) else { return false };
    let mut buffer = machine.own().buffer.borrow_mut();
    if buffer.len() == BUFFER {
        buffer.pop_front().into_iter().for_each(Store::perform);
    }
    buffer.push_back(Store { address, width, value });
    true
}

/// The calling CPU stores what it has in its buffer before another one may see that it has left a stack.
pub(crate) fn leave_stack() {
    if let Some(machine) = machine() {
        machine.drain();
    }
}
