// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Turning the machine off: by QEMU's exit device under `hadal run`, else by ACPI.

use hadal_abi::machine::{DEBUG_EXIT_DONE, DEBUG_EXIT_PORT};
use hadal_acpi::{GenericAddress, SoftOff, Tables};
use hadal_hal::cpu;
use hadal_hal::cpu::{port, tsc};
use hadal_hal::memory::mmio::Region;
use spin::Once;

/// Time for the firmware to hand its registers over, in cycles of the time stamp counter: a second on a fast processor.
const HAND_OVER_CYCLES: u64 = 4_000_000_000;

static SOFT_OFF: Once<SoftOff> = Once::new();

/// Remembers how the machine is turned off, while the tables can be read.
pub(crate) fn read(tables: &Tables<'_>) {
    // The exit device reads as zeros, a port without a device as ones. The search through the tables' byte code is not due
    // where nobody needs it.
    if port::in32(DEBUG_EXIT_PORT) == 0 {
        return;
    }
    if let Some(soft_off) = tables.soft_off() {
        SOFT_OFF.call_once(|| soft_off);
    }
}

/// Turns the machine off; where that cannot be done, stops the CPU, and a person turns it off.
pub(crate) fn off() -> ! {
    port::out32(DEBUG_EXIT_PORT, DEBUG_EXIT_DONE);
    match SOFT_OFF.get() {
        Some(&SoftOff::Reduced { register: GenericAddress::Port { port }, value }) => port::out8(port, value),
        Some(&SoftOff::Reduced { register: GenericAddress::Memory { pa }, value }) => {
            if let Some(register) = Region::try_map(pa, 1) {
                register.write8(0, value);
            }
        }
        Some(SoftOff::Reduced { register: GenericAddress::PciConfig { .. }, .. }) | None => {}
        Some(&SoftOff::Pm1 { a, b, enable }) => {
            if let Some(enable) = enable {
                take_over(a.0, enable);
            }
            port::out16(a.0, a.1);
            if let Some((port, value)) = b {
                port::out16(port, value);
            }
        }
    }
    cpu::halt_forever()
}

/// Takes the fixed registers over from the firmware, where it has them.
fn take_over(control: u16, (command, value): (u16, u8)) {
    let is_ours = || port::in16(control) & SoftOff::SCI_ENABLED != 0;
    if is_ours() {
        return;
    }
    port::out8(command, value);
    let start = tsc::read();
    while !is_ours() && tsc::read() - start < HAND_OVER_CYCLES {
        cpu::relax();
    }
}
