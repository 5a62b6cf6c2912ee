// SPDX-License-Identifier: Apache-2.0 OR MIT
//! I/O ports. Safe to call from the platform drivers of this crate family: no port of a PC writes to memory by itself
//! without a device having been given an address first.

macro_rules! port {
    ($read:ident, $write:ident, $type:ty, $reg:tt, $size:literal) => {
        #[doc = concat!("Reads ", $size, " from an I/O port.")]
        pub fn $read(port: u16) -> $type {
            let value: $type;
            // SAFETY: ring 0; port input touches no memory.
            unsafe { core::arch::asm!(concat!("in ", $reg, ", dx"), in("dx") port, out($reg) value, options(nomem, nostack)) };
            value
        }
        #[doc = concat!("Writes ", $size, " to an I/O port.")]
        pub fn $write(port: u16, value: $type) {
            // SAFETY: ring 0; port output touches no memory of ours.
            unsafe { core::arch::asm!(concat!("out dx, ", $reg), in("dx") port, in($reg) value, options(nomem, nostack)) };
        }
    };
}

port!(in8, out8, u8, "al", "a byte");
port!(in16, out16, u16, "ax", "a 16-bit word");
port!(in32, out32, u32, "eax", "a 32-bit word");
