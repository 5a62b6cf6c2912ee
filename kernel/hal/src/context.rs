// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Thread contexts: a kernel stack, what a switch saves, and the switch itself.
//!
//! A context runs on at most one CPU: [`switch`] claims the next one through its `on_cpu` flag, and gives the previous one
//! up only after its stack is no longer in use. Contexts are type-stable: they live for ever and are reused.

use alloc::boxed::Box;
use core::arch::naked_asm;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crate::fpu;
use crate::{cpu, irq, percpu, tlb};

/// Bytes of a kernel stack.
pub const KERNEL_STACK_SIZE: usize = 32 << 10;
/// What the lowest words of a stack hold; checked at every switch.
const CANARY: u64 = 0x6861_6461_6c2e_7374;

#[repr(C, align(4096))]
struct KernelStack([u64; KERNEL_STACK_SIZE / 8]);

/// The state of a thread that is not running.
pub struct Context {
    stack: UnsafeCell<Option<Box<KernelStack>>>,
    /// Stack pointer while switched out.
    rsp: UnsafeCell<u64>,
    stack_top: AtomicU64,
    on_cpu: AtomicBool,
    /// Vector state and FS base of program code; kernel threads have none.
    program: UnsafeCell<Option<Program>>,
    has_program: AtomicBool,
    /// CPU (plus one) whose vector registers were this context's last.
    live_on: AtomicUsize,
}

struct Program {
    vectors: fpu::State,
    fs_base: u64,
}

// SAFETY: the cells are touched by whoever has claimed the context: the CPU that runs it, or the creator while `on_cpu` is
// claimed by `prepare`.
unsafe impl Sync for Context {}
// SAFETY: nothing in it is bound to a CPU.
unsafe impl Send for Context {}

impl Default for Context {
    fn default() -> Self {
        Self::new()
    }
}

impl Context {
    /// A context without a stack: for the code that a CPU is running already.
    pub const fn new() -> Self {
        Self {
            stack: UnsafeCell::new(None),
            rsp: UnsafeCell::new(0),
            stack_top: AtomicU64::new(0),
            on_cpu: AtomicBool::new(false),
            program: UnsafeCell::new(None),
            has_program: AtomicBool::new(false),
            live_on: AtomicUsize::new(0),
        }
    }

    /// Claims the context for the caller; spins while its last switch-out is still in progress.
    fn claim(&self) {
        while self.on_cpu.swap(true, Ordering::Acquire) {
            cpu::relax();
        }
    }

    /// Makes the context start with `entry(arg)` on an empty kernel stack. Returns `false` when memory for the stack is
    /// out. The context must not be runnable.
    pub fn prepare(&self, entry: fn(usize) -> !, arg: usize) -> bool {
        self.claim();
        // SAFETY: the context is claimed.
        let stack = unsafe { &mut *self.stack.get() };
        if stack.is_none() {
            *stack = new_stack();
        }
        let Some(stack) = stack else {
            self.on_cpu.store(false, Ordering::Release);
            return false;
        };
        let words = &mut stack.0;
        words[0] = CANARY;
        let top = words.len();
        // What `switch_stacks` pops: r15, r14, r13, r12, rbx, rbp, return address; one word keeps the ABI's alignment.
        let first = top - 8;
        words[first..].fill(0);
        words[first + 3] = arg as u64;
        words[first + 4] = entry as usize as u64;
        words[first + 6] = start as *const () as u64;
        let base = words.as_ptr() as u64;
        // SAFETY: the context is claimed.
        unsafe { *self.rsp.get() = base + 8 * first as u64 };
        self.stack_top.store(base + KERNEL_STACK_SIZE as u64, Ordering::Relaxed);
        self.on_cpu.store(false, Ordering::Release);
        true
    }

    /// Gives the context fresh program state, or that of the calling thread. The context must not be runnable.
    pub fn set_program(&self, fs_base: u64, inherit: bool) {
        self.claim();
        // SAFETY: the context is claimed.
        let program = unsafe { &mut *self.program.get() };
        let program = program.get_or_insert_with(|| Program { vectors: fpu::State::fresh(), fs_base: 0 });
        if inherit {
            program.vectors.save();
        } else {
            program.vectors.reset();
        }
        program.fs_base = fs_base;
        self.live_on.store(0, Ordering::Relaxed);
        self.has_program.store(true, Ordering::Relaxed);
        self.on_cpu.store(false, Ordering::Release);
    }

    /// Forgets the program state before the context is reused for another thread; its memory is kept.
    pub fn clear_program(&self) {
        self.has_program.store(false, Ordering::Relaxed);
    }

    /// Whether some CPU runs the context or is still leaving it.
    pub fn is_on_cpu(&self) -> bool {
        self.on_cpu.load(Ordering::Acquire)
    }

    /// Bounds of the kernel stack, or zeros.
    pub fn stack_bounds(&self) -> (u64, u64) {
        let top = self.stack_top.load(Ordering::Relaxed);
        (top.saturating_sub(KERNEL_STACK_SIZE as u64), top)
    }

    /// Frame pointer saved by the last switch-out, for backtraces of threads that do not run.
    pub fn saved_frame_pointer(&self) -> Option<u64> {
        if self.is_on_cpu() {
            return None;
        }
        let (bottom, top) = self.stack_bounds();
        // SAFETY: a racy read of one word: a stale value gives a wrong backtrace, and bounds are checked.
        let rsp = unsafe { self.rsp.get().read_volatile() };
        let slot = rsp + 5 * 8;
        // SAFETY: within the stack of this context, which lives for ever.
        (bottom..top - 8).contains(&slot).then(|| unsafe { (slot as *const u64).read_volatile() })
    }
}

fn new_stack() -> Option<Box<KernelStack>> {
    let layout = core::alloc::Layout::new::<KernelStack>();
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

/// First code of a new context, with interrupts off as every switch leaves them: rbx holds the entry, r12 its argument.
#[unsafe(naked)]
unsafe extern "C" fn start() {
    naked_asm!("mov rdi, r12", "xor ebp, ebp", "sti", "jmp rbx")
}

/// Makes `context` that of the code which is running on this CPU, on the stack whose bounds are given.
pub fn adopt(context: &Context, stack_bottom: u64, stack_top: u64) {
    context.claim();
    context.stack_top.store(stack_top, Ordering::Relaxed);
    percpu::this().set_kernel_stack(stack_bottom, stack_top);
}

/// Switches from the running context to another; returns when somebody switches back.
///
/// # Panics
/// If interrupts are on or the running thread has overrun its kernel stack.
pub fn switch(previous: &Context, next: &Context) {
    assert!(!irq::enabled() || cfg!(not(target_os = "none")), "a switch needs interrupts off");
    // SAFETY: the running context belongs to this CPU.
    unsafe { check_canary(&*previous.stack.get()) };
    leave_program(previous);
    next.claim();
    let (bottom, top) = next.stack_bounds();
    percpu::this().set_kernel_stack(bottom, top);
    tlb::service();
    enter_program_state(next);
    // SAFETY: both contexts are claimed by this CPU; `next.rsp` was stored by `prepare` or an earlier switch. The flag of
    // `previous` is cleared on the new stack, when nothing uses the old one any more.
    unsafe { switch_stacks(previous.rsp.get(), *next.rsp.get(), previous.on_cpu.as_ptr()) };
}

fn check_canary(stack: &Option<Box<KernelStack>>) {
    if let Some(stack) = stack {
        assert!(stack.0[0] == CANARY, "a thread has overrun its kernel stack");
    }
}

fn leave_program(context: &Context) {
    if !context.has_program.load(Ordering::Relaxed) {
        return;
    }
    // SAFETY: the running context belongs to this CPU.
    if let Some(program) = unsafe { &mut *context.program.get() } {
        program.vectors.save();
        program.fs_base = fs_base();
        context.live_on.store(cpu::current_id() + 1, Ordering::Relaxed);
    }
}

fn enter_program_state(context: &Context) {
    if !context.has_program.load(Ordering::Relaxed) {
        return;
    }
    // SAFETY: the caller has claimed the context.
    if let Some(program) = unsafe { &*context.program.get() } {
        // The registers still hold this context's values if it ran here last and no other program did since.
        let live = context.live_on.load(Ordering::Relaxed) == cpu::current_id() + 1
            && percpu::this().live_context.load(Ordering::Relaxed) == core::ptr::from_ref(context) as usize;
        if !live {
            program.vectors.load();
            percpu::this().live_context.store(core::ptr::from_ref(context) as usize, Ordering::Relaxed);
        }
        set_fs_base(program.fs_base);
    }
}

/// Runs `f` on the vector state of the running thread: the registers are saved first and loaded afterwards.
pub fn with_vectors<R>(context: &Context, f: impl FnOnce(&mut fpu::State) -> R) -> R {
    let _irq = irq::disable();
    assert!(context.is_on_cpu());
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
/// If the address is not in the program's half.
pub fn set_fs_base(base: u64) {
    assert!(crate::layout::is_program(base), "FS base is a program address");
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

static FSGSBASE: AtomicBool = AtomicBool::new(false);

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
}

/// rdi: where the stack pointer goes; rsi: the next stack pointer; rdx: flag to clear once the old stack is free.
#[unsafe(naked)]
unsafe extern "C" fn switch_stacks(previous: *mut u64, next: u64, on_cpu: *mut bool) {
    naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "mov [rdi], rsp",
        "mov rsp, rsi",
        "mov byte ptr [rdx], 0",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
    )
}
