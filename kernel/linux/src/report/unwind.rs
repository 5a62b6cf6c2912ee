// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Who called whom: return addresses from the registers of a program thread.
//!
//! Three ways to get from a frame to its caller's, the first that works: the unwind tables of the ELF file (`.eh_frame`, which
//! compilers write for all code by default), the frame pointer, and a search of the stack for something that looks like a
//! return address. The stack may be garbage: every step reads through the [`View`], goes upwards, and is one of a bounded
//! number.

use alloc::vec::Vec;

use gimli::{
    CfaRule, EhFrame, EndianSlice, EvaluationResult, Format, FrameDescriptionEntry, LittleEndian, Location,
    Register, RegisterRule, UnwindContext, UnwindContextStorage, UnwindExpression, UnwindTableRow, Value,
    X86_64,
};
use hadal_hal::trap::TrapFrame;

use super::tables::{self, Table};
use super::view::View;

/// Frames of one stack that are followed.
pub(super) const MAX_FRAMES: usize = 48;
/// Words of a stack that are searched for a return address.
const SEARCH_WORDS: u64 = 512;
/// Largest distance between two frames that a frame pointer may claim.
const MAX_FRAME_BYTES: u64 = 8 << 20;
/// Steps of one expression in a table.
const MAX_EXPRESSION_STEPS: u32 = 256;
/// General registers and the return address, by DWARF number.
const REGISTERS: usize = 17;

type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// Growable storage: the usual fixed one is larger than a kernel stack should hold.
struct Storage;

impl UnwindContextStorage<usize> for Storage {
    type Rules = Vec<(Register, RegisterRule<usize>)>;
    type Stack = Vec<UnwindTableRow<usize, Self>>;
}

/// What is known of the registers in one frame.
#[derive(Clone, Debug)]
pub(super) struct Registers {
    values: [u64; REGISTERS],
    /// One bit for each register whose value is known.
    known: u32,
}

impl Registers {
    /// Instruction pointer, stack pointer, frame pointer; the others are unknown.
    pub(super) fn new(ip: u64, sp: u64, bp: u64) -> Self {
        let mut registers = Self::unknown();
        registers.set(X86_64::RA, Some(ip));
        registers.set(X86_64::RSP, Some(sp));
        registers.set(X86_64::RBP, Some(bp));
        registers
    }

    fn unknown() -> Self {
        Self { values: [0; REGISTERS], known: 0 }
    }

    fn get(&self, register: Register) -> Option<u64> {
        let index = usize::from(register.0);
        (index < REGISTERS && self.known >> index & 1 == 1).then(|| self.values[index])
    }

    fn set(&mut self, register: Register, value: Option<u64>) {
        let index = usize::from(register.0);
        if index >= REGISTERS {
            return;
        }
        match value {
            Some(value) => {
                self.values[index] = value;
                self.known |= 1 << index;
            }
            None => self.known &= !(1 << index),
        }
    }
}

impl From<&TrapFrame> for Registers {
    fn from(frame: &TrapFrame) -> Self {
        let f = frame;
        let values = [
            f.rax, f.rdx, f.rcx, f.rbx, f.rsi, f.rdi, f.rbp, f.rsp, f.r8, f.r9, f.r10, f.r11, f.r12, f.r13,
            f.r14, f.r15, f.rip,
        ];
        Self { values, known: (1 << REGISTERS) - 1 }
    }
}

/// One frame of a backtrace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Frame {
    /// The instruction to go on with: for all but the innermost frame a return address.
    pub(super) address: u64,
    /// Whether `address` follows a call, so that the instruction in question is the one before it.
    pub(super) is_return: bool,
    /// Found by searching the stack: it may be left over from an earlier call.
    pub(super) guessed: bool,
}

impl Frame {
    /// An address in the instruction that the frame is about.
    pub(super) fn lookup_address(&self) -> u64 {
        if self.is_return { self.address.wrapping_sub(1) } else { self.address }
    }
}

/// The frames of a thread, innermost first, at most [`MAX_FRAMES`].
pub(super) fn frames(view: &View<'_>, registers: Registers) -> Vec<Frame> {
    let mut frames = Vec::new();
    let mut current = registers;
    let address = current.get(X86_64::RA).unwrap_or(0);
    // A system call may be the last instruction of its function: then the address after it is not in the function.
    let described = |address| tables::find(view, address).is_some_and(|table| table.covers(address));
    let is_return = !described(address) && described(address.wrapping_sub(1));
    let mut frame = Frame { address, is_return, guessed: false };
    loop {
        frames.push(frame);
        if frames.len() == MAX_FRAMES {
            return frames;
        }
        let Some(step) = caller(view, &current, frame) else { return frames };
        let Some(address) = step.registers.get(X86_64::RA) else { return frames };
        // Code of a thread's start has "no return address" or 0 there; anything else that is not code is garbage.
        if !view.is_code(address) {
            return frames;
        }
        frame = Frame { address, is_return: !step.over_signal, guessed: step.guessed };
        current = step.registers;
    }
}

/// From a frame to its caller's.
struct Step {
    registers: Registers,
    /// The frame was a signal's: the caller did not call, it was interrupted.
    over_signal: bool,
    guessed: bool,
}

fn caller(view: &View<'_>, current: &Registers, frame: Frame) -> Option<Step> {
    let sp = current.get(X86_64::RSP)?;
    if !view.is_code(frame.address) {
        // A call to nowhere: the caller's frame is as it was at the call. After a return to nowhere the stack is all there is.
        return after_pop(view, current, sp).or_else(|| by_search(view, current, sp));
    }
    let step =
        tables::find(view, frame.lookup_address()).and_then(|table| by_table(view, current, frame, &table));
    match step {
        Some(None) => None,
        Some(Some(step))
            if step.over_signal || step.registers.get(X86_64::RSP).is_some_and(|above| above > sp) =>
        {
            Some(step)
        }
        Some(Some(_)) | None => by_frame_pointer(view, current, sp).or_else(|| by_search(view, current, sp)),
    }
}

fn after_pop(view: &View<'_>, current: &Registers, sp: u64) -> Option<Step> {
    let mut registers = current.clone();
    registers.set(X86_64::RA, Some(view.word(sp).filter(|&address| follows_call(view, address))?));
    registers.set(X86_64::RSP, Some(sp.checked_add(8)?));
    Some(Step { registers, over_signal: false, guessed: false })
}

fn by_frame_pointer(view: &View<'_>, current: &Registers, sp: u64) -> Option<Step> {
    let bp = current.get(X86_64::RBP)?;
    let plausible = bp.is_multiple_of(8) && bp >= sp && bp - sp < MAX_FRAME_BYTES;
    let (after, above_both) = (bp.checked_add(8)?, bp.checked_add(16)?);
    let (above, address) = if plausible { (view.word(bp)?, view.word(after)?) } else { return None };
    let registers = Registers::new(address, above_both, above);
    follows_call(view, address).then_some(Step { registers, over_signal: false, guessed: false })
}

fn by_search(view: &View<'_>, current: &Registers, sp: u64) -> Option<Step> {
    let first = sp.checked_next_multiple_of(8)?;
    for index in 0..SEARCH_WORDS {
        let at = first.checked_add(8 * index)?;
        let address = view.word(at)?;
        if follows_call(view, address) {
            let mut registers = current.clone();
            registers.set(X86_64::RA, Some(address));
            registers.set(X86_64::RSP, Some(at.checked_add(8)?));
            return Some(Step { registers, over_signal: false, guessed: true });
        }
    }
    None
}

/// Whether the bytes before an address are a call instruction: `E8` with a displacement, or `FF /2` in one of its forms.
fn follows_call(view: &View<'_>, address: u64) -> bool {
    const LONGEST: usize = 7;
    let mut code = [0; LONGEST];
    let Some(start) = address.checked_sub(LONGEST as u64) else { return false };
    if !view.is_code(address) || !view.is_code(start) {
        return false;
    }
    if !view.read(start, &mut code) {
        let Some(loaded) = view.module(start) else { return false };
        if !view.read_module(&loaded.module, start, &mut code) {
            return false;
        }
    }
    is_call(&code)
}

fn is_call(code: &[u8; 7]) -> bool {
    // The number of bytes of `FF /2` with this ModRM byte (and SIB byte).
    let indirect = |at: usize| {
        let (opcode, modrm) = (code[at], code[at + 1]);
        if opcode != 0xff || modrm >> 3 & 7 != 2 {
            return false;
        }
        let (mode, base) = (modrm >> 6, modrm & 7);
        let has_sib = mode != 3 && base == 4;
        let sib_without_base = has_sib && mode == 0 && code.get(at + 2).is_some_and(|sib| sib & 7 == 5);
        let displacement = match mode {
            0 if base == 5 || sib_without_base => 4,
            1 => 1,
            2 => 4,
            _ => 0,
        };
        at + 2 + usize::from(has_sib) + displacement == code.len()
    };
    code[2] == 0xe8 || (0..=5).any(indirect)
}

/// What a table says about the caller of a frame: `None` if it cannot be used here, `Some(None)` if there is no caller.
fn by_table(view: &View<'_>, current: &Registers, frame: Frame, table: &Table) -> Option<Option<Step>> {
    let (section, bases) = table.section();
    let fde = table.fde(&section, &bases, frame.lookup_address())?;
    let mut context = UnwindContext::<usize, Storage>::new_in();
    let row = fde.unwind_info_for_address(&section, &bases, &mut context, frame.lookup_address()).ok()?;
    let rules = Rules { view, current, section: &section, fde: &fde };
    let cfa = match row.cfa() {
        CfaRule::RegisterAndOffset { register, offset } => {
            current.get(*register)?.wrapping_add_signed(*offset)
        }
        CfaRule::Expression(expression) => rules.evaluate(expression, None)?,
    };
    let mut registers = Registers::unknown();
    for number in 0..REGISTERS as u16 {
        let register = Register(number);
        registers.set(register, rules.value(row.register(register), register, cfa));
    }
    if row.register(X86_64::RSP).is_none() {
        registers.set(X86_64::RSP, Some(cfa));
    }
    let return_rule = row.register(fde.cie().return_address_register());
    if matches!(return_rule, Some(RegisterRule::Undefined)) || registers.get(X86_64::RA) == Some(0) {
        return Some(None);
    }
    let over_signal = fde.is_signal_trampoline();
    Some(Some(Step { registers, over_signal, guessed: false }))
}

struct Rules<'a> {
    view: &'a View<'a>,
    current: &'a Registers,
    section: &'a EhFrame<Slice<'a>>,
    fde: &'a FrameDescriptionEntry<Slice<'a>>,
}

impl Rules<'_> {
    fn value(&self, rule: Option<RegisterRule<usize>>, register: Register, cfa: u64) -> Option<u64> {
        match rule {
            // The return address register has no value of its own.
            None | Some(RegisterRule::SameValue) if register == X86_64::RA => None,
            None | Some(RegisterRule::SameValue) => self.current.get(register),
            Some(RegisterRule::Offset(offset)) => self.view.word(cfa.wrapping_add_signed(offset)),
            Some(RegisterRule::ValOffset(offset)) => Some(cfa.wrapping_add_signed(offset)),
            Some(RegisterRule::Register(other)) => self.current.get(other),
            Some(RegisterRule::Expression(expression)) => {
                self.evaluate(&expression, Some(cfa)).and_then(|address| self.view.word(address))
            }
            Some(RegisterRule::ValExpression(expression)) => self.evaluate(&expression, Some(cfa)),
            Some(RegisterRule::Constant(value)) => Some(value),
            Some(_) => None,
        }
    }

    fn evaluate(&self, expression: &UnwindExpression<usize>, initial: Option<u64>) -> Option<u64> {
        let encoding = gimli::Encoding {
            address_size: 8,
            format: Format::Dwarf32,
            version: u16::from(self.fde.cie().version()),
        };
        let mut evaluation = expression.get(self.section).ok()?.evaluation(encoding);
        evaluation.set_max_iterations(MAX_EXPRESSION_STEPS);
        if let Some(initial) = initial {
            evaluation.set_initial_value(initial);
        }
        let mut state = evaluation.evaluate().ok()?;
        loop {
            state = match state {
                EvaluationResult::Complete => break,
                EvaluationResult::RequiresRegister { register, .. } => {
                    evaluation.resume_with_register(Value::Generic(self.current.get(register)?)).ok()?
                }
                EvaluationResult::RequiresMemory { address, size, .. } => {
                    let mut bytes = [0; 8];
                    let wanted = bytes.get_mut(..usize::from(size))?;
                    if !self.view.read(address, wanted) {
                        return None;
                    }
                    evaluation.resume_with_memory(Value::Generic(u64::from_le_bytes(bytes))).ok()?
                }
                _ => return None,
            };
        }
        match evaluation.as_result().first()?.location {
            Location::Address { address } => Some(address),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
