// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Going from one simulated CPU's stack to another's.

use alloc::boxed::Box;
use alloc::vec;
use core::arch::naked_asm;

/// Bytes of the stack that a CPU begins on.
const STACK_BYTES: usize = 256 << 10;

/// Stores the stack pointer of the code that calls it through `from`, and goes on where `to` was stored.
///
/// # Safety
/// `to` was stored by this function and has not been gone on with since, or comes from [`fresh`].
#[unsafe(naked)]
pub(super) unsafe extern "C" fn swap(from: *mut u64, to: u64) {
    naked_asm!(
        "push rbp; push rbx; push r12; push r13; push r14; push r15",
        "mov [rdi], rsp",
        "mov rsp, rsi",
        "pop r15; pop r14; pop r13; pop r12; pop rbx; pop rbp",
        "ret",
    )
}

/// First code of a CPU: `rbx` is the function, `r12` its first argument, and the stack is the second.
#[unsafe(naked)]
unsafe extern "C" fn start() {
    naked_asm!("mov rdi, r12", "mov rsi, rsp", "xor ebp, ebp", "call rbx", "ud2")
}

/// A stack that [`swap`] may go on with: it calls `code(cpu, top)`. The stack is never freed.
pub(super) fn fresh(code: extern "C" fn(usize, u64) -> !, cpu: usize) -> u64 {
    let words: &'static mut [u64] = Box::leak(vec![0; STACK_BYTES / 8].into_boxed_slice());
    // At the top, aligned as the ABI wants it where `start` calls: what `swap` pops, and where it returns to.
    let top = (words.len() - 2) & !1;
    let odd = words.as_ptr() as usize / 8 % 2;
    let first = top - 7 + odd;
    let frame = [0, 0, 0, cpu as u64, code as usize as u64, 0, start as *const () as u64];
    words[first..first + frame.len()].copy_from_slice(&frame);
    words[first..].as_ptr() as u64
}
