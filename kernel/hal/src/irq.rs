// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The interrupt flag, vector numbers, and the table of device interrupt handlers.

use core::sync::atomic::{AtomicUsize, Ordering};

use crate::sync::SpinLock;

/// Restores the interrupt flag that [`disable`] found.
#[must_use = "interrupts are restored when the guard is dropped"]
pub struct IrqGuard {
    were_enabled: bool,
}

/// Turns interrupts off on this CPU until the guard is dropped.
pub fn disable() -> IrqGuard {
    let were_enabled = enabled();
    mask();
    IrqGuard { were_enabled }
}

impl Drop for IrqGuard {
    fn drop(&mut self) {
        if self.were_enabled {
            unmask();
        }
    }
}

/// Whether this CPU takes interrupts.
#[inline]
pub fn enabled() -> bool {
    #[cfg(target_os = "none")]
    {
        let flags: u64;
        // SAFETY: reads the flags by way of the kernel stack; the kernel has no red zone.
        unsafe { core::arch::asm!("pushfq", "pop {}", out(reg) flags, options(preserves_flags)) };
        flags & (1 << 9) != 0
    }
    #[cfg(not(target_os = "none"))]
    false
}

/// Turns interrupts off.
#[inline]
pub fn mask() {
    #[cfg(target_os = "none")]
    // SAFETY: ring 0; no memory is touched. Not `nomem`: a critical section must not be moved across it.
    unsafe {
        core::arch::asm!("cli", options(nostack));
    }
}

/// Turns interrupts on.
#[inline]
pub fn unmask() {
    #[cfg(target_os = "none")]
    // SAFETY: every handler runs on its own stack and takes only interrupt-safe locks.
    unsafe {
        core::arch::asm!("sti", options(nostack));
    }
}

/// Spurious interrupts of the local APIC.
pub const VECTOR_SPURIOUS: u8 = 0xff;
/// The local one-shot timer.
pub const VECTOR_TIMER: u8 = 0xf0;
/// "Look at your run queue and the interrupted thread's signals."
pub const VECTOR_RESCHEDULE: u8 = 0xf1;
/// "Flush your TLB."
pub const VECTOR_TLB: u8 = 0xf2;
/// "Stop: the machine has panicked or is going down."
pub const VECTOR_STOP: u8 = 0xf3;

const FIRST_DEVICE: u8 = 0x30;
const LAST_DEVICE: u8 = 0xdf;
const DEVICES: usize = (LAST_DEVICE - FIRST_DEVICE + 1) as usize;

/// A device interrupt handler and its argument; runs with interrupts off on the interrupt stack and must not block.
#[derive(Clone, Copy)]
struct Handler {
    call: fn(usize),
    arg: usize,
}

static HANDLERS: SpinLock<[Option<Handler>; DEVICES]> = SpinLock::new([None; DEVICES]);
static SPURIOUS: AtomicUsize = AtomicUsize::new(0);

/// Binds a handler to a free device vector and returns it, or `None` when all vectors are taken.
pub fn register_vector(handler: fn(usize), arg: usize) -> Option<u8> {
    let mut handlers = HANDLERS.lock();
    let free = handlers.iter().position(Option::is_none)?;
    handlers[free] = Some(Handler { call: handler, arg });
    Some(FIRST_DEVICE + free as u8)
}

/// Runs the handler of a device vector; unknown vectors are counted.
pub(crate) fn dispatch_device(vector: u8) {
    let handler = if (FIRST_DEVICE..=LAST_DEVICE).contains(&vector) {
        HANDLERS.lock()[usize::from(vector - FIRST_DEVICE)]
    } else {
        None
    };
    match handler {
        Some(handler) => (handler.call)(handler.arg),
        None => {
            SPURIOUS.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Number of interrupts that arrived on a vector without a handler.
pub fn spurious_count() -> usize {
    SPURIOUS.load(Ordering::Relaxed)
}

/// Message address that a device writes to interrupt `cpu` (Intel SDM vol. 3, 11.11.1).
pub fn msi_address(cpu: usize) -> u64 {
    0xfee0_0000 | u64::from(crate::percpu::apic_id(cpu) & 0xff) << 12
}

/// Message data for a fixed, edge-triggered interrupt on `vector` (Intel SDM vol. 3, 11.11.2).
pub fn msi_data(vector: u8) -> u32 {
    u32::from(vector)
}
