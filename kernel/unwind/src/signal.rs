// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Signal frames in code without tables, such as musl's: recognised by the code that a handler returns to.

use gimli::{Register, X86_64};

use crate::registers::Registers;
use crate::walk::Program;

/// `mov $15, %rax; syscall`: the call `rt_sigreturn`.
const RETURN: [u8; 9] = [0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05];
/// Where Linux saves registers behind the return address (`struct ucontext` of asm/ucontext.h and asm/sigcontext.h).
const PLACES: [(Register, u64); 17] = [
    (X86_64::R8, 40),
    (X86_64::R9, 48),
    (X86_64::R10, 56),
    (X86_64::R11, 64),
    (X86_64::R12, 72),
    (X86_64::R13, 80),
    (X86_64::R14, 88),
    (X86_64::R15, 96),
    (X86_64::RDI, 104),
    (X86_64::RSI, 112),
    (X86_64::RBP, 120),
    (X86_64::RBX, 128),
    (X86_64::RDX, 136),
    (X86_64::RAX, 144),
    (X86_64::RCX, 152),
    (X86_64::RSP, 160),
    (X86_64::RA, 168),
];

/// The registers that a signal interrupted, if the code at `address` is what a handler returns to.
pub(crate) fn interrupted(program: &impl Program, address: u64, sp: u64) -> Option<Registers> {
    let mut code = [0; RETURN.len()];
    if !program.code(address, &mut code) || code != RETURN {
        return None;
    }
    let mut registers = Registers::new(0, 0, None);
    for (register, distance) in PLACES {
        registers.set(register, Some(program.word(sp.checked_add(distance)?)?));
    }
    Some(registers)
}
