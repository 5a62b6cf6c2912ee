// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A machine that stands still while its host works: for machines whose time is the number of instructions executed.
//!
//! When all CPUs of such a machine halt (QEMU's `-icount`, one CPU), its clock jumps to the next timer. A thread that waits
//! for the host by sleeping would then find that some time has passed, and how much would depend on how quick the host is.
//! Here nothing passes: no timer is armed, and the answer's interrupt is taken in a halt and nowhere else, whether it came
//! before or after the CPU halted. So the same instructions are executed in every run.

use crate::cpu;
use crate::interrupts::{apic, irq};

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
