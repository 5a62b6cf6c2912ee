// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Thread contexts: a kernel stack, what a switch saves, and the switch itself.
//!
//! There are two switches. The light one is for calls that the program makes as it calls any function: the C ABI says that
//! only the callee-saved registers and the control words of the floating-point units survive, so only they are saved.
//! The full one is for system calls and interrupts, where every register survives: it saves the vector state before
//! and loads it afterwards, unless it is still there. What a thread needs back is on its own stack, and it takes it back
//! itself after the switch: so it does not matter by which kind another thread switches to it.
//!
//! # Safety
//! A context runs on at most one CPU, because a CPU switches only to contexts that it has claimed ([`Context::claim`]), and
//! a claim ends only when the context's stack is no longer in use. Contexts are type-stable: they live for ever and are
//! reused.

use alloc::boxed::Box;
use core::arch::naked_asm;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, AtomicU64};

use crate::cpu::fpu;
use crate::cpu::percpu::{self, PerCpu};
use crate::interrupts::irq;
use crate::interrupts::irq::Off;
use crate::memory::paging::{PageTable, Switchable};
use crate::memory::{fallible, tlb};
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::threads::head::{self, Head};
use crate::threads::link::AtomicRef;
use crate::trap::ring;
use crate::{cpu, sync};

use switch_code::{PIECES, code, on_cpu};

pub mod program_gs;
mod switch_code;
mod tables;
mod way;

pub(crate) use tables::{are_several, begin_table_switches};
pub use way::{OneTable, Tables, Way};

/// Bytes of a kernel stack.
pub const KERNEL_STACK_SIZE: usize = 32 << 10;
/// What the lowest words of a stack hold; checked whenever a thread gives the CPU up inside a system call or a fault.
const CANARY: u64 = 0x6861_6461_6c2e_7374;

#[repr(C, align(4096))]
struct KernelStack([u64; KERNEL_STACK_SIZE / 8]);

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

struct Program {
    vectors: fpu::State,
    fs_base: u64,
    /// While the thread does not run; in ring 0 programs have none.
    gs_base: u64,
}

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
            let Some(new) = new_stack() else { return false };
            change = self.change();
            *change.stack() = Some(new);
        }
        let Some(stack) = change.stack() else { return false };
        let words = &mut stack.0;
        words[0] = CANARY;
        let top = words.len();
        // FS base, where the switch goes on, and what is popped there.
        let first = top - 5;
        let start = start as *const () as u64;
        words[first..].copy_from_slice(&[0, start, self.address() as u64, arg as u64, entry as usize as u64]);
        let base = words.as_ptr() as u64;
        // SAFETY: the context is claimed.
        unsafe { *self.rsp.get() = base + 8 * first as u64 };
        self.stack_top.store(base + KERNEL_STACK_SIZE as u64, Ordering::Relaxed);
        true
    }

    /// Gives the context a page table and fresh program state, or that of the calling thread. Returns `false` when memory for it
    /// is out. The context must not be runnable.
    pub fn set_program(&self, table: Switchable, fs_base: u64, inherit: bool) -> bool {
        let mut change = self.change();
        if change.program().is_none() {
            drop(change);
            let Ok(vectors) = fpu::State::fresh() else { return false };
            change = self.change();
            *change.program() = Some(Program { vectors, fs_base: 0, gs_base: 0 });
        }
        let Some(program) = change.program() else { return false };
        if inherit {
            program.vectors.save();
        } else {
            program.vectors.reset();
        }
        program.fs_base = fs_base;
        program.gs_base = if inherit { program_gs::base() } else { 0 };
        self.saved_on.store(0, Ordering::Relaxed);
        self.table.store(Some(table.0), Ordering::Relaxed);
        true
    }

    /// Frees the kernel stack and the memory of the program state, if the context has any. It must not be runnable.
    pub fn give_memory_back(&self) {
        let mut change = self.change();
        let memory = (change.stack().take(), change.program().take());
        self.stack_top.store(0, Ordering::Relaxed);
        drop(change);
        drop(memory);
    }

    #[inline(always)]
    fn has_program(&self) -> bool {
        self.table.bits(Ordering::Relaxed) != 0
    }

    /// Forgets the program state and the page table before the context is reused for another thread; its memory is kept.
    pub fn clear_program(&self) {
        self.table.store(None, Ordering::Relaxed);
    }

    /// Saves the vector registers, which stay valid as long as no other program thread runs on this CPU.
    #[inline(always)]
    fn save_vectors(&self, block: &PerCpu) {
        if !self.has_program() {
            return;
        }
        // SAFETY: the running context belongs to this CPU.
        if let Some(program) = unsafe { &mut *self.program.get() } {
            program.vectors.save();
            self.saved_on.store(block.address(), Ordering::Relaxed);
            block.live_context.store(self.address(), Ordering::Relaxed);
        }
    }

    /// Loads what [`Context::save_vectors`] saved, unless the registers still hold it: every program thread that gives the
    /// CPU up says so in `live_context`.
    #[inline(always)]
    fn load_vectors(&self) {
        if !self.has_program() {
            return;
        }
        // SAFETY: the running context belongs to this CPU.
        if let Some(program) = unsafe { &*self.program.get() } {
            let block = percpu::this();
            let live = self.saved_on.load(Ordering::Relaxed) == block.address()
                && block.live_context.load(Ordering::Relaxed) == self.address();
            if !live {
                program.vectors.load();
            }
        }
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

fn new_stack() -> Option<Box<KernelStack>> {
    let layout = core::alloc::Layout::new::<KernelStack>();
    fallible::admit(KERNEL_STACK_SIZE).ok()?;
    // SAFETY: the layout is not of size 0.
    let memory = unsafe { alloc::alloc::alloc(layout) }.cast::<KernelStack>();
    if memory.is_null() {
        return None;
    }
    // SAFETY: memory from the global allocator with this layout; any bits are valid words, and only `prepare` and the
    // stack's own code read them.
    unsafe {
        (*memory).0.as_mut_ptr().write(CANARY);
        Some(Box::from_raw(memory))
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

/// The program state of a thread that has not run yet.
extern "C" fn load_first_state(context: &'static Context) {
    context.load_vectors();
    if context.has_program() {
        // SAFETY: the running context belongs to this CPU.
        if let Some(program) = unsafe { &*context.program.get() } {
            set_fs_base(program.fs_base);
        }
    }
    #[cfg(feature = "sim")]
    irq::unmask();
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

/// What becomes of the claim on the context that gives the CPU up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// It stays: the context waits for its turn on this CPU.
    Keep,
    /// It ends as soon as the stack is no longer in use: any CPU may run the context next.
    Release,
}

/// Switches from the context that the calling CPU runs to another one that it has claimed, with interrupts off: the types
/// of [`crate::threads::running`] have the proof.
#[derive(Clone, Copy)]
pub(crate) struct Switch {
    block: &'static PerCpu,
}

impl Switch {
    #[inline(always)]
    pub(crate) fn on(block: &'static PerCpu) -> Self {
        Self { block }
    }

    /// Switches for a thread that has nothing in caller-saved registers, vector registers among them. Interrupts are on when
    /// somebody has switched back.
    ///
    /// # Panics
    /// If the calling CPU has not claimed the context.
    #[inline(always)]
    pub(crate) fn to(self, next: &'static Context, claim: Claim) {
        // From now on the vector registers are nobody's.
        self.block.live_context.store(0, Ordering::Relaxed);
        let own = self.begin_isolated(next);
        // SAFETY: see `begin`.
        unsafe {
            match claim {
                Claim::Keep => code(&PIECES.light_keep)(own, next),
                Claim::Release => code(&PIECES.light_release)(own, next),
            }
        }
        #[cfg(feature = "sim")]
        irq::unmask();
    }

    /// [`Switch::to`] with nothing to look up but page tables.
    #[inline(always)]
    pub(crate) fn to_quickly<W: Way>(self, next: &'static Context, claim: Claim) {
        self.block.live_context.store(0, Ordering::Relaxed);
        let own = self.begin(next);
        // SAFETY: see `begin`; the caller has looked at the key.
        unsafe {
            match claim {
                Claim::Keep => W::light_keep(own, next),
                Claim::Release => W::light_release(own, next),
            }
        }
        #[cfg(feature = "sim")]
        irq::unmask();
    }

    /// [`Switch::to_full`] that keeps the claim, with nothing to look up but the vector state and page tables.
    #[inline(always)]
    pub(crate) fn to_full_quickly<W: Way>(self, next: &'static Context) {
        // SAFETY: as in `to_full`.
        let own = unsafe { &*self.block.context.load(Ordering::Relaxed).cast::<Context>() };
        own.save_vectors(self.block);
        self.begin(next);
        // SAFETY: see `begin`; the caller has looked at the key.
        unsafe { W::stacks_keep(own, next) };
        irq::begin_section();
        own.load_vectors();
    }

    /// [`Switch::to_full`] that ends the claim, with nothing to look up but the stack's canary, the vector state and page tables.
    #[inline(always)]
    pub(crate) fn leave_full_quickly<W: Way>(self, next: &'static Context) {
        // SAFETY: as in `to_full`.
        let own = unsafe { &*self.block.context.load(Ordering::Relaxed).cast::<Context>() };
        check_canary(own);
        own.save_vectors(self.block);
        self.begin(next);
        // SAFETY: see `begin`; the caller has looked at the key.
        unsafe { W::stacks_release(own, next) };
        irq::begin_section();
        own.load_vectors();
    }

    /// Switches for a thread whose registers must all survive. Interrupts are off when somebody has switched back.
    ///
    /// # Panics
    /// If interrupts are on after all, the calling CPU has not claimed the context, or the running thread has overrun its
    /// kernel stack.
    pub(crate) fn to_full(self, next: &'static Context, claim: Claim) {
        assert!(!irq::enabled(), "a switch needs interrupts off");
        // SAFETY: `adopt` and `begin` store addresses of contexts, which live for ever.
        let own = unsafe { &*self.block.context.load(Ordering::Relaxed).cast::<Context>() };
        check_canary(own);
        own.save_vectors(self.block);
        tlb::service();
        self.begin_isolated(next);
        // SAFETY: see `begin`.
        unsafe {
            match claim {
                Claim::Keep => code(&PIECES.stacks_keep)(own, next),
                Claim::Release => code(&PIECES.stacks_release)(own, next),
            }
        }
        irq::begin_section();
        own.load_vectors();
    }

    /// [`Switch::begin`] also where programs run in ring 3, which have a `%gs` of their own. Not for quick switches, which there
    /// are none of then.
    #[inline(always)]
    fn begin_isolated(self, next: &'static Context) -> *const Context {
        let own = self.begin(next);
        if ring::isolates() {
            // SAFETY: both contexts are claimed by this CPU.
            unsafe { program_gs::switch(&*own, next) };
        }
        own
    }

    /// Names the next context as the CPU's and returns the one that gives the CPU up.
    ///
    /// What makes the switch sound: the context that gives the CPU up is the one this CPU runs, for `block.context` is
    /// stored here and by `adopt` only; the next one is claimed by this CPU and so runs nowhere else, and its stack pointer
    /// was stored by `prepare` or by the switch that left it. (A switch to itself stores and loads the same one.)
    #[inline(always)]
    fn begin(self, next: &'static Context) -> *const Context {
        irq::must_be_off();
        sync::none_held();
        irq::end_section();
        let block = self.block;
        assert!(next.claimed_by.load(Ordering::Relaxed) == block.address(), "a switch needs a claim");
        let own = block.context.load(Ordering::Relaxed).cast::<Context>().cast_const();
        #[cfg(feature = "sim")]
        crate::sim::leave_stack();
        block.context.store(next.as_head(), Ordering::Relaxed);
        block.set_kernel_stack(next.stack_top.load(Ordering::Relaxed));
        own
    }
}

fn check_canary(context: &Context) {
    // SAFETY: the running context belongs to this CPU.
    if let Some(stack) = unsafe { &*context.stack.get() } {
        assert!(stack.0[0] == CANARY, "a thread has overrun its kernel stack");
    }
}

/// Runs `f` on the vector state of the running thread: the registers are saved first and loaded afterwards.
pub fn with_vectors<R>(context: &Context, f: impl FnOnce(&mut fpu::State) -> R) -> R {
    let _irq = irq::disable();
    assert!(context.is_running_here());
    // SAFETY: the context is the running thread's, interrupts are off, so nobody else touches it.
    let program = unsafe { &mut *context.program.get() };
    let vectors = &mut program.as_mut().expect("a program thread has vector state").vectors;
    vectors.save();
    let result = f(vectors);
    vectors.load();
    result
}

const MSR_FS_BASE: u32 = 0xc000_0100;

/// FS base of the running program thread.
pub fn fs_base() -> u64 {
    #[cfg(target_os = "none")]
    // SAFETY: FSGSBASE instructions are used only if `FSGSBASE` says that CR4 enables them; the MSR always exists.
    unsafe {
        if FSGSBASE.load(Ordering::Relaxed) {
            let base: u64;
            core::arch::asm!("rdfsbase {}", out(reg) base, options(nomem, nostack, preserves_flags));
            return base;
        }
        cpu::read_msr(MSR_FS_BASE)
    }
    #[cfg(not(target_os = "none"))]
    0
}

/// Sets the FS base of the running program thread; the kernel does not use FS.
///
/// # Panics
/// If the address is not canonical.
pub fn set_fs_base(base: u64) {
    // The program may have written any that the processor takes, by WRFSBASE.
    assert!(crate::memory::layout::is_canonical(base), "FS base is an address");
    #[cfg(target_os = "none")]
    // SAFETY: as for `fs_base`; the address is canonical.
    unsafe {
        if FSGSBASE.load(Ordering::Relaxed) {
            core::arch::asm!("wrfsbase {}", in(reg) base, options(nomem, nostack, preserves_flags));
        } else {
            cpu::write_msr(MSR_FS_BASE, base);
        }
    }
    #[cfg(not(target_os = "none"))]
    let _ = MSR_FS_BASE;
}

/// The entry of faults reads it.
pub(crate) static FSGSBASE: AtomicBool = AtomicBool::new(false);

/// Whether programs may use WRFSBASE (AT_HWCAP2 bit 1).
pub fn has_fsgsbase() -> bool {
    FSGSBASE.load(Ordering::Relaxed)
}

/// Turns the FSGSBASE instructions on where the CPU has them; on every CPU.
#[cfg(target_os = "none")]
pub(crate) fn enable_fsgsbase() {
    use x86_64::registers::control::{Cr4, Cr4Flags};
    let supported =
        raw_cpuid::CpuId::new().get_extended_feature_info().is_some_and(|features| features.has_fsgsbase());
    if supported {
        // SAFETY: makes instructions available, no more.
        unsafe { Cr4::update(|flags| flags.insert(Cr4Flags::FSGSBASE)) };
    }
    FSGSBASE.store(supported, Ordering::Relaxed);
    if supported {
        PIECES.use_fsgsbase();
    }
}

/// Simulated CPUs have the quick switch: that of one page table, or of several.
#[cfg(feature = "sim")]
pub(crate) fn use_quick_switch(has_several_tables: bool) {
    FSGSBASE.store(true, Ordering::Relaxed);
    PIECES.use_fsgsbase();
    tables::set_several(has_several_tables);
}
