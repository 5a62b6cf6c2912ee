// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The two 8259 interrupt controllers of an old PC, only to silence them: interrupts come through the local
//! APIC.

use crate::cpu::port::out8;

const COMMAND: [u16; 2] = [0x20, 0xa0];
const DATA: [u16; 2] = [0x21, 0xa1];

const INIT_WITH_MODE: u8 = 0x11;
/// How the two are wired: the second hangs on line 2 of the first.
const CASCADE: [u8; 2] = [1 << 2, 2];
const MODE_8086: u8 = 0x01;
const MASK_ALL: u8 = 0xff;
/// A spurious interrupt can arrive although all lines are masked; it must not look like an exception.
const FIRST_VECTOR: [u8; 2] = [0x20, 0x28];

/// Moves both controllers' vectors above the exceptions (0x20 to 0x2f) and masks every line.
pub fn mask_all() {
    for controller in 0..2 {
        out8(COMMAND[controller], INIT_WITH_MODE);
        out8(DATA[controller], FIRST_VECTOR[controller]);
        out8(DATA[controller], CASCADE[controller]);
        out8(DATA[controller], MODE_8086);
        out8(DATA[controller], MASK_ALL);
    }
}
