// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The report about a program that is ended for what it did in interrupt context, or with interrupts off.

use alloc::string::String;
use core::fmt::{self, Write};

use hadal_hal::interrupts::handler::{HandlerError, Kind};
use hadal_hal::trap::{Access, TrapFrame, vector};
use hadal_linux::process::Process;
use hadal_linux::traps::exception;
use hadal_linux::violation::Violation;

use crate::fault::{backtrace, cause, code, registers};
use crate::symbols::Names;
use crate::unwind::{self, Frame};
use crate::view::View;
use crate::{Mapping, program_name};

/// The program is ended for what it did in interrupt context, or with interrupts off.
pub fn violation(process: &Process, violation: &Violation) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_text(&mut out, &program_name(process), &View::of(process), violation);
    out
}

fn write_text(out: &mut String, program: &str, view: &View<'_>, violation: &Violation) -> fmt::Result {
    match violation {
        Violation::Handler { handler, error, frame, cpu } => {
            writeln!(out, "hadal: {program}: {} {}", kind(handler.kind), what(*error, frame))?;
            write!(out, "  handler: ")?;
            place(out, view, handler.function as u64)?;
            writeln!(out, ", argument {:#x}, on cpu {cpu}", handler.arg)?;
            if *error == HandlerError::Fault && frame.vector == vector::PAGE_FAULT {
                touched(out, view, frame)?;
            }
            writeln!(out, "  {}", advice(*error, view, frame))?;
            rest(out, view, frame)
        }
        Violation::PerCpuPointer { frame, cpu } => {
            writeln!(
                out,
                "hadal: {program}: Segmentation fault (SIGSEGV): the program has changed %gs on cpu {cpu}"
            )?;
            writeln!(
                out,
                "  %gs is the kernel's, whatever writes it: MOV or POP to the register, WRGSBASE, SWAPGS, WRMSR; it was found \
                 at the next trap, at or after"
            )?;
            rest(out, view, frame)?;
            let frames = unwind::frames(view, unwind::registers(frame));
            writeln!(out, "  backtrace:")?;
            backtrace(out, &frames, &Names::of(view, frames.iter()), 4)
        }
        Violation::InterruptsOff { frame, cpu } => {
            writeln!(
                out,
                "hadal: {program}: interrupts were off for seconds on cpu {cpu}, since hrt_irq_disable()"
            )?;
            writeln!(
                out,
                "  call hrt_irq_restore() soon: a CPU that takes no interrupts has no timers, no other threads, and holds \
                 the other CPUs up"
            )?;
            rest(out, view, frame)
        }
    }
}

fn rest(out: &mut String, view: &View<'_>, frame: &TrapFrame) -> fmt::Result {
    registers(out, frame)?;
    code(out, view, frame.rip)?;
    write!(out, "  at: ")?;
    place(out, view, frame.rip)?;
    writeln!(out)
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Event => "an event's action",
        Kind::Ipi => "a handler of an interprocessor interrupt",
        Kind::Timer => "a timer's callback",
        Kind::Line => "a handler of a device's interrupt",
    }
}

fn what(error: HandlerError, frame: &TrapFrame) -> &'static str {
    match error {
        HandlerError::SystemCall => "made a system call",
        HandlerError::Stuck => "did not return",
        HandlerError::Fault if frame.vector == vector::PAGE_FAULT => "touched memory that is not there",
        HandlerError::Fault => "raised an exception",
    }
}

fn touched(out: &mut String, view: &View<'_>, frame: &TrapFrame) -> fmt::Result {
    let attempt = match Access::from_error(frame.error) {
        Access::Read => "read",
        Access::Write => "write",
        Access::Execute => "execution",
    };
    write!(out, "  {attempt} at address {:#x}", frame.fault_address)?;
    match view.mapping(frame.fault_address) {
        Some(vma) => writeln!(out, ", in {}", Mapping(&vma)),
        None => writeln!(out, ", where nothing is mapped"),
    }
}

fn advice(error: HandlerError, view: &View<'_>, frame: &TrapFrame) -> &'static str {
    match error {
        HandlerError::SystemCall => {
            "handlers run in interrupt context: no system call, no libc; wake a thread with hrt_wake() and let it do that"
        }
        HandlerError::Stuck => {
            "handlers run in interrupt context, with interrupts off: they must return at once and wait for nobody"
        }
        HandlerError::Fault if frame.vector != vector::PAGE_FAULT => cause(exception(frame.vector)),
        HandlerError::Fault if view.mapping(frame.fault_address).is_some() => {
            "handlers run in interrupt context, where no page can be filled: write to the memory once before, from a thread"
        }
        HandlerError::Fault => {
            "handlers run in interrupt context of any thread: no thread-local data, and only memory that is mapped"
        }
    }
}

/// An address with the function that it is in.
fn place(out: &mut String, view: &View<'_>, address: u64) -> fmt::Result {
    let frame = Frame { address, is_return: false, guessed: false };
    write!(out, "{address:#x}")?;
    match Names::of(view, core::iter::once(&frame)).get(address) {
        Some(name) => write!(out, " {name}"),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use alloc::boxed::Box;
    use alloc::vec::Vec;

    use hadal_hal::interrupts::handler::Handler;

    use super::*;
    use crate::view::listed;

    fn report(violation: &Violation) -> String {
        let view = View::new(listed(Vec::new()), Box::new(|_, _| false), Box::new(|_| None));
        let mut out = String::new();
        write_text(&mut out, "prog", &view, violation).unwrap();
        out
    }

    #[test]
    fn a_handler_is_named_with_what_to_do() {
        let handler = Handler { kind: Kind::Event, vectors: false, function: 0x40_1000, arg: 5 };
        let frame =
            TrapFrame { vector: vector::PAGE_FAULT, error: 2, fault_address: 0x1234, ..TrapFrame::default() };
        let text = report(&Violation::Handler { handler, error: HandlerError::Fault, frame, cpu: 3 });
        for part in [
            "prog: an event's action touched memory that is not there",
            "handler: 0x401000 ?, argument 0x5, on cpu 3",
            "write at address 0x1234, where nothing is mapped",
        ] {
            assert!(text.contains(part), "{text}");
        }
        let text = report(&Violation::Handler { handler, error: HandlerError::SystemCall, frame, cpu: 3 });
        assert!(text.contains("made a system call") && text.contains("hrt_wake()"), "{text}");
    }

    #[test]
    fn interrupts_that_stay_off_are_reported() {
        let text = report(&Violation::InterruptsOff { frame: TrapFrame::default(), cpu: 1 });
        assert!(text.contains("interrupts were off for seconds on cpu 1, since hrt_irq_disable()"), "{text}");
    }
}
