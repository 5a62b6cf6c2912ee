// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the code that runs on a simulated CPU does with it: interrupts, timer, waiting.

use core::sync::atomic::{AtomicUsize, Ordering};

use super::machine::{NEVER, RESCHEDULE, TIMER, is_on, machine};
use super::report::{fail, note};
use crate::interrupts::irq;

/// What an instruction takes that waits for others.
const RELAX_NS: u64 = 1000;

/// Whether the CPUs have MONITOR and MWAIT.
pub(crate) fn has_monitor() -> bool {
    machine().is_some_and(|machine| machine.course.get().monitor)
}

/// The calling CPU.
#[inline(always)]
pub(crate) fn cpu_id() -> usize {
    machine().map_or(0, |machine| machine.current.get())
}

/// Whether the calling CPU takes interrupts.
pub(crate) fn enabled() -> bool {
    machine().is_some_and(|machine| machine.own().enabled.get())
}

/// `cli`.
pub(crate) fn disable() {
    if let Some(machine) = machine()
        && machine.own().enabled.get()
    {
        machine.step();
        machine.own().enabled.set(false);
    }
}

/// `sti`.
pub(crate) fn enable() {
    if let Some(machine) = machine()
        && !machine.own().enabled.get()
    {
        machine.own().enabled.set(true);
        machine.step();
    }
}

/// Sends an interrupt, which finds everything that this CPU has stored.
pub(crate) fn send(target: usize, vector: u8) {
    let Some(machine) = machine() else { return };
    machine.step();
    machine.drain();
    let bit = match vector {
        irq::VECTOR_RESCHEDULE => RESCHEDULE,
        irq::VECTOR_TIMER => TIMER,
        _ => return,
    };
    note("sends an interrupt", [target as u64, u64::from(vector)]);
    let cpu = &machine.cpus[target];
    cpu.pending.set(cpu.pending.get() | bit);
}

/// [`send`] to all but the calling CPU.
pub(crate) fn send_to_others(vector: u8) {
    let Some(machine) = machine() else { return };
    let own = machine.current.get();
    (0..machine.cpus.len()).filter(|&cpu| cpu != own).for_each(|cpu| send(cpu, vector));
}

/// The calling CPU's timer interrupts it after this time.
pub(crate) fn arm_timer(delay_ns: u64) {
    if let Some(machine) = machine() {
        machine.own().timer_at.set(machine.clock_ns.get().saturating_add(delay_ns.max(1)));
    }
}

/// The calling CPU's timer stops.
pub(crate) fn disarm_timer() {
    if let Some(machine) = machine() {
        machine.own().timer_at.set(NEVER);
    }
}

/// `sti; hlt`: interrupts are on afterwards, and at least one has come.
pub(crate) fn halt() {
    wait_with(None, true);
}

/// `monitor`, then `sti; mwait` if `still` says so.
pub(crate) fn wait(word: *const (), still: impl FnOnce() -> bool) {
    if !is_on() {
        let _ = still();
        return;
    }
    // SAFETY: the caller names a word of its own.
    let seen = unsafe { AtomicUsize::from_ptr(word.cast_mut().cast()) }.load(Ordering::Relaxed);
    if still() {
        wait_with(Some((word as usize, seen)), false);
    } else {
        enable();
    }
}

fn wait_with(watches: Option<(usize, usize)>, interrupt: bool) {
    let Some(machine) = machine() else { return };
    let cpu = machine.own();
    machine.drain();
    cpu.enabled.set(true);
    cpu.watches.set(watches);
    cpu.halted.set(true);
    while !machine.may_go_on(cpu) || machine.once_in(1) {
        if !machine.another(true) && !machine.may_go_on(cpu) {
            let next = machine.next_timer();
            if next == NEVER {
                fail("every CPU waits, and no interrupt will come");
            }
            machine.clock_ns.set(machine.clock_ns.get().max(next));
        }
    }
    cpu.halted.set(false);
    cpu.watches.set(None);
    if interrupt || machine.has_interrupt(cpu) {
        machine.deliver();
    }
}

/// The calling CPU waits for another one, or for time.
pub(crate) fn relax() {
    if let Some(machine) = machine() {
        machine.clock_ns.set(machine.clock_ns.get() + RELAX_NS);
        machine.step();
        machine.another(false);
    }
}
