// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Thread contexts: a kernel stack, and what a switch saves.
//!
//! # Safety
//! A context runs on at most one CPU, because a CPU switches only to contexts that it has claimed ([`Context::claim`]), and
//! a claim ends only when the context's stack is no longer in use. Contexts are type-stable: they live for ever and are
//! reused.

use alloc::boxed::Box;
use core::arch::naked_asm;
use core::cell::UnsafeCell;
use core::sync::atomic::AtomicU64;

use crate::cpu;
use crate::cpu::percpu::{self, PerCpu};
use crate::interrupts::irq;
use crate::interrupts::irq::Off;
use crate::memory::paging::PageTable;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::threads::head::{self, Head};
use crate::threads::link::AtomicRef;

use kernel_stack::KernelStack;
use program::{Program, load_first_state};
#[cfg(feature = "sim")]
use switch_code::PIECES;
use switch_code::on_cpu;

mod fs_base;
mod kernel_stack;
mod program;
pub mod program_gs;
mod switch;
mod switch_code;
mod tables;
mod way;

pub(crate) use fs_base::FSGSBASE;
#[cfg(target_os = "none")]
pub(crate) use fs_base::enable_fsgsbase;
pub use fs_base::{fs_base, has_fsgsbase, set_fs_base};
pub use kernel_stack::KERNEL_STACK_SIZE;
pub use program::with_vectors;
pub use switch::Claim;
pub(crate) use switch::Switch;
pub(crate) use tables::{are_several, begin_table_switches};
pub use way::{OneTable, Tables, Way};

/// The state of a thread that is not running.
#[repr(C)]
pub struct Context {
    /// First: the address is that of both.
    head: Head,
    /// Stack pointer while switched out.
    rsp: UnsafeCell<u64>,
    /// MXCSR and x87 control word of a thread that gave the CPU up by a light switch.
    mxcsr: UnsafeCell<u32>,
    x87_control: UnsafeCell<u16>,
    /// The per-CPU block of the CPU that has claimed the context, or 0.
    claimed_by: AtomicUsize,
    pub(crate) stack_top: AtomicU64,
    stack: UnsafeCell<Option<Box<KernelStack>>>,
    /// Vector state and first FS base of program code; kernel threads have none.
    program: UnsafeCell<Option<Program>>,
    /// The page table of a thread that has such a state. All others take what the CPU has.
    table: AtomicRef<PageTable>,
    /// The per-CPU block of the CPU that saved the vector registers last, or 0.
    saved_on: AtomicUsize,
}

// What a CPU runs is known by the address of its head ([`Context::as_head`]).
const _: () = assert!(core::mem::offset_of!(Context, head) == 0);

// SAFETY: the cells are touched by whoever has claimed the context: the CPU that runs it, or the creator for as long as
// `prepare` takes.
unsafe impl Sync for Context {}
// SAFETY: nothing in it is bound to a CPU.
unsafe impl Send for Context {}

impl Context {
    /// A context without a stack of a thread with a number: for the code that a CPU is running already, or to be prepared.
    #[cfg(not(loom))]
    pub const fn new(id: u32) -> Self {
        Self::with_table(id, AtomicRef::none())
    }

    /// The same.
    #[cfg(loom)]
    pub fn new(id: u32) -> Self {
        Self::with_table(id, AtomicRef::none())
    }

    const fn with_table(id: u32, table: AtomicRef<PageTable>) -> Self {
        Self {
            head: Head::new(id),
            rsp: UnsafeCell::new(0),
            mxcsr: UnsafeCell::new(0),
            x87_control: UnsafeCell::new(0),
            claimed_by: AtomicUsize::new(0),
            stack_top: AtomicU64::new(0),
            stack: UnsafeCell::new(None),
            program: UnsafeCell::new(None),
            table,
            saved_on: AtomicUsize::new(0),
        }
    }

    /// Claims the context for the calling CPU; fails while another CPU has it, or is still leaving it.
    #[inline]
    pub fn claim(&self, off: Off<'_>) -> bool {
        self.claim_for(percpu::this(), off)
    }

    #[inline(always)]
    pub(crate) fn claim_for(&self, block: &PerCpu, _off: Off<'_>) -> bool {
        irq::must_be_off();
        let own = block.address();
        self.claimed_by.compare_exchange(0, own, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Ends a claim of the calling CPU: another CPU may claim the context.
    ///
    /// # Panics
    /// If the calling CPU has no claim, or is running the context.
    pub fn release(&self, _off: Off<'_>) {
        irq::must_be_off();
        assert!(self.is_claimed_here() && !self.is_running_here(), "a claim ends after the context was left");
        self.claimed_by.store(0, Ordering::Release);
    }

    /// Whether the calling CPU has a claim.
    pub fn is_claimed_here(&self) -> bool {
        self.claimed_by.load(Ordering::Relaxed) == percpu::this().address()
    }

    /// Whether any CPU has a claim.
    pub fn is_claimed(&self) -> bool {
        self.claimed_by.load(Ordering::Acquire) != 0
    }

    fn is_running_here(&self) -> bool {
        core::ptr::eq(head::running(), &self.head)
    }

    /// Number of the thread, and the links to its companions.
    #[inline(always)]
    pub fn head(&self) -> &Head {
        &self.head
    }

    fn address(&self) -> usize {
        core::ptr::from_ref(self) as usize
    }

    /// For the word of a CPU that runs the context: may be cast back.
    fn as_head(&'static self) -> *mut Head {
        core::ptr::from_ref(self).cast::<Head>().cast_mut()
    }

    /// Claims the context for a short change; spins while a CPU is still leaving it.
    fn change(&self) -> Change<'_> {
        let irq = irq::disable();
        while !self.claim(irq.off()) {
            cpu::relax();
        }
        Change { context: self, _irq: irq }
    }

    /// Makes the context start with `entry(arg)` on an empty kernel stack. Returns `false` when memory for the stack is
    /// out. The context must not be runnable.
    pub fn prepare(&self, entry: fn(usize) -> !, arg: usize) -> bool {
        let mut change = self.change();
        if change.stack().is_none() {
            // Memory is asked for with interrupts on: only then does the heap give back what it does not use.
            drop(change);
            let Some(new) = KernelStack::new() else { return false };
            change = self.change();
            *change.stack() = Some(new);
        }
        let Some(stack) = change.stack() else { return false };
        // FS base, where the switch goes on, and what is popped there.
        let start = start as *const () as u64;
        let words = [0, start, self.address() as u64, arg as u64, entry as usize as u64];
        let (rsp, end) = stack.begin_with(&words);
        // SAFETY: the context is claimed.
        unsafe { *self.rsp.get() = rsp };
        self.stack_top.store(end, Ordering::Relaxed);
        true
    }

    /// Looks whether the running thread's stack was large enough.
    ///
    /// # Panics
    /// If the running thread, whose context this is, has overrun its kernel stack.
    #[inline(always)]
    fn check_stack(&self) {
        // SAFETY: the running context belongs to this CPU.
        if let Some(stack) = unsafe { &*self.stack.get() } {
            stack.check();
        }
    }

    /// Frees the kernel stack and the memory of the program state, if the context has any. It must not be runnable.
    pub fn give_memory_back(&self) {
        let mut change = self.change();
        let memory = (change.stack().take(), change.program().take());
        self.stack_top.store(0, Ordering::Relaxed);
        drop(change);
        drop(memory);
    }
}

/// A context that nobody may run for the moment.
struct Change<'a> {
    context: &'a Context,
    _irq: irq::IrqGuard,
}

impl Change<'_> {
    fn stack(&mut self) -> &mut Option<Box<KernelStack>> {
        // SAFETY: the context is claimed, once, by this value, and is nobody's to run meanwhile.
        unsafe { &mut *self.context.stack.get() }
    }

    fn program(&mut self) -> &mut Option<Program> {
        // SAFETY: as above.
        unsafe { &mut *self.context.program.get() }
    }
}

impl Drop for Change<'_> {
    fn drop(&mut self) {
        self.context.claimed_by.store(0, Ordering::Release);
    }
}

/// First code of a new context, with interrupts off as every switch leaves them: on the stack are the context, the argument
/// of its entry, and the entry.
#[unsafe(naked)]
unsafe extern "C" fn start() {
    naked_asm!(
        "pop rdi",
        "pop r12",
        "pop rbx",
        "xor ebp, ebp",
        "call {load}",
        "mov rdi, r12",
        on_cpu!("sti"),
        // Never returns; the call keeps the stack as the ABI wants it.
        "call rbx",
        "ud2",
        load = sym load_first_state,
    )
}

/// Makes `context` that of the code which is running on this CPU, on the stack that it was started with.
///
/// # Panics
/// If a CPU has claimed the context, or this one has called it before.
pub fn adopt(context: &'static Context) {
    let irq = irq::disable();
    let block = percpu::this();
    assert!(!is_adopted() && context.claim(irq.off()), "a CPU adopts one fresh context");
    context.stack_top.store(block.kernel_stack_top.load(Ordering::Relaxed), Ordering::Relaxed);
    block.context.store(context.as_head(), Ordering::Relaxed);
}

/// Whether the calling CPU runs a context.
pub(crate) fn is_adopted() -> bool {
    !core::ptr::eq(head::running(), &raw const head::NOBODY)
}

/// Number of the thread that the calling CPU runs; 0 before the first.
pub fn running_id() -> u32 {
    head::running().id()
}

/// Simulated CPUs have the quick switch: that of one page table, or of several.
#[cfg(feature = "sim")]
pub(crate) fn use_quick_switch(has_several_tables: bool) {
    FSGSBASE.store(true, Ordering::Relaxed);
    PIECES.use_fsgsbase();
    tables::set_several(has_several_tables);
}
