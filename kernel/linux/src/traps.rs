// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the personality does in the trap hooks of the hardware layer; the kernel image forwards to these.

use core::sync::atomic::Ordering;

use hadal_hal::cpu;
use hadal_hal::cpu::percpu::{self, attention};
use hadal_hal::interrupts::handler::{Handler, HandlerError};
use hadal_hal::interrupts::irq;
use hadal_hal::trace::{self, Kind};
use hadal_hal::trap::{Access, INTERRUPT_FLAG, TrapFrame, vector};
use hadal_mem::space::{FaultAccess, FaultOutcome};

use crate::call::Call;
use crate::clock;
use crate::process::{ExitStatus, Process};
use crate::signal::{self, FaultSignal};
use crate::task::Task;
use crate::violation::Violation;
use crate::{machine, rseq, strace, syscall, vsyscall};

/// Outside of a system call.
pub(crate) const NO_CALL: u64 = u64::MAX;

/// Times that a fault asks again for a page before the program ends for want of it, and the pause before each.
const MEMORY_TRIES: u32 = 10;
const MEMORY_PAUSE_NS: u64 = 2_000_000;

/// A program thread made a system call, which nobody wants to see.
pub extern "C" fn system_call(frame: &mut TrapFrame) {
    serve(frame, syscall::dispatch);
}

/// The same where calls are traced, or may be recorded at some time: takes the place of [`system_call`].
pub extern "C" fn watched_system_call(frame: &mut TrapFrame) {
    serve(frame, watched_call);
}

#[inline(always)]
fn serve(frame: &mut TrapFrame, run: impl FnOnce(&mut Call<'_>) -> u64) {
    let task = Task::of_program();
    let mut call = Call { task, process: task.process(), frame };
    // What is needed behind the call is read from there: it has to survive in no register.
    if run(&mut call) == syscall::INTERRUPTED {
        signal::decide_on_restart(call.task);
    }
    if rseq::has_moved(call.task) {
        rseq::on_move(call.task, call.process, call.frame);
    }
}

fn watched_call(call: &mut Call<'_>) -> u64 {
    trace::point(Kind::CallEnter, call.frame.rax, call.frame.rdi);
    let word = match &call.process.call_trace {
        Some(watched) if watched.calls.contains(call.frame.rax) => strace::dispatch(watched, call),
        _ => syscall::dispatch(call),
    };
    trace::point(Kind::CallExit, word, 0);
    word
}

/// The thread is about to return to program code and has something to do first: another thread's turn, signals, the end.
pub fn attend(frame: &mut TrapFrame) {
    hadal_sched::attend();
    let task = Task::current();
    let process = task.process();
    rseq::on_return(task, process, frame);
    if percpu::pending_attention() & attention::SIGNAL == 0 {
        return;
    }
    percpu::clear_attention(attention::SIGNAL);
    task.note_place(frame);
    if process.ending().is_some() {
        task.exit();
    }
    signal::deliver(task, process, frame);
    // A signal's default action may have been the end.
    if process.ending().is_some() {
        task.exit();
    }
}

/// A handler of the program broke the rules of interrupt context. In interrupt context.
pub fn handler_failed(process: &'static Process, handler: Handler, error: HandlerError, frame: &TrapFrame) {
    process.end_for(Violation::Handler { handler, error, frame: *frame, cpu: cpu::current_id() });
}

/// The program has made `%gs` point elsewhere. In interrupt context.
pub fn per_cpu_pointer_lost(process: &'static Process, frame: &TrapFrame) {
    process.end_for(Violation::PerCpuPointer { frame: *frame, cpu: cpu::current_id() });
}

/// A non-maskable interrupt: somebody wants to know where this CPU is, or to get it out of code that has turned interrupts
/// off.
pub fn non_maskable(frame: &TrapFrame) {
    if !frame.is_program() {
        return;
    }
    let task = Task::current();
    task.note_place(frame);
    // Program code holds no lock of the kernel, so this may take some.
    if irq::off_too_long() && frame.rflags & INTERRUPT_FLAG == 0 {
        let cpu = cpu::current_id();
        task.process().end_for(Violation::InterruptsOff { frame: *frame, cpu });
    }
}

/// This CPU is about to be held for a report: notes where its thread is in program code, if it is there.
pub fn held(frame: &TrapFrame) {
    let task = Task::current();
    if frame.is_program() {
        task.note_place(frame);
    } else {
        task.forget_place();
    }
}

fn access_of(access: Access) -> FaultAccess {
    match access {
        Access::Read => FaultAccess::Read,
        Access::Write => FaultAccess::Write,
        Access::Execute => FaultAccess::Exec,
    }
}

/// Resolves a page fault. Memory that was unmapped is free only when every CPU has flushed its TLB, and those who free some
/// may have lost their CPU: so a lack of memory has to last for a while before it is believed.
pub(crate) fn fault(process: &Process, address: usize, access: FaultAccess) -> FaultOutcome {
    let mut tries = 0;
    loop {
        let outcome = process.space().fault(address, access);
        if outcome != FaultOutcome::OutOfMemory || tries == MEMORY_TRIES || process.ending().is_some() {
            return outcome;
        }
        tries += 1;
        hadal_sched::park(Some(clock::after(MEMORY_PAUSE_NS)));
    }
}

/// Kernel code touched program memory on behalf of the calling thread.
pub fn resolve(address: u64, access: Access) -> bool {
    let Some(process) = Task::current().try_process() else { return false };
    trace::point(Kind::FaultEnter, address, vector::PAGE_FAULT);
    let resolved = match fault(process, address as usize, access_of(access)) {
        FaultOutcome::Resolved => true,
        FaultOutcome::OutOfMemory => {
            out_of_memory(process);
            false
        }
        _ => false,
    };
    trace::point(Kind::FaultExit, vector::PAGE_FAULT, resolved.into());
    resolved
}

/// Program code raised an exception.
pub fn program_fault(frame: &mut TrapFrame) {
    let (raised, place) = (frame.vector, frame.fault_place());
    trace::point(Kind::FaultEnter, place, trace::pair(raised as u32, frame.error as u32));
    let resolved = handle_fault(frame);
    trace::point(Kind::FaultExit, raised, resolved.into());
}

/// Makes the faulting access possible, and returns whether it is, or sends the thread a signal.
fn handle_fault(frame: &mut TrapFrame) -> bool {
    let task = Task::current();
    let process = task.process();
    task.call_number.store(NO_CALL, Ordering::Relaxed);
    let fault = match frame.vector {
        vector::PAGE_FAULT => {
            let access = Access::from_error(frame.error);
            match fault(process, frame.fault_address as usize, access_of(access)) {
                FaultOutcome::Resolved => {
                    // It may have waited for the page.
                    if rseq::has_moved(task) {
                        rseq::on_move(task, process, frame);
                    }
                    return true;
                }
                FaultOutcome::OutOfMemory => {
                    out_of_memory(process);
                    return false;
                }
                FaultOutcome::NoMapping if vsyscall::emulate(task, process, frame) => return true,
                FaultOutcome::NoMapping => FaultSignal::NoMapping,
                FaultOutcome::Protection => FaultSignal::Protection,
                FaultOutcome::BeyondEnd | FaultOutcome::Io => FaultSignal::BeyondEnd,
            }
        }
        other => exception(other),
    };
    signal::raise_fault(task, process, frame, fault);
    false
}

/// What an exception other than a page fault means to a program.
pub fn exception(vector: u64) -> FaultSignal {
    match vector {
        vector::DIVIDE_ERROR => FaultSignal::DivideByZero,
        vector::DEBUG => FaultSignal::SingleStep,
        vector::BREAKPOINT => FaultSignal::Breakpoint,
        vector::INVALID_OPCODE => FaultSignal::IllegalInstruction,
        vector::X87 | vector::SIMD => FaultSignal::FloatingPoint,
        vector::STACK_FAULT | vector::ALIGNMENT_CHECK => FaultSignal::Alignment,
        _ => FaultSignal::GeneralProtection,
    }
}

/// Ends a program that touched memory when none was left, and says so.
fn out_of_memory(process: &'static Process) {
    if process.ending().is_none() {
        machine::get().out_of_memory(process);
        const SIGKILL: u8 = 9;
        process.end(ExitStatus::Signaled(SIGKILL));
    }
}
