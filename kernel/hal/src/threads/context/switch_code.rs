// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The instructions that go from one context's stack to another's, and which of them fit the machine.

use core::arch::naked_asm;
use core::mem::offset_of;
use core::sync::atomic::{AtomicPtr, Ordering};

use super::Context;

pub(super) type SwitchCode = unsafe extern "C" fn(*const Context, *const Context);

/// An instruction that a simulated CPU does not execute: it has no FS base of its own and no interrupt flag. Its interrupts
/// are turned on behind the code.
#[cfg(not(feature = "sim"))]
macro_rules! on_cpu {
    ($code:literal) => {
        $code
    };
}
#[cfg(feature = "sim")]
macro_rules! on_cpu {
    ($code:literal) => {
        ""
    };
}
pub(super) use on_cpu;

macro_rules! push_callee_saved {
    () => {
        "push rbp; push rbx; push r12; push r13; push r14; push r15"
    };
}
macro_rules! pop_callee_saved {
    () => {
        "pop r15; pop r14; pop r13; pop r12; pop rbx; pop rbp"
    };
}

// The full and the light switch, keeping and ending the claim; and all of it once more for CPUs without the FSGSBASE
// instructions. rdi: the context that gives the CPU up; rsi: the one that gets it, as it finds after the switch. The core
// goes from stack to stack, with FS base and its return address on each; what else a context needs back is further up.
macro_rules! switch_code {
    ($core:ident, $stacks:ident, $light:ident, $save_fs:literal, $load_fs:literal, $claim:literal) => {
        #[unsafe(naked)]
        unsafe extern "C" fn $core(from: *const Context, to: *const Context) {
            naked_asm!(
                on_cpu!($save_fs),
                "push rax",
                "mov [rdi + {rsp}], rsp",
                "mov rsp, [rsi + {rsp}]",
                concat!($claim, "/* {claimed_by} */"),
                "pop rax",
                on_cpu!($load_fs),
                "ret",
                rsp = const offset_of!(Context, rsp),
                claimed_by = const offset_of!(Context, claimed_by),
            )
        }

        #[unsafe(naked)]
        pub(super) unsafe extern "C" fn $stacks(from: *const Context, to: *const Context) {
            naked_asm!(
                push_callee_saved!(),
                "call {core}",
                pop_callee_saved!(),
                "ret",
                core = sym $core,
            )
        }

        /// FNCLEX first: FLDCW would raise what the other thread's operations have left pending.
        #[unsafe(naked)]
        pub(super) unsafe extern "C" fn $light(from: *const Context, to: *const Context) {
            naked_asm!(
                "stmxcsr [rdi + {mxcsr}]",
                "fnstcw [rdi + {x87_control}]",
                push_callee_saved!(),
                "call {core}",
                pop_callee_saved!(),
                "fnclex",
                "ldmxcsr [rsi + {mxcsr}]",
                "fldcw [rsi + {x87_control}]",
                on_cpu!("sti"),
                "ret",
                core = sym $core,
                mxcsr = const offset_of!(Context, mxcsr),
                x87_control = const offset_of!(Context, x87_control),
            )
        }
    };
}
switch_code!(
    core_keep_fsgsbase,
    stacks_keep_fsgsbase,
    light_keep_fsgsbase,
    "rdfsbase rax",
    "wrfsbase rax",
    ""
);
switch_code!(
    core_release_fsgsbase,
    stacks_release_fsgsbase,
    light_release_fsgsbase,
    "rdfsbase rax",
    "wrfsbase rax",
    "mov qword ptr [rdi + {claimed_by}], 0"
);
switch_code!(
    core_keep_msr,
    stacks_keep_msr,
    light_keep_msr,
    "mov ecx, 0xc0000100; rdmsr; shl rdx, 32; or rax, rdx",
    "mov rdx, rax; shr rdx, 32; mov ecx, 0xc0000100; wrmsr",
    ""
);
switch_code!(
    core_release_msr,
    stacks_release_msr,
    light_release_msr,
    "mov ecx, 0xc0000100; rdmsr; shl rdx, 32; or rax, rdx",
    "mov rdx, rax; shr rdx, 32; mov ecx, 0xc0000100; wrmsr",
    "mov qword ptr [rdi + {claimed_by}], 0"
);

/// The pieces that fit the machine; chosen once, before the first switch, since all of them share a stack's layout but not
/// all CPUs have the instructions.
pub(super) struct Pieces {
    pub(super) light_keep: AtomicPtr<()>,
    pub(super) light_release: AtomicPtr<()>,
    pub(super) stacks_keep: AtomicPtr<()>,
    pub(super) stacks_release: AtomicPtr<()>,
}

pub(super) static PIECES: Pieces = Pieces {
    light_keep: AtomicPtr::new(light_keep_msr as *mut ()),
    light_release: AtomicPtr::new(light_release_msr as *mut ()),
    stacks_keep: AtomicPtr::new(stacks_keep_msr as *mut ()),
    stacks_release: AtomicPtr::new(stacks_release_msr as *mut ()),
};

impl Pieces {
    pub(super) fn use_fsgsbase(&self) {
        self.light_keep.store(light_keep_fsgsbase as *mut (), Ordering::Relaxed);
        self.light_release.store(light_release_fsgsbase as *mut (), Ordering::Relaxed);
        self.stacks_keep.store(stacks_keep_fsgsbase as *mut (), Ordering::Relaxed);
        self.stacks_release.store(stacks_release_fsgsbase as *mut (), Ordering::Relaxed);
    }
}

/// A piece as the function that it is.
#[inline(always)]
pub(super) fn code(piece: &AtomicPtr<()>) -> SwitchCode {
    // SAFETY: the words of `PIECES` hold nothing but functions of this type.
    unsafe { core::mem::transmute::<*mut (), SwitchCode>(piece.load(Ordering::Relaxed)) }
}

/// A switch in line, with some instructions before and behind `core_release_fsgsbase`: callee-saved registers that the
/// caller has no use for are not saved.
#[cfg(target_os = "none")]
macro_rules! switch_in_line {
    ($from:expr, $to:expr, [$($before:literal),*], [$($behind:literal),*] $(, $name:ident = const $value:expr)*) => {
        core::arch::asm!(
            $($before,)*
            "push rbp",
            "push rbx",
            "call {core}",
            "pop rbx",
            "pop rbp",
            $($behind,)*
            core = sym core_release_fsgsbase,
            $($name = const $value,)*
            inout("rdi") $from => _,
            inout("rsi") $to => _,
            out("rax") _,
            out("rcx") _,
            out("rdx") _,
            out("r8") _,
            out("r9") _,
            out("r10") _,
            out("r11") _,
            out("r12") _,
            out("r13") _,
            out("r14") _,
            out("r15") _,
        )
    };
}

/// What `light_release_fsgsbase` does, in line.
///
/// # Safety
/// As for all switches, see [`Switch::begin`]; the CPU has FSGSBASE.
#[cfg(target_os = "none")]
#[inline(always)]
pub(super) unsafe fn light_release_in_line(from: *const Context, to: *const Context) {
    // SAFETY: the caller's; every register that another thread may have changed is saved or named here.
    unsafe {
        switch_in_line!(
            from,
            to,
            ["stmxcsr [rdi + {mxcsr}]", "fnstcw [rdi + {x87_control}]"],
            ["fnclex", "ldmxcsr [rsi + {mxcsr}]", "fldcw [rsi + {x87_control}]", "sti"],
            mxcsr = const offset_of!(Context, mxcsr),
            x87_control = const offset_of!(Context, x87_control)
        );
    }
}

/// What `stacks_release_fsgsbase` does, in line.
///
/// # Safety
/// As for all switches, see [`Switch::begin`]; the CPU has FSGSBASE.
#[cfg(target_os = "none")]
#[inline(always)]
pub(super) unsafe fn stacks_release_in_line(from: *const Context, to: *const Context) {
    // SAFETY: the caller's; every register that another thread may have changed is saved or named here, but for those of
    // vectors, which the kernel does not use.
    unsafe { switch_in_line!(from, to, [], []) }
}

/// Host tests never switch.
#[cfg(not(target_os = "none"))]
pub(super) unsafe fn stacks_release_in_line(from: *const Context, to: *const Context) {
    // SAFETY: the caller's.
    unsafe { stacks_release_fsgsbase(from, to) }
}

/// Host tests never switch.
#[cfg(not(target_os = "none"))]
pub(super) unsafe fn light_release_in_line(from: *const Context, to: *const Context) {
    // SAFETY: the caller's.
    unsafe { light_release_fsgsbase(from, to) }
}
