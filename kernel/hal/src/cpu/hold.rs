// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A machine that stands still while its host works, and halts to the nanosecond: for machines whose time is the number of
//! instructions executed (QEMU's `-icount`, one CPU).
//!
//! When the CPU of such a machine halts, its clock jumps to the next timer. A thread that waits for the host by sleeping would
//! then find that some time has passed, and how much would depend on how quick the host is. Here nothing passes: no timer is
//! armed, and the answer's interrupt is taken in a halt and nowhere else, whether it came before or after the CPU halted. So the
//! same instructions are executed in every run.
//!
//! A halt that a timer ends is not exact either, see [`wait_for_interrupt`].

use core::sync::atomic::{AtomicBool, Ordering};

use crate::cpu;
use crate::interrupts::irq::{self, Masked};
use crate::interrupts::{apic, irq::VECTOR_HELD};

static WANTED: AtomicBool = AtomicBool::new(false);

/// Has the machine stand still, from now on, while the host works on what a driver has asked it for. The machine has one
/// CPU. To be called before devices are probed.
pub fn begin() {
    WANTED.store(true, Ordering::Relaxed);
}

/// Whether the machine is to stand still while its host works.
pub fn is_wanted() -> bool {
    WANTED.load(Ordering::Relaxed)
}

/// Calls `ask`, which asks the host for something, and halts until `is_answered`, which an interrupt handler makes true. No
/// other thread runs meanwhile. For threads, with interrupts on; for machines with one CPU.
pub fn until_answered(ask: impl FnOnce(), is_answered: impl Fn() -> bool) {
    let timer = {
        let _irq = irq::disable();
        apic::take_timer()
    };
    // What was due interrupts here, not in the halt below, beside the answer.
    let mut irq = irq::disable();
    let timer = timer.sooner(apic::take_timer());
    ask();
    while !is_answered() {
        cpu::wait_for_interrupt(irq.masked());
    }
    // The answer's handler may have armed it.
    apic::put_back_timer(timer.sooner(apic::take_timer()));
}

/// A halt is ended this much before the timer is due: more than the way from there to [`pass`] takes in the debug kernel.
const EARLY_NS: u64 = 2048;

/// [`cpu::wait_for_interrupt`] of a machine that stands still while its host works: the timer interrupts at the same
/// instruction in every run.
///
/// QEMU moves the clock to the timer when it finds the CPU halted. Its main loop may look when the CPU has just halted, and
/// QEMU has not yet counted the instructions since the CPU last read the clock or set a timer: they are then counted behind the
/// jump, and the timer is late by them. So a timer with a handler of its own, which leaves no trace, ends the halt a little
/// earlier; whatever is left is passed one instruction a nanosecond, and then the true timer is due.
pub fn wait_for_interrupt(masked: &mut Masked) {
    let left_ns = match apic::uses_tsc_deadline() {
        true => 0,
        false => apic::timer_left(),
    };
    match left_ns {
        // Nothing is due, or it is already.
        0 => cpu::wait_for_interrupt(masked),
        1..=EARLY_NS => {
            irq::unmask();
            cpu::relax();
            masked.again();
        }
        _ => wait_for_timer(masked, left_ns),
    }
}

fn wait_for_timer(masked: &mut Masked, left_ns: u64) {
    // The counter of a machine that counts instructions has nanoseconds.
    let end = cpu::tsc::read() + left_ns;
    apic::send_timer_to(VECTOR_HELD, left_ns - EARLY_NS);
    halt_for_held_timer();
    apic::disarm_timer();
    if apic::is_requested(VECTOR_HELD) {
        // A device ended the halt, and the timer came since.
        halt_for_held_timer();
    }
    let rest_ns = end.saturating_sub(cpu::tsc::read());
    if rest_ns <= EARLY_NS {
        pass(rest_ns);
    }
    // Otherwise a device ended the halt, and its handler may have set the timer, too: the timer's handler sets it anew.
    apic::send_timer_to(irq::VECTOR_TIMER, 1);
    irq::unmask();
    cpu::relax();
    masked.again();
}

/// Turns interrupts on, halts, and turns them off. [`crate::trap`] knows the place behind the halt.
fn halt_for_held_timer() {
    irq::end_section();
    #[cfg(target_os = "none")]
    // SAFETY: `sti` holds interrupts for one instruction, so the halt cannot miss one; handlers keep to their own stacks.
    unsafe {
        core::arch::asm!("call {halt}", halt = sym held_halt, clobber_abi("C"));
    }
    #[cfg(feature = "sim")]
    crate::sim::halt();
    irq::begin_section();
}

#[cfg(target_os = "none")]
#[unsafe(naked)]
extern "C" fn held_halt() {
    core::arch::naked_asm!("sti", "hlt", ".global hadal_held_halt_end", "hadal_held_halt_end:", "cli", "ret");
}

/// Executes this number of instructions and a fixed number more; at most [`EARLY_NS`].
fn pass(ns: u64) {
    let ns = ns.min(EARLY_NS);
    #[cfg(target_os = "none")]
    // SAFETY: there are `EARLY_NS` instructions of one byte in front of the label, and `ns` is not more.
    unsafe {
        core::arch::asm!(
            "lea {to}, [rip + 2f]",
            "sub {to}, {ns}",
            "jmp {to}",
            ".rept {most}",
            "nop",
            ".endr",
            "2:",
            to = out(reg) _,
            ns = in(reg) ns,
            most = const EARLY_NS,
            options(nomem, nostack),
        );
    }
    #[cfg(not(target_os = "none"))]
    let _ = ns;
}
