// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Functions of the program that the kernel calls in interrupt context: actions of events, handlers of interprocessor
//! interrupts and device lines, callbacks of timers.
//!
//! [`run`] calls one where the interrupt entered: on the CPU's interrupt stack, with interrupts off, in whatever thread was
//! interrupted. So a handler can neither wait nor have a page filled. One that breaks the rules (it faults, makes a system
//! call, does not return) is given up: [`Hooks::handler_failed`](crate::trap::Hooks::handler_failed) hears of it, the entry
//! code resumes behind the call as if the function had returned, and the interrupted code never notices.
//!
//! The program's vector registers stay live through an interrupt. A handler that uses them says so ([`Handler::vectors`])
//! and has them saved around the call, in an area of the CPU; others are compiled for general registers only.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU64, Ordering};

use spin::Once;

use crate::cpu;
use crate::cpu::fpu;
use crate::cpu::percpu::{self, CpuLocal};
use crate::interrupts::{apic, irq};
use crate::memory::{tlb, user};
use crate::threads::context;

/// What a handler was called for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An active-message event.
    Event,
    /// A raw interprocessor interrupt.
    Ipi,
    /// A timer.
    Timer,
    /// A device's interrupt line.
    Line,
}

const KINDS: [Kind; 4] = [Kind::Event, Kind::Ipi, Kind::Timer, Kind::Line];

/// A function of the program and what it is called with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handler {
    /// What it is called for.
    pub kind: Kind,
    /// Whether it uses vector registers.
    pub vectors: bool,
    /// Its address.
    pub function: usize,
    /// Its argument.
    pub arg: usize,
}

/// How a handler broke the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandlerError {
    /// It raised an exception: the frame has vector, error code and address.
    Fault,
    /// It made a system call.
    SystemCall,
    /// It did not return.
    Stuck,
}

/// The handler that a CPU runs, or ran last: parts of the per-CPU block.
pub(crate) struct Running {
    /// Stack pointer at which [`enter`] goes on when the function is given up.
    pub(crate) rsp: AtomicU64,
    function: AtomicU64,
    arg: AtomicU64,
    kind: AtomicU64,
    /// Lowest word of the CPU's interrupt stack.
    stack_bottom: AtomicU64,
    /// Number of the interrupt whose handler is to be given up.
    given_up: AtomicU64,
}

impl Running {
    pub(crate) const fn new() -> Self {
        Self {
            rsp: AtomicU64::new(0),
            function: AtomicU64::new(0),
            arg: AtomicU64::new(0),
            kind: AtomicU64::new(0),
            stack_bottom: AtomicU64::new(0),
            given_up: AtomicU64::new(0),
        }
    }

    fn note(&self, handler: &Handler) {
        self.function.store(handler.function as u64, Ordering::Relaxed);
        self.arg.store(handler.arg as u64, Ordering::Relaxed);
        self.kind.store(handler.kind as u64, Ordering::Relaxed);
    }

    /// The handler that was noted last.
    pub(crate) fn handler(&self) -> Handler {
        Handler {
            kind: KINDS[self.kind.load(Ordering::Relaxed) as usize % KINDS.len()],
            vectors: false,
            function: self.function.load(Ordering::Relaxed) as usize,
            arg: self.arg.load(Ordering::Relaxed) as usize,
        }
    }
}

/// What the lowest word of an interrupt stack holds.
pub(crate) const CANARY: u64 = 0x6861_6461_6c2e_6973;

/// Remembers where the interrupt stack of the calling CPU ends; its lowest word is [`CANARY`].
pub(crate) fn set_stack_bottom(address: u64) {
    percpu::this().handler.stack_bottom.store(address, Ordering::Relaxed);
}

/// Whether a handler of the program is running on the calling CPU.
#[inline(always)]
pub fn is_running() -> bool {
    percpu::this().handlers.load(Ordering::Relaxed) != 0
}

/// Whether a range is in the part of the interrupt stack that the handler running on this CPU uses.
pub(crate) fn owns(address: usize, len: usize) -> bool {
    let running = &percpu::this().handler;
    let (bottom, top) = (running.stack_bottom.load(Ordering::Relaxed), running.rsp.load(Ordering::Relaxed));
    is_running()
        && address as u64 > bottom
        && (address as u64).checked_add(len as u64).is_some_and(|end| end <= top)
}

/// The interrupt, counted from 1, in which a CPU runs a handler of the program, or 0.
pub fn in_interrupt(cpu: usize) -> u64 {
    let block = percpu::of(cpu);
    if block.handlers.load(Ordering::Relaxed) == 0 { 0 } else { block.interrupts.load(Ordering::Relaxed) }
}

/// Asks a CPU to give up the handler that it runs in an interrupt ([`in_interrupt`]), if it still does.
pub fn give_up(cpu: usize, interrupt: u64) {
    percpu::of(cpu).handler.given_up.store(interrupt, Ordering::Relaxed);
    apic::send_nmi(cpu);
}

/// Whether the handler that runs on this CPU has been given up.
pub(crate) fn is_given_up() -> bool {
    let block = percpu::this();
    is_running() && block.handler.given_up.load(Ordering::Relaxed) == block.interrupts.load(Ordering::Relaxed)
}

/// Where the vector registers of interrupted code are kept; one for each CPU.
struct Area(UnsafeCell<fpu::State>);
// SAFETY: an area is touched by its own CPU only, with interrupts off.
unsafe impl Sync for Area {}

static AREAS: Once<CpuLocal<Area>> = Once::new();

/// The thread pointer of the program's first thread, whose memory stays.
static THREAD_POINTER: AtomicU64 = AtomicU64::new(0);

/// Says where a thread of the program has its thread-local data; the first call counts.
pub fn note_thread_pointer(fs_base: u64) {
    let _ = THREAD_POINTER.compare_exchange(0, fs_base, Ordering::Relaxed, Ordering::Relaxed);
}

/// Makes room for vector registers on all CPUs; once, when their number is known.
pub fn init() {
    AREAS.call_once(|| {
        CpuLocal::new(cpu::count(), |_| {
            let state = fpu::State::fresh().expect("memory for the handlers' vector state");
            Area(UnsafeCell::new(state))
        })
    });
}

/// Touches the pages of a handler's code and of what its argument points to, since no page is filled in a handler. From any
/// context of the program.
pub fn prepare(handler: &Handler) {
    // What is not there stays so: the argument need not be an address.
    let _ = user::load_u32(handler.function);
    if let Ok(word) = user::load_u32(handler.arg & !3) {
        // The same value, so that a page that is shared with a file becomes the program's own.
        let _ = user::cmpxchg_u32(handler.arg & !3, word, word);
    }
}

/// Calls a handler, from an interrupt on its way in: interrupts are off and the stack is the CPU's interrupt stack.
/// [`prepare`] should have been called for it.
///
/// # Panics
/// If the function has used more than the interrupt stack: memory of the kernel is overwritten.
#[inline]
pub fn run(handler: Handler) {
    if !user::in_window(handler.function, 1) {
        return;
    }
    let block = percpu::this();
    // An idle CPU is not told about translations that are removed.
    if block.tlb_lazy.load(Ordering::Relaxed) {
        tlb::leave_idle();
    }
    block.handler.note(&handler);
    block.handlers.store(1, Ordering::Relaxed);
    if handler.vectors {
        with_vectors_saved(|| call(&handler));
    } else {
        call(&handler);
    }
    block.handlers.store(0, Ordering::Relaxed);
    check_stack(&block.handler);
}

#[inline]
fn call(handler: &Handler) {
    // What the program does is not the kernel's section.
    irq::end_section();
    #[cfg(target_os = "none")]
    // SAFETY: interrupts are off and this is the interrupt stack, as the caller promises.
    unsafe {
        enter(handler.function, handler.arg);
    }
    irq::begin_section();
    #[cfg(not(target_os = "none"))]
    let _ = handler;
}

/// Gives `f` vector registers as a function expects them, and a thread pointer that can be read: a function with a stack
/// protector reads its guard there, and the interrupted code may be the kernel's idle loop.
fn with_vectors_saved(f: impl FnOnce()) {
    let areas = AREAS.get().expect("areas exist before the program");
    // SAFETY: the calling CPU's area, with interrupts off.
    let area = unsafe { &mut *areas.this().0.get() };
    area.save();
    fpu::reset_control();
    let fs_base = context::fs_base();
    context::set_fs_base(THREAD_POINTER.load(Ordering::Relaxed));
    f();
    context::set_fs_base(fs_base);
    area.load();
}

fn check_stack(running: &Running) {
    let bottom = running.stack_bottom.load(Ordering::Relaxed) as *const u64;
    // SAFETY: the lowest word of this CPU's interrupt stack, which lives for ever; null before there is one.
    let intact = bottom.is_null() || unsafe { bottom.read_volatile() } == CANARY;
    assert!(
        intact,
        "the handler at {:#x} has used more than the 16 KiB of the interrupt stack",
        running.function.load(Ordering::Relaxed)
    );
}

/// Calls a function of the program; RSP is kept for [`abandon`].
///
/// # Safety
/// Interrupts are off, the stack is the CPU's interrupt stack, and no other call is in progress on this CPU. The function
/// is program code in ring 0, which is trusted not to write to the kernel's memory; what else it does is caught.
#[cfg(target_os = "none")]
#[unsafe(naked)]
unsafe extern "C" fn enter(function: usize, arg: usize) {
    core::arch::naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        // The return address and six registers: one more word for the alignment that the C ABI wants at a call.
        "sub rsp, 8",
        "mov gs:[{rsp}], rsp",
        "mov rax, rdi",
        "mov rdi, rsi",
        "xor ebp, ebp",
        "call rax",
        // Interrupts stay off and strings go upwards, whatever the function did to its flags.
        "cli",
        "cld",
        ".global hadal_handler_return",
        "hadal_handler_return:",
        "add rsp, 8",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
        rsp = const percpu::offset::HANDLER_RSP,
    )
}

/// Changes the frame of a trap in a handler so that it returns behind the call.
#[cfg(target_os = "none")]
pub(crate) fn abandon(frame: &mut crate::trap::TrapFrame) {
    unsafe extern "C" {
        safe static hadal_handler_return: u8;
    }
    frame.rip = core::ptr::from_ref(&hadal_handler_return) as u64;
    frame.rsp = percpu::this().handler.rsp.load(Ordering::Relaxed);
    // Bit 1 is always set (Intel SDM vol. 1, 3.4.3); interrupts stay off.
    frame.rflags = 2;
}
