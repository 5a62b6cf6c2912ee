// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What an unwind table says about the caller of one address.
//!
//! Nearly all code needs a [`Simple`] rule: the caller's stack pointer is a register plus a constant, and registers are
//! saved at constant distances from there. Such rules are cheap to keep. Others (signal frames, stubs of the dynamic
//! linker, functions that align their stack) are worked out each time.

use core::ops::Deref;

use gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameOffset, EndianSlice, Evaluation, EvaluationResult,
    EvaluationStorage, Format, FrameDescriptionEntry, LittleEndian, Location, Piece, Register, RegisterRule,
    UnwindContext, UnwindContextStorage, UnwindExpression, UnwindSection, UnwindTableRow, Value, X86_64,
};

use crate::fuel::Fuel;
use crate::registers::{REGISTERS, Registers};
use crate::walk::Program;

/// Steps of one expression in a table. Those that compilers and linkers write have about ten.
const MAX_EXPRESSION_STEPS: u32 = 64;

pub(crate) type Slice<'a> = EndianSlice<'a, LittleEndian>;
type Entry<'a> = FrameDescriptionEntry<Slice<'a>>;

/// Room for what gimli works with, of a fixed size: an interrupt cannot allocate. Code that needs more has no usable table.
pub(crate) struct Storage;

impl UnwindContextStorage<usize> for Storage {
    type Rules = [(Register, RegisterRule<usize>); 24];
    type Stack = [UnwindTableRow<usize, Self>; 4];
}

impl<'a> EvaluationStorage<Slice<'a>> for Storage {
    type Stack = [Value; 16];
    type ExpressionStack = [(Slice<'a>, Slice<'a>); 1];
    type Result = [Piece<Slice<'a>>; 1];
}

pub(crate) type Context = UnwindContext<usize, Storage>;

/// Part of an `.eh_frame` section with the description of at least one function.
#[derive(Clone, Copy, Debug)]
pub struct Table<B> {
    /// Where the bytes are, or would be, in program memory.
    pub address: u64,
    /// The section, or a part of it that makes sense by itself.
    pub bytes: B,
    /// Place of the one description that matters.
    pub at: usize,
}

impl<B: Deref<Target = [u8]>> Table<B> {
    fn section(&self) -> (EhFrame<Slice<'_>>, BaseAddresses) {
        let mut section = EhFrame::new(&self.bytes, LittleEndian);
        section.set_address_size(8);
        (section, BaseAddresses::default().set_eh_frame(self.address))
    }

    /// The description of the function at `address`, if the fuel lasts for what it says.
    fn entry<'a>(
        &self,
        section: &EhFrame<Slice<'a>>,
        bases: &BaseAddresses,
        fuel: &mut Fuel,
        address: u64,
    ) -> Option<Entry<'a>> {
        // Before anything is parsed: the common part's text may be as long as the section.
        if !fuel.take(entry_len(&self.bytes, self.at)?) {
            return None;
        }
        let entry = section.fde_from_offset(bases, EhFrameOffset(self.at), EhFrame::cie_from_offset);
        entry.ok().filter(|entry| entry.contains(address))
    }

    /// The rule for an address.
    pub(crate) fn rule(&self, context: &mut Context, fuel: &mut Fuel, address: u64) -> Rule {
        let (section, bases) = self.section();
        let Some(entry) = self.entry(&section, &bases, fuel, address) else { return Rule::Missing };
        let Ok(row) = entry.unwind_info_for_address(&section, &bases, context, address) else {
            return Rule::Missing;
        };
        if matches!(row.register(entry.cie().return_address_register()), Some(RegisterRule::Undefined)) {
            return Rule::Outermost;
        }
        match Simple::of(row).filter(|_| !entry.is_signal_trampoline()) {
            Some(simple) => Rule::Simple(simple),
            None => Rule::Other,
        }
    }

    /// Follows any rule, [`Rule::Other`] included; returns the caller's registers, and whether it was interrupted by a
    /// signal instead of making a call.
    pub(crate) fn apply(
        &self,
        (context, fuel): (&mut Context, &mut Fuel),
        address: u64,
        current: &Registers,
        program: &impl Program,
    ) -> Option<(Registers, bool)> {
        let (section, bases) = self.section();
        let entry = self.entry(&section, &bases, fuel, address)?;
        let row = entry.unwind_info_for_address(&section, &bases, context, address).ok()?;
        if !fuel.take(expressions(row) * MAX_EXPRESSION_STEPS as usize) {
            return None;
        }
        let rules = Evaluator { program, current, section: &section, entry: &entry };
        let cfa = match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => {
                current.get(*register)?.wrapping_add_signed(*offset)
            }
            CfaRule::Expression(expression) => rules.evaluate(expression, None)?,
        };
        let mut registers = *current;
        for number in 0..REGISTERS as u16 {
            let register = Register(number);
            registers.set(register, rules.value(row.register(register), register, cfa));
        }
        if row.register(X86_64::RSP).is_none() {
            registers.set(X86_64::RSP, Some(cfa));
        }
        Some((registers, entry.is_signal_trampoline()))
    }
}

/// Bytes of the description at a place and of the common part that it refers to.
pub(crate) fn entry_len(section: &[u8], at: usize) -> Option<usize> {
    let own = sized_len(section, at)?;
    let back = u32_at(section, at.checked_add(4)?)?;
    let common = (at + 4).checked_sub(back as usize)?;
    own.checked_add(sized_len(section, common)?)
}

/// What the length word at a place announces, with the word itself. One of all ones would announce a 64-bit length, which no
/// compiler uses here.
pub(crate) fn sized_len(section: &[u8], at: usize) -> Option<usize> {
    let len = u32_at(section, at)?;
    (len != u32::MAX).then_some(len as usize + 4)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// How many expressions have to be evaluated for a row.
fn expressions(row: &UnwindTableRow<usize, Storage>) -> usize {
    let is_expression = |register| {
        matches!(row.register(register), Some(RegisterRule::Expression(_) | RegisterRule::ValExpression(_)))
    };
    let registers = (0..REGISTERS as u16).filter(|&number| is_expression(Register(number)));
    registers.count() + usize::from(matches!(row.cfa(), CfaRule::Expression(_)))
}

/// What is to be done at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// No table describes it.
    Missing,
    /// There is no caller.
    Outermost,
    Simple(Simple),
    /// Something that [`Table::apply`] works out.
    Other,
}

/// Registers that a function gives back as it found them (x86-64 psABI, 3.2.1).
const SAVED: [Register; 6] = [X86_64::RBX, X86_64::RBP, X86_64::R12, X86_64::R13, X86_64::R14, X86_64::R15];

/// Constants that give the caller's registers. The return address is below the caller's stack pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Simple {
    /// Whether the caller's stack pointer is counted from RBP, not RSP.
    from_bp: bool,
    /// Bytes from there.
    offset: i32,
    /// Where each of [`SAVED`] is, in words from the caller's stack pointer; 0 if the function has not changed it.
    saved: [i16; SAVED.len()],
}

impl Simple {
    fn of(row: &UnwindTableRow<usize, Storage>) -> Option<Self> {
        let CfaRule::RegisterAndOffset { register, offset } = *row.cfa() else { return None };
        let from_bp = register == X86_64::RBP;
        if !from_bp && register != X86_64::RSP
            || row.register(X86_64::RSP).is_some()
            || row.register(X86_64::RA) != Some(RegisterRule::Offset(-8))
        {
            return None;
        }
        let mut saved = [0; SAVED.len()];
        for (words, register) in saved.iter_mut().zip(SAVED) {
            *words = match row.register(register) {
                None | Some(RegisterRule::SameValue) => 0,
                Some(RegisterRule::Offset(bytes)) if bytes % 8 == 0 && bytes != 0 => {
                    (bytes / 8).try_into().ok()?
                }
                _ => return None,
            };
        }
        Some(Self { from_bp, offset: offset.try_into().ok()?, saved })
    }

    /// The caller's registers; `None` if the stack cannot be read.
    pub(crate) fn apply(&self, current: &Registers, program: &impl Program) -> Option<Registers> {
        let base = current.get(if self.from_bp { X86_64::RBP } else { X86_64::RSP })?;
        let cfa = base.wrapping_add_signed(self.offset.into());
        let mut registers = *current;
        for (&words, register) in self.saved.iter().zip(SAVED).filter(|(words, _)| **words != 0) {
            let at = cfa.wrapping_add_signed(8 * i64::from(words));
            registers.set(register, program.word(at));
        }
        registers.set(X86_64::RA, Some(program.word(cfa.wrapping_sub(8))?));
        registers.set(X86_64::RSP, Some(cfa));
        Some(registers)
    }
}

struct Evaluator<'a, P> {
    program: &'a P,
    current: &'a Registers,
    section: &'a EhFrame<Slice<'a>>,
    entry: &'a Entry<'a>,
}

impl<P: Program> Evaluator<'_, P> {
    fn value(&self, rule: Option<RegisterRule<usize>>, register: Register, cfa: u64) -> Option<u64> {
        match rule {
            // The return address register has no value of its own.
            None | Some(RegisterRule::SameValue) if register == X86_64::RA => None,
            None | Some(RegisterRule::SameValue) => self.current.get(register),
            Some(RegisterRule::Offset(offset)) => self.program.word(cfa.wrapping_add_signed(offset)),
            Some(RegisterRule::ValOffset(offset)) => Some(cfa.wrapping_add_signed(offset)),
            Some(RegisterRule::Register(other)) => self.current.get(other),
            Some(RegisterRule::Expression(expression)) => {
                self.evaluate(&expression, Some(cfa)).and_then(|address| self.program.word(address))
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
            version: u16::from(self.entry.cie().version()),
        };
        let code = expression.get(self.section).ok()?.0;
        let mut evaluation = Evaluation::<_, Storage>::new_in(code, encoding);
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
                    let bits = 8 * u32::from(size.min(8));
                    let word = self.program.word(address)?;
                    let value = word & u64::MAX.checked_shr(64 - bits).unwrap_or(0);
                    evaluation.resume_with_memory(Value::Generic(value)).ok()?
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
