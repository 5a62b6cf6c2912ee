// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the simulator sees of the machine, and what it says when something goes wrong.

extern crate std;

use alloc::string::String;
use std::eprintln;

use super::machine::{Machine, machine};
use crate::cpu::percpu;

/// Notes that are kept for a report.
const NOTES: usize = 400;

/// Step, CPU, what, and two numbers.
pub(super) type Note = (u64, usize, &'static str, [u64; 2]);

/// Steps of this course so far.
pub fn steps() -> u64 {
    machine().map_or(0, |machine| machine.steps.get())
}

/// The simulated time, if there is one.
#[inline]
pub fn clock_ns() -> Option<u64> {
    machine().map(|machine| machine.clock_ns.get())
}

/// Remembers something for a report.
pub fn note(what: &'static str, numbers: [u64; 2]) {
    if let Some(machine) = machine() {
        let mut notes = machine.notes.borrow_mut();
        if notes.len() == NOTES {
            notes.pop_front();
        }
        notes.push_back((machine.steps.get(), machine.current.get(), what, numbers));
    }
}

/// Reports what went wrong, with the last notes and the state of the CPUs, and ends the process with status 1.
pub fn fail(what: &str) -> ! {
    if let Some(machine) = machine() {
        machine.report();
    }
    eprintln!("FAILED: {what}");
    std::process::exit(1)
}

/// Runs `look` at one moment: nothing else happens meanwhile.
pub fn observe<R>(look: impl FnOnce() -> R) -> R {
    let Some(machine) = machine() else { return look() };
    let before = machine.observed.replace(true);
    let seen = look();
    machine.observed.set(before);
    seen
}

/// The bits of [`percpu::attention`] of a CPU.
pub fn attention_of(cpu: usize) -> u32 {
    percpu::of(cpu).attention_bits()
}

/// Whether nothing is under way: no interrupt is pending, due or being handled, every other CPU takes interrupts or has nothing to
/// do, and every store is in memory.
pub fn is_settled() -> bool {
    let Some(machine) = machine() else { return true };
    machine.cpus.iter().enumerate().all(|(id, cpu)| {
        let quiet = id == machine.current.get() || cpu.enabled.get() || cpu.halted.get();
        quiet && !machine.has_interrupt(cpu) && !cpu.handles.get() && cpu.buffer.borrow().is_empty()
    })
}

impl Machine {
    fn report(&self) {
        for (step, cpu, what, [a, b]) in self.notes.borrow().iter() {
            eprintln!("{step:>7} cpu{cpu} {what} {a} {b}");
        }
        for (id, cpu) in self.cpus.iter().enumerate() {
            let mut state = String::from(if cpu.enabled.get() { "interrupts on" } else { "interrupts off" });
            if cpu.halted.get() {
                state.push_str(", halted");
            }
            let (pending, buffered) = (cpu.pending.get(), cpu.buffer.borrow().len());
            eprintln!(
                "cpu{id}: {state}, pending {pending}, buffered {buffered}, timer {:?}",
                cpu.timer_at.get()
            );
        }
        eprintln!("cpu{} at step {} of {:?}", self.current.get(), self.steps.get(), self.course.get());
    }
}
