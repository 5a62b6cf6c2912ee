// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The instructions that go from one context's stack to another's, and which of them fit the machine.

use core::arch::naked_asm;
use core::mem::offset_of;
use core::sync::atomic::{AtomicPtr, Ordering};

use super::Context;
use crate::cpu::percpu::offset;
use crate::memory::paging::PageTable;
use crate::memory::tlb;

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

/// Loads the page table of the context in rsi if it has one and the CPU another. What this CPU stores and in which order others
/// rely on: see [`crate::memory::tlb`]. XCHG is a full fence; a load of CR3 flushes what is not global. The stack is of no use
/// here.
#[cfg(not(feature = "sim"))]
macro_rules! enter_table {
    () => {
        concat!(
            "mov rcx, [rsi + {table}]; test rcx, rcx; jz 2f;",
            "mov edx, [rcx + {number}]; cmp edx, gs:[{page_table}]; je 2f;",
            "mov r9d, {changing}; xchg gs:[{page_table}], r9d;",
            "mov r8, [rip + {generation}]; mov r9, [rcx + {root}];",
            "mov cr3, r9;",
            "mov gs:[{tlb_seen}], r8; mov gs:[{page_table}], edx;",
            "2:",
        )
    };
}
/// All contexts have the same page table.
macro_rules! stay_in_table {
    () => {
        "/* {table} {number} {page_table} {changing} {generation} {root} {tlb_seen} */"
    };
}

/// Simulated CPUs have none.
#[cfg(feature = "sim")]
use stay_in_table as enter_table;

// The full and the light switch, keeping and ending the claim; all of it once more for CPUs without the FSGSBASE
// instructions; and all of that for machines with several page tables. rdi: the context that gives the CPU up; rsi: the one
// that gets it, as it finds after the switch. The core goes from stack to stack, with FS base and its return address on each;
// what else a context needs back is further up. Each of the stacks may be in a program's window, so the page table changes in
// between.
macro_rules! switch_code {
    (
        $core:ident, $stacks:ident, $light:ident, $save_fs:literal, $load_fs:literal, $table:ident, $claim:literal
    ) => {
        #[unsafe(naked)]
        unsafe extern "C" fn $core(from: *const Context, to: *const Context) {
            naked_asm!(
                on_cpu!($save_fs),
                "push rax",
                "mov [rdi + {rsp}], rsp",
                $table!(),
                "mov rsp, [rsi + {rsp}]",
                concat!($claim, "/* {claimed_by} */"),
                "pop rax",
                on_cpu!($load_fs),
                "ret",
                rsp = const offset_of!(Context, rsp),
                claimed_by = const offset_of!(Context, claimed_by),
                table = const offset_of!(Context, table),
                number = const PageTable::NUMBER_AT,
                root = const PageTable::ROOT_AT,
                page_table = const offset::PAGE_TABLE,
                tlb_seen = const offset::TLB_SEEN,
                generation = sym tlb::GENERATION,
                changing = const tlb::CHANGING,
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

/// The four pairs of functions of a machine with one page table, or with several.
macro_rules! switch_codes {
    ($table:ident, [$($fsgsbase_keep:ident)*], [$($fsgsbase_release:ident)*], [$($msr_keep:ident)*], [$($msr_release:ident)*]) => {
        switch_code!($($fsgsbase_keep,)* "rdfsbase rax", "wrfsbase rax", $table, "");
        switch_code!(
            $($fsgsbase_release,)* "rdfsbase rax", "wrfsbase rax", $table,
            "mov qword ptr [rdi + {claimed_by}], 0"
        );
        switch_code!(
            $($msr_keep,)*
            "mov ecx, 0xc0000100; rdmsr; shl rdx, 32; or rax, rdx",
            "mov rdx, rax; shr rdx, 32; mov ecx, 0xc0000100; wrmsr",
            $table,
            ""
        );
        switch_code!(
            $($msr_release,)*
            "mov ecx, 0xc0000100; rdmsr; shl rdx, 32; or rax, rdx",
            "mov rdx, rax; shr rdx, 32; mov ecx, 0xc0000100; wrmsr",
            $table,
            "mov qword ptr [rdi + {claimed_by}], 0"
        );
    };
}
switch_codes!(
    stay_in_table,
    [core_keep_fsgsbase stacks_keep_fsgsbase light_keep_fsgsbase],
    [core_release_fsgsbase stacks_release_fsgsbase light_release_fsgsbase],
    [core_keep_msr stacks_keep_msr light_keep_msr],
    [core_release_msr stacks_release_msr light_release_msr]
);
switch_codes!(
    enter_table,
    [core_keep_fsgsbase_tables stacks_keep_fsgsbase_tables light_keep_fsgsbase_tables],
    [core_release_fsgsbase_tables stacks_release_fsgsbase_tables light_release_fsgsbase_tables],
    [core_keep_msr_tables stacks_keep_msr_tables light_keep_msr_tables],
    [core_release_msr_tables stacks_release_msr_tables light_release_msr_tables]
);

/// The pieces that fit the machine. All of them share a stack's layout. Whether the CPUs have the instructions is known before
/// the first switch; a second page table may come at any time.
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

    /// Each of them by itself does what it did, and looks for page tables beside.
    pub(super) fn use_tables(&self, fsgsbase: bool) {
        let pieces: [SwitchCode; 4] = if fsgsbase {
            [
                light_keep_fsgsbase_tables,
                light_release_fsgsbase_tables,
                stacks_keep_fsgsbase_tables,
                stacks_release_fsgsbase_tables,
            ]
        } else {
            [
                light_keep_msr_tables,
                light_release_msr_tables,
                stacks_keep_msr_tables,
                stacks_release_msr_tables,
            ]
        };
        let places = [&self.light_keep, &self.light_release, &self.stacks_keep, &self.stacks_release];
        places.iter().zip(pieces).for_each(|(place, piece)| place.store(piece as *mut (), Ordering::SeqCst));
    }
}

/// A piece as the function that it is.
#[inline(always)]
pub(super) fn code(piece: &AtomicPtr<()>) -> SwitchCode {
    // SAFETY: the words of `PIECES` hold nothing but functions of this type.
    unsafe { core::mem::transmute::<*mut (), SwitchCode>(piece.load(Ordering::Relaxed)) }
}

/// A switch in line, with some instructions before and behind a core: callee-saved registers that the caller has no use for are
/// not saved.
#[cfg(target_os = "none")]
macro_rules! switch_in_line {
    ($core:ident, $from:expr, $to:expr, [$($before:literal),*], [$($behind:literal),*] $(, $name:ident = const $value:expr)*) => {
        core::arch::asm!(
            $($before,)*
            "push rbp",
            "push rbx",
            "call {core}",
            "pop rbx",
            "pop rbp",
            $($behind,)*
            core = sym $core,
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

/// Full and light switches in line.
macro_rules! switches_in_line {
    ($($core:ident $stacks:ident $stacks_code:ident $light:ident $light_code:ident;)*) => {
        $(
            /// A full switch in line.
            ///
            /// # Safety
            /// As for all switches, see [`Switch::begin`]; the CPU has FSGSBASE.
            #[inline(always)]
            pub(super) unsafe fn $stacks(from: *const Context, to: *const Context) {
                // SAFETY: the caller's; every register that another thread may have changed is saved or named here, but for
                // those of vectors, which the kernel does not use.
                #[cfg(target_os = "none")]
                unsafe {
                    switch_in_line!($core, from, to, [], []);
                }
                // SAFETY: the caller's. Host tests never switch.
                #[cfg(not(target_os = "none"))]
                unsafe {
                    $stacks_code(from, to);
                }
            }

            /// A light switch in line.
            ///
            /// # Safety
            /// As for all switches, see [`Switch::begin`]; the CPU has FSGSBASE.
            #[inline(always)]
            pub(super) unsafe fn $light(from: *const Context, to: *const Context) {
                // SAFETY: the caller's; every register that another thread may have changed is saved or named here.
                #[cfg(target_os = "none")]
                unsafe {
                    switch_in_line!(
                        $core,
                        from,
                        to,
                        ["stmxcsr [rdi + {mxcsr}]", "fnstcw [rdi + {x87_control}]"],
                        ["fnclex", "ldmxcsr [rsi + {mxcsr}]", "fldcw [rsi + {x87_control}]", "sti"],
                        mxcsr = const offset_of!(Context, mxcsr),
                        x87_control = const offset_of!(Context, x87_control)
                    );
                }
                // SAFETY: the caller's. Host tests never switch.
                #[cfg(not(target_os = "none"))]
                unsafe {
                    $light_code(from, to);
                }
            }
        )*
    };
}
switches_in_line! {
    core_release_fsgsbase
        stacks_release_in_line stacks_release_fsgsbase
        light_release_in_line light_release_fsgsbase;
    core_release_fsgsbase_tables
        stacks_release_in_line_tables stacks_release_fsgsbase_tables
        light_release_in_line_tables light_release_fsgsbase_tables;
    core_keep_fsgsbase_tables
        stacks_keep_in_line_tables stacks_keep_fsgsbase_tables
        light_keep_in_line_tables light_keep_fsgsbase_tables;
}
