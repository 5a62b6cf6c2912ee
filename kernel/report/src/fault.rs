// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The report about a signal that ends the program.

use alloc::string::String;
use core::fmt::{self, Write};

use hadal_hal::trap::{Access, TrapFrame, vector};
use hadal_linux::process::Process;
use hadal_linux::signal::{FaultSignal, number};
use hadal_linux::task::Task;
use hadal_mem::space::{Prot, VmaInfo};

use crate::symbols::Names;
use crate::unwind::{self, Frame};
use crate::view::View;
use crate::{Mapping, Seconds, program_name, thread_name};

/// Below this, an address comes from a null pointer, with the offset of a field or an element.
const NULL_REACH: u64 = 64 << 10;
/// How far below a stack an address still means that the stack was too small.
const STACK_REACH: u64 = 1 << 20;
/// How near to the end of a stack the stack pointer is when it overflows.
const STACK_END: u64 = 4 << 10;
/// Bytes of code that are shown.
const CODE_LEN: usize = 16;

/// A signal is about to end the program: what the signal means, which thread got it, what memory is at the address,
/// registers, backtrace. `frame` holds the thread's registers in program code.
pub fn fatal(
    task: &Task,
    process: &Process,
    frame: &TrapFrame,
    signo: u8,
    fault: Option<FaultSignal>,
) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_text(&mut out, task, process, frame, signo, fault);
    out
}

fn write_text(
    out: &mut String,
    task: &Task,
    process: &Process,
    frame: &TrapFrame,
    signo: u8,
    fault: Option<FaultSignal>,
) -> fmt::Result {
    write!(out, "hadal: {}: {}", program_name(process), Signal(signo))?;
    let view = View::of(process);
    let touched = Touched::of(frame, fault);
    match (&touched, fault) {
        (Some(touched), _) => {
            write!(out, " at address {:#x}", touched.address)?;
            let note = touched.note(&view);
            if !note.is_empty() {
                write!(out, " ({note})")?;
            }
        }
        (None, Some(fault)) => write!(out, ": {}", cause(fault))?,
        (None, None) => {}
    }
    writeln!(out)?;
    if let Some(touched) = &touched {
        touched.describe(out, &view)?;
    }
    writeln!(
        out,
        "  cpu {}, thread {} \"{}\", {} after the start",
        hadal_hal::cpu::current_id(),
        task.tid(),
        thread_name(&task.name()),
        Seconds(hadal_time::now_ns().saturating_sub(process.started_ns()))
    )?;
    registers(out, frame)?;
    code(out, &view, frame.rip)?;
    let frames = unwind::frames(&view, unwind::registers(frame));
    writeln!(out, "  backtrace:")?;
    backtrace(out, &frames, &Names::of(&view, frames.iter()), 4)
}

/// A signal as the shell names it.
struct Signal(u8);

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let meaning = match self.0 {
            number::SIGSEGV => "Segmentation fault",
            number::SIGBUS => "Bus error",
            number::SIGFPE => "Arithmetic exception",
            number::SIGILL => "Illegal instruction",
            number::SIGTRAP => "Trace/breakpoint trap",
            number::SIGABRT => "Aborted",
            number::SIGSYS => "Bad system call",
            _ => "Ended by a signal",
        };
        match number::name(self.0) {
            Some(name) => write!(f, "{meaning} ({name})"),
            None => write!(f, "{meaning} (signal {})", self.0),
        }
    }
}

pub(crate) fn cause(fault: FaultSignal) -> &'static str {
    match fault {
        FaultSignal::NoMapping => "nothing is mapped there",
        FaultSignal::Protection => "the mapping does not permit it",
        FaultSignal::BeyondEnd => "past the end of the mapped file, or it could not be read",
        FaultSignal::DivideByZero => "integer division by zero, or its result is too large",
        FaultSignal::SingleStep => "single step",
        FaultSignal::Breakpoint => "breakpoint instruction",
        FaultSignal::GeneralProtection => {
            "the processor refused the instruction: an address that cannot exist, an operand that is not aligned, or a \
             privileged operation"
        }
        FaultSignal::IllegalInstruction => "the processor does not know the instruction",
        FaultSignal::FloatingPoint => "floating-point exception that the program unmasked",
        FaultSignal::Alignment => "an address that is not aligned, or a bad stack address",
    }
}

/// An address that an instruction touched in vain.
struct Touched {
    address: u64,
    access: Access,
    rsp: u64,
    fault: FaultSignal,
}

impl Touched {
    fn of(frame: &TrapFrame, fault: Option<FaultSignal>) -> Option<Self> {
        let fault = fault?;
        let access = Access::from_error(frame.error);
        (frame.vector == vector::PAGE_FAULT).then_some(Self {
            address: frame.fault_address,
            access,
            rsp: frame.rsp,
            fault,
        })
    }

    /// What to say about the address in two words.
    fn note(&self, view: &View<'_>) -> &'static str {
        if self.address == 0 {
            "null pointer"
        } else if self.address < NULL_REACH {
            "null pointer with an offset"
        } else if self.overflown_stack(view).is_some() {
            "stack overflow"
        } else {
            ""
        }
    }

    /// The stack that the thread has used up, if that is what happened: the address is not accessible, lies close below
    /// writable memory, and the stack pointer is about there.
    fn overflown_stack(&self, view: &View<'_>) -> Option<VmaInfo> {
        if view.mapping(self.address).is_some_and(|vma| !vma.prot.is_empty()) {
            return None;
        }
        let above = view.mapping_above(self.address)?;
        let (start, writable) = (above.start as u64, above.prot.contains(Prot::WRITE));
        let near = start - self.address <= STACK_REACH;
        let at_end = self.rsp < start + STACK_END && self.rsp.saturating_add(STACK_REACH) > self.address;
        (writable && near && at_end).then_some(above)
    }

    fn describe(&self, out: &mut String, view: &View<'_>) -> fmt::Result {
        let attempt = match self.access {
            Access::Read => "read",
            Access::Write => "write",
            Access::Execute => "execution",
        };
        write!(out, "  {attempt}: {}", cause(self.fault))?;
        if let Some(stack) = self.overflown_stack(view) {
            return writeln!(
                out,
                "; {} below the end of the thread's stack, in its guard page: {}",
                crate::Bytes(stack.start as u64 - self.address),
                Mapping(&stack)
            );
        }
        match view.mapping_from(self.address) {
            Some(vma) if vma.start as u64 <= self.address => writeln!(out, ": {}", Mapping(&vma)),
            above => self.neighbours(out, view, above.as_ref()),
        }
    }

    fn neighbours(&self, out: &mut String, view: &View<'_>, above: Option<&VmaInfo>) -> fmt::Result {
        writeln!(out)?;
        if self.address < NULL_REACH {
            return Ok(());
        }
        if let Some(vma) = view.mapping_below(self.address) {
            let distance = crate::Bytes(self.address - vma.end as u64);
            writeln!(out, "  {distance} above the end of {}", Mapping(&vma))?;
        }
        if let Some(vma) = above {
            let distance = crate::Bytes(vma.start as u64 - self.address);
            writeln!(out, "  {distance} below the start of {}", Mapping(vma))?;
        }
        Ok(())
    }
}

pub(crate) fn registers(out: &mut String, frame: &TrapFrame) -> fmt::Result {
    let f = frame;
    for row in [
        [("rip", f.rip), ("rsp", f.rsp), ("rbp", f.rbp), ("flg", f.rflags)],
        [("rax", f.rax), ("rbx", f.rbx), ("rcx", f.rcx), ("rdx", f.rdx)],
        [("rsi", f.rsi), ("rdi", f.rdi), ("r8 ", f.r8), ("r9 ", f.r9)],
        [("r10", f.r10), ("r11", f.r11), ("r12", f.r12), ("r13", f.r13)],
    ] {
        for (name, value) in row {
            write!(out, "  {name} {value:016x}")?;
        }
        writeln!(out)?;
    }
    writeln!(out, "  r14 {:016x}  r15 {:016x}", f.r14, f.r15)
}

pub(crate) fn code(out: &mut String, view: &View<'_>, rip: u64) -> fmt::Result {
    let mut bytes = [0; CODE_LEN];
    if view.is_code(rip) && view.read(rip, &mut bytes) {
        write!(out, "  code")?;
        for byte in bytes {
            write!(out, " {byte:02x}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// One line for each frame; a function that calls itself over and over is shown once, with a count.
pub(crate) fn backtrace(out: &mut dyn Write, frames: &[Frame], names: &Names, indent: usize) -> fmt::Result {
    let mut rest = frames;
    while let Some(frame) = rest.first() {
        let same = rest.iter().take_while(|other| other.address == frame.address).count();
        write!(out, "{:indent$}{:#018x} ", "", frame.address)?;
        match names.get(frame.address) {
            Some(place) => write!(out, "{place}")?,
            None => write!(out, "?")?,
        }
        if frame.guessed {
            write!(out, " (found on the stack; may be stale)")?;
        }
        if same > 1 {
            write!(out, " ({same} times)")?;
        }
        writeln!(out)?;
        rest = &rest[same..];
    }
    if frames.len() == unwind::MAX_FRAMES {
        writeln!(out, "{:indent$}and more", "")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use alloc::boxed::Box;
    use alloc::string::ToString;
    use alloc::vec::Vec;

    use hadal_mem::space::{Name, SourceId, VmaFlags};

    use super::*;
    use crate::view::listed;

    fn view(mappings: Vec<VmaInfo>) -> View<'static> {
        View::new(listed(mappings), Box::new(|_, _| false), Box::new(|_| None))
    }

    fn vma(start: usize, end: usize, prot: Prot, name: &'static str) -> VmaInfo {
        VmaInfo {
            start,
            end,
            prot,
            shared: false,
            flags: VmaFlags::empty(),
            offset: 0,
            id: SourceId::default(),
            name: Name::Static(name),
        }
    }

    const RW: Prot = Prot::READ.union(Prot::WRITE);

    fn touched(address: u64, rsp: u64, fault: FaultSignal) -> Touched {
        Touched { address, access: Access::Write, rsp, fault }
    }

    #[test]
    fn signals_have_a_meaning() {
        assert_eq!(Signal(11).to_string(), "Segmentation fault (SIGSEGV)");
        assert_eq!(Signal(6).to_string(), "Aborted (SIGABRT)");
        assert_eq!(Signal(40).to_string(), "Ended by a signal (signal 40)");
    }

    #[test]
    fn null_pointers_are_named() {
        let view = view(Vec::new());
        assert_eq!(touched(0, 0x7000, FaultSignal::NoMapping).note(&view), "null pointer");
        assert_eq!(touched(24, 0x7000, FaultSignal::NoMapping).note(&view), "null pointer with an offset");
    }

    #[test]
    fn stack_overflows_are_told_from_other_faults() {
        let main_stack = view([vma(0x7000_0000, 0x7080_0000, RW, "[stack]")].into());
        let overflow = touched(0x6fff_fff0, 0x7000_0000, FaultSignal::NoMapping);
        assert_eq!(overflow.note(&main_stack), "stack overflow");
        let mut text = String::new();
        overflow.describe(&mut text, &main_stack).unwrap();
        assert!(text.contains("16 bytes below the end of the thread's stack"), "{text}");
        assert!(text.contains("[stack]"), "{text}");
        // The stack pointer is somewhere else.
        let elsewhere = touched(0x6fff_fff0, 0x707f_0000, FaultSignal::NoMapping);
        assert_eq!(elsewhere.note(&main_stack), "");
        // A thread's stack with its guard mapping.
        let guard = vma(0x6000_0000, 0x6000_1000, Prot::empty(), "");
        let thread = view([guard, vma(0x6000_1000, 0x6080_0000, RW, "")].into());
        assert_eq!(
            touched(0x6000_0ff8, 0x6000_1010, FaultSignal::Protection).note(&thread),
            "stack overflow"
        );
    }

    #[test]
    fn the_map_around_an_address_is_shown() {
        let view = view([vma(0x1_0000, 0x2_0000, Prot::READ, "a"), vma(0x4_0000, 0x5_0000, RW, "b")].into());
        let mut text = String::new();
        touched(0x3_0000, 0x4_8000, FaultSignal::NoMapping).describe(&mut text, &view).unwrap();
        assert!(text.contains("64.0 KiB above the end of 0x10000-0x20000 r--p a"), "{text}");
        assert!(text.contains("64.0 KiB below the start of 0x40000-0x50000 rw-p b"), "{text}");
        text.clear();
        touched(0x1_8000, 0x4_8000, FaultSignal::Protection).describe(&mut text, &view).unwrap();
        assert_eq!(text, "  write: the mapping does not permit it: 0x10000-0x20000 r--p a\n");
    }
}
