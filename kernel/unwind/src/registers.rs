// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is known of a thread's registers in one frame.

use gimli::{Register, X86_64};

/// General registers and the return address, by DWARF number.
pub(crate) const REGISTERS: usize = 17;

/// What is known of the registers in one frame.
#[derive(Clone, Copy, Debug)]
pub struct Registers {
    values: [u64; REGISTERS],
    /// One bit for each register whose value is known.
    known: u32,
}

impl Registers {
    /// Instruction pointer, stack pointer and, if it is known, frame pointer; the others are unknown.
    pub fn new(ip: u64, sp: u64, bp: Option<u64>) -> Self {
        let mut registers = Self { values: [0; REGISTERS], known: 0 };
        registers.set(X86_64::RA, Some(ip));
        registers.set(X86_64::RSP, Some(sp));
        registers.set(X86_64::RBP, bp);
        registers
    }

    /// All registers, in the order of their DWARF numbers (x86-64 psABI, figure 3.36): RAX, RDX, RCX, RBX, RSI, RDI, RBP,
    /// RSP, R8 to R15, RIP.
    pub fn all(values: [u64; REGISTERS]) -> Self {
        Self { values, known: (1 << REGISTERS) - 1 }
    }

    pub(crate) fn get(&self, register: Register) -> Option<u64> {
        let index = usize::from(register.0);
        (index < REGISTERS && self.known >> index & 1 == 1).then(|| self.values[index])
    }

    pub(crate) fn set(&mut self, register: Register, value: Option<u64>) {
        let index = usize::from(register.0);
        if index >= REGISTERS {
            return;
        }
        match value {
            Some(value) => {
                self.values[index] = value;
                self.known |= 1 << index;
            }
            None => self.known &= !(1 << index),
        }
    }
}
