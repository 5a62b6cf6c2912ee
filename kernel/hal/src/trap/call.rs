// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Calls from the program to the kernel without the `syscall` instruction: the entries of a table of functions that the
//! program finds through its auxiliary vector (decision 0016).
//!
//! An entry is an ordinary C function to its caller. It runs its implementation on the calling thread's kernel stack, with
//! interrupts as the caller had them: so it needs no program stack, it may wait, and a fault on program memory is resolved as
//! in a system call. Kernel code is not preempted, so on the way back the entry looks at the CPU's attention bits, and if
//! there are any, goes on in `trap::attend_call`, which makes a frame for the return address and treats it as any other way
//! back to program code.
//!
//! # No attention is lost
//! An interrupt between an entry's look and its `ret` finds kernel code and cannot attend. It moves the interrupted entry
//! back to before its look ([`before_check`]); nothing in between has an effect. All entries are 64 bytes apart and their
//! look is at the same place.
//!
//! # Handlers
//! In a handler of the program, which runs in interrupt context on an interrupt stack, the kernel stack may be in use. Each
//! entry looks whether it is called from one, and then continues elsewhere on the current stack: in the implementation, if
//! that is made for it, else in [`not_in_a_handler`].

/// An entry of a table, whatever its arguments.
pub type Entry = unsafe extern "C" fn();

/// Numbers for the code of [`crate::call_entry`].
#[doc(hidden)]
pub mod code {
    use crate::cpu::percpu::offset;

    pub const HANDLERS: usize = offset::HANDLERS;
    pub const KERNEL_STACK_TOP: usize = offset::KERNEL_STACK_TOP;
    pub const ATTENTION: usize = offset::ATTENTION;
    /// Bytes from the start of one entry to the next.
    pub const STRIDE: usize = 64;
    /// Where in an entry the look at the attention bits begins.
    pub const CHECK: usize = 42;

    #[cfg(target_os = "none")]
    pub use crate::trap::attend_call;
}

/// Makes an [`Entry`]: `call_entry!(<P: Bound> implementation, elsewhere)`, both paths of `extern "C"` functions that take raw
/// words and accept any, and that may be generic in `P`. `elsewhere` is called instead when a handler makes the call.
#[cfg(target_os = "none")]
#[macro_export]
macro_rules! call_entry {
    (<$generic:ident: $bound:path> $implementation:path, $elsewhere:path) => {{
        #[unsafe(naked)]
        #[unsafe(link_section = ".text.calls")]
        unsafe extern "C" fn entry<$generic: $bound>() {
            core::arch::naked_asm!(
                "77: cmp dword ptr gs:[{handlers}], 0",
                "jne {elsewhere}",
                "mov r11, rsp",
                "mov rsp, gs:[{kernel_stack_top}]",
                // The caller may have set DF, against the C ABI: then the kernel would copy backwards.
                "cld",
                // Twice, for the alignment of the stack.
                "push r11",
                "push r11",
                "call {implementation}",
                "mov rsp, [rsp + 8]",
                // The assembler refuses code that is longer than this.
                ".org 77b + {check}, 0x90",
                "cmp dword ptr gs:[{attention}], 0",
                "jne {attend}",
                "ret",
                ".balign {stride}, 0xcc",
                handlers = const $crate::trap::call::code::HANDLERS,
                kernel_stack_top = const $crate::trap::call::code::KERNEL_STACK_TOP,
                attention = const $crate::trap::call::code::ATTENTION,
                check = const $crate::trap::call::code::CHECK,
                stride = const $crate::trap::call::code::STRIDE,
                elsewhere = sym $elsewhere,
                implementation = sym $implementation,
                attend = sym $crate::trap::call::code::attend_call,
            );
        }
        entry::<$generic> as $crate::trap::call::Entry
    }};
}

/// Host builds have no program; the paths are checked all the same.
#[cfg(not(target_os = "none"))]
#[macro_export]
macro_rules! call_entry {
    (<$generic:ident: $bound:path> $implementation:path, $elsewhere:path) => {{
        unsafe extern "C" fn entry<$generic: $bound>() {
            let _ = ($implementation, $elsewhere);
        }
        entry::<$generic> as $crate::trap::call::Entry
    }};
}

/// What a call that is not for handlers returns in one: `EPERM`.
pub extern "C" fn not_in_a_handler() -> u32 {
    const EPERM: u32 = 1;
    EPERM
}

/// The same for calls that return a pointer or a number.
pub extern "C" fn nothing_in_a_handler() -> usize {
    0
}

/// The program's stack pointer in the call in progress: the caller's return address is there, free memory below.
#[inline]
pub fn program_stack_pointer() -> usize {
    #[cfg(target_os = "none")]
    {
        let top = crate::cpu::percpu::this().kernel_stack_top.load(core::sync::atomic::Ordering::Relaxed);
        let top = top as *const usize;
        // SAFETY: the top of the running thread's own kernel stack, where the entry has put the stack pointer.
        unsafe { *top.sub(1) }
    }
    #[cfg(not(target_os = "none"))]
    0
}

/// The same for a thread that does not run: a stale or foreign word if it is not in a call.
pub fn stack_pointer_of(context: &crate::threads::context::Context) -> usize {
    let top = context.stack_top.load(core::sync::atomic::Ordering::Relaxed);
    if top == 0 {
        return 0;
    }
    let place = (top - 8) as *const usize;
    // SAFETY: the first word of the context's kernel stack, or of what was that: the direct map covers all memory for good,
    // any word will do, and a racy read of one is a wrong line in a report at worst.
    unsafe { place.read_volatile() }
}

#[cfg(target_os = "none")]
unsafe extern "C" {
    safe static __calls_start: u8;
    safe static __calls_end: u8;
}

/// Where interrupted kernel code goes on: an entry that has looked for attention looks again.
#[cfg(target_os = "none")]
pub(crate) fn before_check(rip: u64) -> u64 {
    let start = core::ptr::from_ref(&__calls_start) as u64;
    let end = core::ptr::from_ref(&__calls_end) as u64;
    if (start..end).contains(&rip) { again(rip) } else { rip }
}

/// Whether an address is that of an entry's return instruction.
#[cfg(target_os = "none")]
pub(crate) fn is_return(rip: u64) -> bool {
    const RET: u8 = 0xc3;
    let start = core::ptr::from_ref(&__calls_start) as u64;
    let end = core::ptr::from_ref(&__calls_end) as u64;
    if !(start..end).contains(&rip) || rip % code::STRIDE as u64 <= code::CHECK as u64 {
        return false;
    }
    // SAFETY: kernel text is mapped. Behind the look an entry has one such byte that an instruction begins with, for the two
    // before it end in an address of the first gibibyte of the image and a distance within it.
    unsafe { (rip as *const u8).read() == RET }
}

/// Entries begin at multiples of their distance.
fn again(rip: u64) -> u64 {
    let (stride, check) = (code::STRIDE as u64, code::CHECK as u64);
    let begin = rip & !(stride - 1);
    begin + (rip - begin).min(check)
}

#[cfg(test)]
mod tests {
    use super::again;

    #[test]
    fn an_interrupted_entry_looks_again() {
        assert_eq!([0x1000, 0x1029, 0x1032, 0x1038].map(again), [0x1000, 0x1029, 0x102a, 0x102a]);
    }
}
