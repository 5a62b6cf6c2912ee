// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Signals that the program's own instructions cause.

use hadal_hal::threads::context;
use hadal_hal::trap::{TrapFrame, vector};
use linux_raw_sys::general::{
    BUS_ADRALN, BUS_ADRERR, FPE_FLTDIV, FPE_FLTINV, FPE_FLTOVF, FPE_FLTRES, FPE_FLTUND, FPE_INTDIV,
    ILL_ILLOPN, SEGV_ACCERR, SEGV_MAPERR, TRAP_TRACE,
};

use super::action::Disposition;
use super::info::{Info, code};
use super::number::{SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP};
use super::{action, default, deliver};
use crate::process::Process;
use crate::rseq;
use crate::task::Task;

/// What an instruction of the program did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultSignal {
    /// Touched an address where nothing is mapped.
    NoMapping,
    /// Touched memory in a way that the mapping does not permit.
    Protection,
    /// Touched a file mapping past the end of the file, or where it could not be read.
    BeyondEnd,
    /// Divided by zero, or the quotient did not fit.
    DivideByZero,
    /// Ran with the trap flag, or met a hardware breakpoint.
    SingleStep,
    /// `int3`.
    Breakpoint,
    /// Anything that the CPU forbids: a non-canonical address, for one.
    GeneralProtection,
    /// Is not one.
    IllegalInstruction,
    /// Raised an unmasked floating-point exception.
    FloatingPoint,
    /// Used a stack segment or alignment that the CPU forbids.
    Alignment,
}

impl FaultSignal {
    /// The signal.
    pub fn signo(self) -> u8 {
        match self {
            Self::NoMapping | Self::Protection | Self::GeneralProtection => SIGSEGV,
            Self::BeyondEnd | Self::Alignment => SIGBUS,
            Self::DivideByZero | Self::FloatingPoint => SIGFPE,
            Self::SingleStep | Self::Breakpoint => SIGTRAP,
            Self::IllegalInstruction => SIGILL,
        }
    }

    /// The signal with its cause and place, as Linux gives them; `exceptions` are the floating-point exceptions that are
    /// flagged and not masked.
    fn info(self, frame: &TrapFrame, exceptions: impl FnOnce() -> u32) -> Info {
        let (code, address) = match self {
            Self::NoMapping => (SEGV_MAPERR as i32, frame.fault_address),
            Self::Protection => (SEGV_ACCERR as i32, frame.fault_address),
            Self::BeyondEnd => (BUS_ADRERR as i32, frame.fault_address),
            Self::DivideByZero => (FPE_INTDIV as i32, frame.rip),
            Self::SingleStep => (TRAP_TRACE as i32, frame.rip),
            Self::IllegalInstruction => (ILL_ILLOPN as i32, frame.rip),
            Self::FloatingPoint => (float_code(exceptions()), frame.rip),
            Self::Alignment if frame.vector == vector::ALIGNMENT_CHECK => (BUS_ADRALN as i32, frame.rip),
            Self::Breakpoint | Self::GeneralProtection | Self::Alignment => (code::KERNEL, 0),
        };
        Info::fault(self.signo(), code, address)
    }
}

/// `si_code` for floating-point exceptions, in the bits of MXCSR and the x87 status word.
fn float_code(exceptions: u32) -> i32 {
    const INVALID: u32 = 1;
    const DENORMAL: u32 = 1 << 1;
    const ZERO_DIVIDE: u32 = 1 << 2;
    const OVERFLOW: u32 = 1 << 3;
    const UNDERFLOW: u32 = 1 << 4;
    const PRECISION: u32 = 1 << 5;
    let code = if exceptions & INVALID != 0 {
        FPE_FLTINV
    } else if exceptions & ZERO_DIVIDE != 0 {
        FPE_FLTDIV
    } else if exceptions & OVERFLOW != 0 {
        FPE_FLTOVF
    } else if exceptions & (UNDERFLOW | DENORMAL) != 0 {
        FPE_FLTUND
    } else if exceptions & PRECISION != 0 {
        FPE_FLTRES
    } else {
        return code::KERNEL;
    };
    code as i32
}

/// The exceptions that are flagged and not masked: of the x87 unit or of SSE, whichever raised `vector`.
fn float_exceptions(task: &Task, vector: u64) -> u32 {
    context::with_vectors(task.thread().context(), |state| exceptions_in(state.bytes(), vector))
}

fn exceptions_in(image: &[u8], vector: u64) -> u32 {
    let half = |offset: usize| u32::from(u16::from_le_bytes([image[offset], image[offset + 1]]));
    // FXSAVE layout: control word at 0, status word at 2, MXCSR at 24 with flags in bits 0 to 5 and masks in 7 to 12.
    if vector == vector::X87 { half(2) & !half(0) & 0x3f } else { half(24) & !(half(24) >> 7) & 0x3f }
}

/// Program code did something that it gets a signal for, at once.
pub fn raise_fault(
    task: &'static Task,
    process: &'static Process,
    frame: &mut TrapFrame,
    fault: FaultSignal,
) {
    let info = fault.info(frame, || float_exceptions(task, frame.vector));
    synchronous(task, process, frame, info, Some(fault));
}

/// Sends the calling thread a signal that it cannot put off: if it blocks or ignores it, the program ends.
pub fn force(task: &'static Task, process: &'static Process, frame: &mut TrapFrame, info: Info) {
    synchronous(task, process, frame, info, None);
}

fn synchronous(
    task: &'static Task,
    process: &'static Process,
    frame: &mut TrapFrame,
    info: Info,
    fault: Option<FaultSignal>,
) {
    if process.ending().is_some() {
        return;
    }
    let blocked = task.signals.mask().contains(info.signo);
    let action = process.signals.actions.get().get(info.signo);
    match action.disposition {
        Disposition::Handler(_) if !blocked => {
            let action = process.signals.actions.get().take(info.signo);
            if rseq::abort_section(task, frame).is_err() {
                return deliver::fail(task, process, frame, &info, fault);
            }
            deliver::enter_handler(task, process, frame, &info, &action, fault);
        }
        _ => {
            process.signals.actions.get().set(info.signo, action::Action::DEFAULT);
            default::act(task, process, frame, info.signo, fault);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame() -> TrapFrame {
        TrapFrame { fault_address: 0x1234, rip: 0x40_1000, ..TrapFrame::default() }
    }

    #[test]
    fn causes_are_those_of_linux() {
        let info = |fault: FaultSignal| {
            let info = fault.info(&frame(), || 0);
            (info.signo, info.code, info.fields[0])
        };
        assert_eq!(info(FaultSignal::NoMapping), (SIGSEGV, 1, 0x1234));
        assert_eq!(info(FaultSignal::Protection), (SIGSEGV, 2, 0x1234));
        assert_eq!(info(FaultSignal::BeyondEnd), (SIGBUS, 2, 0x1234));
        assert_eq!(info(FaultSignal::DivideByZero), (SIGFPE, 1, 0x40_1000));
        assert_eq!(info(FaultSignal::IllegalInstruction), (SIGILL, 2, 0x40_1000));
        assert_eq!(info(FaultSignal::GeneralProtection), (SIGSEGV, 0x80, 0));
        assert_eq!(info(FaultSignal::Breakpoint), (SIGTRAP, 0x80, 0));
    }

    #[test]
    fn floating_point_causes() {
        let mut image = [0; 32];
        // MXCSR: division by zero flagged and unmasked, precision flagged and masked.
        image[24..28].copy_from_slice(&(1_u32 << 2 | 1 << 5 | 1 << 12).to_le_bytes());
        assert_eq!(float_code(exceptions_in(&image, vector::SIMD)), FPE_FLTDIV as i32);
        // x87: everything masked but invalid operation, which is flagged.
        image[0] = 0x3e;
        image[2] = 0x21;
        assert_eq!(float_code(exceptions_in(&image, vector::X87)), FPE_FLTINV as i32);
        assert_eq!(float_code(0), code::KERNEL);
    }
}
