// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The end of the machine when the kernel itself is at fault: what happened, where, and how it got there.

use core::fmt::Write;
use core::panic::PanicInfo;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use hadal_abi::machine::PANIC_MARKER;
use hadal_abi::machine::{DEBUG_EXIT_PANIC, DEBUG_EXIT_PORT};
use hadal_hal::cpu;
use hadal_hal::cpu::{backtrace, port};
use hadal_hal::interrupts::{apic, irq};
use hadal_hal::trap::TrapFrame;

use crate::{console, symbols, trace};

/// Text for people, past every lock.
pub(crate) struct Raw;

impl Write for Raw {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        console::write_unlocked(text);
        Ok(())
    }
}

/// The CPU that reports, plus one; the others stop silently.
static REPORTER: AtomicUsize = AtomicUsize::new(0);
static REPORTING_TWICE: AtomicBool = AtomicBool::new(false);

/// Claims the report for this CPU; a second panic on the way only stops the machine.
fn claim() {
    let _ = irq::mask();
    let own = cpu::current_id() + 1;
    match REPORTER.compare_exchange(0, own, Ordering::SeqCst, Ordering::SeqCst) {
        Ok(_) => {}
        Err(reporter) if reporter == own => {
            if !REPORTING_TWICE.swap(true, Ordering::SeqCst) {
                let _ = writeln!(Raw, "hadal: another fault while reporting the first one");
            }
            end_machine();
        }
        Err(_) => cpu::halt_forever(),
    }
    apic::send_ipi_all_but_self(irq::VECTOR_STOP);
}

/// Tells the VMM that the kernel has failed; on a real machine, stops.
fn end_machine() -> ! {
    if !REPORTING_TWICE.load(Ordering::SeqCst) {
        trace::finish_polled();
    }
    port::out32(DEBUG_EXIT_PORT, DEBUG_EXIT_PANIC);
    cpu::halt_forever()
}

fn where_am_i() {
    let own = cpu::current_id();
    let thread = hadal_sched::running_on(own).map_or(0, |thread| thread.id());
    let _ = writeln!(Raw, "  cpu {own}, thread {thread}, {} ms after boot", hadal_time::now_ns() / 1_000_000);
}

fn print_trace(frames: impl Iterator<Item = u64>) {
    let _ = writeln!(Raw, "  backtrace:");
    for address in frames.take(32) {
        let _ = writeln!(Raw, "    {address:#018x} {}", symbols::Name(address));
    }
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    claim();
    let _ = writeln!(Raw, "\nhadal: {PANIC_MARKER}: {}", info.message());
    if let Some(location) = info.location() {
        let _ = writeln!(Raw, "  at {location}");
    }
    where_am_i();
    print_trace(backtrace::of_caller());
    end_machine()
}

/// Kernel code raised an exception that nothing expects.
pub(crate) fn kernel_fault(frame: &TrapFrame) -> ! {
    claim();
    let _ = writeln!(Raw, "\nhadal: {PANIC_MARKER}: {} in kernel code", exception_name(frame.vector));
    where_am_i();
    print_registers(frame);
    print_trace(core::iter::once(frame.rip).chain(backtrace::from(frame.rbp)));
    end_machine()
}

/// Another CPU has panicked.
pub(crate) fn stop_this_cpu(_frame: &TrapFrame) {
    // A program in ring 0 can raise the interrupt, too.
    if REPORTER.load(Ordering::SeqCst) != 0 {
        cpu::halt_forever()
    }
}

fn exception_name(vector: u64) -> &'static str {
    match vector {
        0 => "divide error",
        6 => "invalid opcode",
        8 => "double fault",
        12 => "stack fault",
        13 => "general protection fault",
        14 => "page fault",
        18 => "machine check",
        _ => "exception",
    }
}

fn print_registers(frame: &TrapFrame) {
    let f = frame;
    let _ = writeln!(Raw, "  rip {:#018x} {}", f.rip, symbols::Name(f.rip));
    let _ = writeln!(
        Raw,
        "  address {:#018x}  vector {}  error {:#x}  rflags {:#x}",
        f.fault_address, f.vector, f.error, f.rflags
    );
    for row in [
        [("rax", f.rax), ("rbx", f.rbx), ("rcx", f.rcx), ("rdx", f.rdx)],
        [("rsi", f.rsi), ("rdi", f.rdi), ("rbp", f.rbp), ("rsp", f.rsp)],
        [("r8 ", f.r8), ("r9 ", f.r9), ("r10", f.r10), ("r11", f.r11)],
        [("r12", f.r12), ("r13", f.r13), ("r14", f.r14), ("r15", f.r15)],
    ] {
        for (name, value) in row {
            let _ = write!(Raw, "  {name} {value:#018x}");
        }
        let _ = writeln!(Raw);
    }
}
