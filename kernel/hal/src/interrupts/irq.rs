// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The interrupt flag, vector numbers, and the table of handlers behind the vectors.

use alloc::string::String;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use crate::cpu;
use crate::cpu::{percpu, tsc};
use crate::interrupts::apic;
use crate::sync::{self, Rank, SpinLock};

#[cfg(any(all(debug_assertions, target_os = "none"), test))]
pub(crate) mod section;

mod off;

pub use off::{IrqGuard, Masked, Off};

/// Turns interrupts off on this CPU until the guard is dropped.
#[cfg_attr(all(debug_assertions, target_os = "none"), track_caller)]
pub fn disable() -> IrqGuard {
    let were_enabled = enabled();
    IrqGuard::new(were_enabled, mask())
}

/// Whether this CPU takes interrupts.
#[inline]
pub fn enabled() -> bool {
    #[cfg(target_os = "none")]
    {
        let flags: u64;
        // SAFETY: reads the flags by way of the kernel stack; the kernel has no red zone.
        unsafe { core::arch::asm!("pushfq", "pop {}", out(reg) flags, options(preserves_flags)) };
        flags & (1 << 9) != 0
    }
    #[cfg(feature = "sim")]
    return crate::sim::enabled();
    #[cfg(not(any(target_os = "none", feature = "sim")))]
    false
}

/// Turns interrupts off, where the kernel has not done so already: who may be called there uses [`disable`].
#[inline]
#[cfg_attr(all(debug_assertions, target_os = "none"), track_caller)]
pub fn mask() -> Masked {
    #[cfg(all(debug_assertions, target_os = "none"))]
    let were_enabled = enabled();
    mask_unmeasured();
    #[cfg(all(debug_assertions, target_os = "none"))]
    if were_enabled {
        section::begin();
    }
    // SAFETY: they are off, and what is made of the right is given up by whoever has it.
    unsafe { Masked::assumed() }
}

#[inline]
fn mask_unmeasured() {
    #[cfg(target_os = "none")]
    // SAFETY: ring 0; no memory is touched. Not `nomem`: a critical section must not be moved across it.
    unsafe {
        core::arch::asm!("cli", options(nostack));
    }
    #[cfg(feature = "sim")]
    crate::sim::disable();
}

/// Panics in the debug kernel if interrupts are on.
#[inline(always)]
#[cfg_attr(all(debug_assertions, target_os = "none"), track_caller)]
pub fn must_be_off() {
    #[cfg(all(debug_assertions, target_os = "none"))]
    assert!(!enabled(), "interrupts are on");
}

/// Interrupts are off for a reason that the debug kernel measures: behind a switch, or in an interrupt.
#[inline(always)]
#[cfg_attr(all(debug_assertions, target_os = "none"), track_caller)]
pub(crate) fn begin_section() {
    #[cfg(all(debug_assertions, target_os = "none"))]
    section::begin();
}

/// The same at the entry of an interrupt.
#[inline(always)]
pub(crate) fn begin_interrupt_section(vector: u8) {
    #[cfg(all(debug_assertions, target_os = "none"))]
    section::begin_interrupt(vector);
    #[cfg(not(all(debug_assertions, target_os = "none")))]
    let _ = vector;
}

/// Ends the measured section where something else than [`unmask`] turns interrupts on.
#[inline(always)]
pub(crate) fn end_section() {
    #[cfg(all(debug_assertions, target_os = "none"))]
    section::end();
}

/// Where the kernel has turned interrupts off on this CPU, if it has: in the debug kernel.
#[cfg(any(all(debug_assertions, target_os = "none"), test))]
pub(crate) fn section_place() -> Option<&'static core::panic::Location<'static>> {
    section::place()
}

/// The longest sections of kernel code with interrupts off on a CPU since boot: where they began, and how many ticks of the
/// time-stamp counter they took. Measured by the debug kernel; others have none.
pub fn longest_sections(cpu: usize) -> Vec<(String, u64)> {
    #[cfg(all(debug_assertions, target_os = "none"))]
    return section::longest(cpu);
    #[cfg(not(all(debug_assertions, target_os = "none")))]
    {
        let _ = cpu;
        Vec::new()
    }
}

/// Turns interrupts on.
#[inline]
pub(crate) fn unmask() {
    end_section();
    #[cfg(target_os = "none")]
    // SAFETY: every handler runs on its own stack and takes only interrupt-safe locks.
    unsafe {
        core::arch::asm!("sti", options(nostack));
    }
    #[cfg(feature = "sim")]
    crate::sim::enable();
}

/// Turns interrupts off for program code, which [`restore_for_program`] ends. Returns whether they were on.
pub fn disable_for_program() -> bool {
    let were_enabled = enabled();
    mask_unmeasured();
    if were_enabled {
        // Never 0, which means "on".
        percpu::this().irqs_off_since.store(tsc::read() | 1, Ordering::Relaxed);
    }
    were_enabled
}

/// Turns interrupts on again, if they were before [`disable_for_program`].
pub fn restore_for_program(were_enabled: bool) {
    if were_enabled {
        percpu::this().irqs_off_since.store(0, Ordering::Relaxed);
        unmask();
    }
}

/// A time stamp of when the program turned interrupts off on a CPU, or 0.
pub fn off_since(cpu: usize) -> u64 {
    percpu::of(cpu).irqs_off_since.load(Ordering::Relaxed)
}

/// Sends a non-maskable interrupt to a CPU where the program has had interrupts off since [`off_since`] gave `since`; there
/// [`off_too_long`] is true if that is still so.
pub fn complain(cpu: usize, since: u64) {
    percpu::of(cpu).irqs_off_too_long.store(since, Ordering::Relaxed);
    apic::send_nmi(cpu);
}

/// Whether somebody has complained about the interrupts that are off on this CPU.
pub fn off_too_long() -> bool {
    let block = percpu::this();
    let since = block.irqs_off_since.load(Ordering::Relaxed);
    since != 0 && since == block.irqs_off_too_long.load(Ordering::Relaxed)
}

/// Spurious interrupts of the local APIC.
pub const VECTOR_SPURIOUS: u8 = 0xff;
/// The local one-shot timer.
pub const VECTOR_TIMER: u8 = 0xf0;
/// "Look at your run queue and the interrupted thread's signals."
pub const VECTOR_RESCHEDULE: u8 = 0xf1;
/// "Flush your TLB."
pub const VECTOR_TLB: u8 = 0xf2;
/// "Stop: the machine has panicked, or somebody looks at all CPUs."
pub const VECTOR_STOP: u8 = 0xf3;
/// "Look at your pending events": all active messages share it.
pub const VECTOR_EVENT: u8 = 0xf4;
/// "You are being watched": from the watchdog to the CPU that devices interrupt.
pub const VECTOR_WATCH: u8 = 0xf5;
/// The vectors above by name, for people.
pub const NAMES: &[(u8, &str)] = &[
    (VECTOR_SPURIOUS, "spurious"),
    (VECTOR_TIMER, "timer"),
    (VECTOR_RESCHEDULE, "reschedule"),
    (VECTOR_TLB, "TLB flush"),
    (VECTOR_STOP, "stop"),
    (VECTOR_EVENT, "events"),
    (VECTOR_WATCH, "watchdog"),
];

/// The local timer, when it ends a halt of [`crate::cpu::hold`]: nobody sees it.
pub(crate) const VECTOR_HELD: u8 = 0xf6;

/// Vectors that [`register_device`] gives out.
const DEVICES: core::ops::RangeInclusive<u8> = 0x30..=0xdf;
/// Vectors for interprocessor interrupts of programs.
pub const PROGRAM_IPIS: core::ops::RangeInclusive<u8> = 0xe0..=0xef;

/// What runs when a vector arrives: with interrupts off on the interrupt stack, so it must not block. Read by the
/// interrupt without a lock; `call` is null while there is nothing to run.
struct Slot {
    call: AtomicPtr<()>,
    arg: AtomicUsize,
}

static SLOTS: [Slot; 256] =
    [const { Slot { call: AtomicPtr::new(core::ptr::null_mut()), arg: AtomicUsize::new(0) } }; 256];
/// Held to choose a vector.
static CHOOSING: SpinLock<()> = SpinLock::ranked(Rank::Interrupts, ());
static SPURIOUS: AtomicUsize = AtomicUsize::new(0);

/// Binds a handler to a vector that has none.
pub fn set_handler(vector: u8, handler: fn(usize), arg: usize) {
    let slot = &SLOTS[usize::from(vector)];
    slot.arg.store(arg, Ordering::Relaxed);
    slot.call.store(handler as *mut (), Ordering::Release);
}

/// Binds a handler to a free device vector and returns it, or `None` when all vectors are taken.
pub fn register_device(handler: fn(usize), arg: usize) -> Option<u8> {
    let _choosing = CHOOSING.lock();
    let is_free = |vector: &u8| SLOTS[usize::from(*vector)].call.load(Ordering::Relaxed).is_null();
    let vector = DEVICES.clone().find(is_free)?;
    set_handler(vector, handler, arg);
    Some(vector)
}

/// Takes the handler off a vector, and returns when no CPU runs it any more. For threads with interrupts on.
pub fn remove_handler(vector: u8) {
    SLOTS[usize::from(vector)].call.store(core::ptr::null_mut(), Ordering::SeqCst);
    synchronize();
}

/// Returns when every interrupt that another CPU was handling at the time of the call is done. For threads with interrupts
/// on: a CPU must not wait for itself, nor two for each other.
pub fn synchronize() {
    sync::may_wait_for_cpus();
    for other in (0..cpu::count()).filter(|&other| other != cpu::current_id()) {
        let block = percpu::of(other);
        let entered = block.interrupts.load(Ordering::SeqCst);
        while block.interrupts_done.load(Ordering::Acquire) < entered {
            cpu::relax();
        }
    }
}

/// A device interrupt of the kernel that can be told from others and sent to another CPU.
pub trait Source: Sync {
    /// What a person may recognise it by.
    fn name(&self) -> String;
    /// Its vector.
    fn vector(&self) -> u8;
    /// The CPU that it goes to.
    fn cpu(&self) -> usize;
    /// Interrupts so far.
    fn count(&self) -> u64;
    /// Sends it to another CPU from now on.
    fn steer(&self, cpu: usize);
}

static SOURCES: SpinLock<Vec<&'static dyn Source>> = SpinLock::ranked(Rank::Interrupts, Vec::new());

/// Makes a device interrupt of the kernel known to those who list and steer them.
pub fn add_source(source: &'static dyn Source) {
    SOURCES.lock().push(source);
}

/// The device interrupts of the kernel, in the order in which they were made known.
pub fn source(index: usize) -> Option<&'static dyn Source> {
    SOURCES.lock().get(index).copied()
}

/// Runs the handler of a vector; without one the interrupt is counted. Returns whether there is one.
#[inline]
pub(crate) fn dispatch(vector: u8) -> bool {
    let slot = &SLOTS[usize::from(vector)];
    let call = slot.call.load(Ordering::SeqCst);
    if call.is_null() {
        SPURIOUS.fetch_add(1, Ordering::Relaxed);
        return false;
    }
    // SAFETY: only `set_handler` stores anything but null there, and that is a `fn(usize)`.
    let call = unsafe { core::mem::transmute::<*mut (), fn(usize)>(call) };
    call(slot.arg.load(Ordering::Relaxed));
    true
}

/// Number of interrupts that arrived on a vector without a handler.
pub fn spurious_count() -> usize {
    SPURIOUS.load(Ordering::Relaxed)
}

/// Message address that a device writes to interrupt `cpu` (Intel SDM vol. 3, 11.11.1).
pub fn msi_address(cpu: usize) -> u64 {
    0xfee0_0000 | u64::from(crate::cpu::percpu::apic_id(cpu) & 0xff) << 12
}

/// Message data for a fixed, edge-triggered interrupt on `vector` (Intel SDM vol. 3, 11.11.2).
pub fn msi_data(vector: u8) -> u32 {
    u32::from(vector)
}
