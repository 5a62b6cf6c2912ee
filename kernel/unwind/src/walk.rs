// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The walk from a frame to its caller's, and so on.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Deref;

use gimli::X86_64;

use crate::call::{self, LONGEST};
use crate::fuel::{self, Fuel};
use crate::registers::Registers;
use crate::rules::{Context, Rule, Table};
use crate::signal;

/// Bytes of a stack that are searched for a return address, a block at a time. Assembly code keeps buffers there.
const SEARCH_BYTES: u64 = 64 << 10;
const BLOCK: usize = 512;
/// Largest distance between two frames that a frame pointer may claim.
const MAX_FRAME_BYTES: u64 = 8 << 20;

/// A program whose stack is walked. All addresses may be garbage.
pub trait Program {
    /// What holds a table's bytes.
    type Bytes<'a>: Deref<Target = [u8]>
    where
        Self: 'a;

    /// A word of memory; `None` if it is not there.
    fn word(&self, address: u64) -> Option<u64>;
    /// Reads memory; `false` if some of it is not there.
    fn read(&self, address: u64, bytes: &mut [u8]) -> bool;
    /// Reads code, in whatever way; `false` if some of it is not there.
    fn code(&self, address: u64, bytes: &mut [u8]) -> bool;
    /// Whether code may run at an address.
    fn is_code(&self, address: u64) -> bool;
    /// The table that may describe the function at an address.
    fn table(&self, address: u64) -> Option<Table<Self::Bytes<'_>>>;
}

/// One frame of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Frame {
    /// The instruction to go on with: for all but the innermost frame a return address.
    pub address: u64,
    /// Whether `address` follows a call, so that the instruction in question is the one before it.
    pub is_return: bool,
    /// Found by searching the stack: it may be left over from an earlier call.
    pub guessed: bool,
}

impl Frame {
    /// An address in the instruction that the frame is about.
    pub fn lookup_address(&self) -> u64 {
        if self.is_return { self.address.wrapping_sub(1) } else { self.address }
    }
}

/// How a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// At the function that its thread began with.
    Outermost,
    /// Nothing leads on from the last frame, or to find it would take too long.
    Lost,
    /// The visitor wanted no more.
    Stopped,
}

/// From a frame to its caller's.
struct Caller {
    registers: Registers,
    /// The frame was a signal's: the caller did not call, it was interrupted.
    over_signal: bool,
    guessed: bool,
}

enum Step {
    Caller(Caller),
    Outermost,
    Unknown,
}

/// Memory to walk with: for gimli, and for rules that were needed before.
pub struct Unwinder {
    context: Box<Context>,
    /// By address.
    rules: Vec<Option<(u64, Rule)>>,
    /// For one walk.
    fuel_units: usize,
    fuel: Fuel,
}

impl Unwinder {
    /// Keeps this many rules. A walk ends as lost after so many units of work, each of which takes a few nanoseconds, as a byte
    /// of a table does. `None` when memory is out.
    pub fn new(kept: usize, fuel_units: usize) -> Option<Self> {
        let mut rules = Vec::new();
        rules.try_reserve_exact(kept.max(1)).ok()?;
        rules.resize(kept.max(1), None);
        let fuel = Fuel::new(0);
        Some(Self { context: Box::new(Context::new_in()), rules, fuel_units, fuel })
    }

    /// Forgets the rules: other code is mapped now.
    pub fn forget(&mut self) {
        self.rules.fill(None);
    }

    /// Visits the frames of a thread, innermost first, until the visitor returns `false`.
    pub fn walk<P: Program>(
        &mut self,
        program: &P,
        registers: Registers,
        mut visit: impl FnMut(Frame) -> bool,
    ) -> End {
        self.fuel = Fuel::new(self.fuel_units);
        let mut current = registers;
        let address = current.get(X86_64::RA).unwrap_or(0);
        // A system call may be the last instruction of its function: then the address after it is not in the function.
        let is_return = self.rule(program, address) == Rule::Missing
            && self.rule(program, address.wrapping_sub(1)) != Rule::Missing;
        let mut frame = Frame { address, is_return, guessed: false };
        loop {
            if !visit(frame) {
                return End::Stopped;
            }
            let caller = match self.caller(program, &current, frame) {
                Step::Caller(caller) => caller,
                Step::Outermost => return End::Outermost,
                Step::Unknown => return End::Lost,
            };
            if self.fuel.is_empty() {
                // What was found is a guess, made when the better ways were too long.
                return End::Lost;
            }
            match caller.registers.get(X86_64::RA) {
                Some(0) => return End::Outermost,
                Some(address) if program.is_code(address) => {
                    frame = Frame { address, is_return: !caller.over_signal, guessed: caller.guessed };
                }
                _ => return End::Lost,
            }
            current = caller.registers;
        }
    }

    fn caller<P: Program>(&mut self, program: &P, current: &Registers, frame: Frame) -> Step {
        let Some(sp) = current.get(X86_64::RSP) else { return Step::Unknown };
        if !program.is_code(frame.address) {
            // A call to nowhere: the caller's frame is as it was at the call. After a return to nowhere the stack is all
            // there is.
            return match after_pop(program, current, sp) {
                Some(caller) => Step::Caller(caller),
                None => self.by_search(program, current, sp),
            };
        }
        let address = frame.lookup_address();
        match self.by_table(program, current, address) {
            Step::Unknown => {}
            known => return known,
        }
        if self.rule(program, address) == Rule::Missing {
            if let Some(registers) = signal::interrupted(program, frame.address, sp) {
                return Step::Caller(Caller { registers, over_signal: true, guessed: false });
            }
            // The start of a thread clears the register (x86-64 psABI, 3.4.1).
            if frame.is_return && current.get(X86_64::RBP) == Some(0) {
                return Step::Outermost;
            }
        }
        match by_frame_pointer(program, current, sp) {
            Some(caller) => Step::Caller(caller),
            None => self.by_search(program, current, sp),
        }
    }

    /// The rule for an address, from the cache or from a table.
    fn rule(&mut self, program: &impl Program, address: u64) -> Rule {
        let place = (address % self.rules.len() as u64) as usize;
        if let Some((of, rule)) = self.rules[place]
            && of == address
        {
            return rule;
        }
        let table = self.fuel.take(fuel::LOOKUP).then(|| program.table(address)).flatten();
        let rule =
            table.map_or(Rule::Missing, |table| table.rule(&mut self.context, &mut self.fuel, address));
        if !self.fuel.is_empty() {
            self.rules[place] = Some((address, rule));
        }
        rule
    }

    fn by_table(&mut self, program: &impl Program, current: &Registers, address: u64) -> Step {
        let rule = self.rule(program, address);
        if !self.fuel.take(fuel::STEP) {
            return Step::Unknown;
        }
        let (registers, over_signal) = match rule {
            Rule::Missing => return Step::Unknown,
            Rule::Outermost => return Step::Outermost,
            Rule::Simple(simple) => match simple.apply(current, program) {
                Some(registers) => (registers, false),
                None => return Step::Unknown,
            },
            Rule::Other => {
                let table = self.fuel.take(fuel::LOOKUP).then(|| program.table(address)).flatten();
                let work = (&mut *self.context, &mut self.fuel);
                match table.and_then(|table| table.apply(work, address, current, program)) {
                    Some(found) => found,
                    None => return Step::Unknown,
                }
            }
        };
        // Frames of one stack go upwards; a signal may have come on another stack.
        let goes_up = registers.get(X86_64::RSP) > current.get(X86_64::RSP);
        if over_signal || goes_up {
            Step::Caller(Caller { registers, over_signal, guessed: false })
        } else {
            Step::Unknown
        }
    }

    /// The first word on the stack that follows a call, unless a table says otherwise: then that word leads to no other such
    /// word. A stack without any such word is that of an outermost function.
    fn by_search(&mut self, program: &impl Program, current: &Registers, sp: u64) -> Step {
        let mut first = None;
        let Some(start) = sp.checked_next_multiple_of(8) else { return Step::Unknown };
        let end = start.saturating_add(SEARCH_BYTES);
        let mut at = start;
        let mut ends = false;
        while at < end && !ends {
            // Aligned, so that it lies in one page.
            let mut block = [0; BLOCK];
            let part = &mut block[(at % BLOCK as u64) as usize..];
            ends = !program.read(at, part);
            let words = if ends { &[] } else { part.as_chunks::<8>().0 };
            if !self.fuel.take(fuel::WORD * words.len()) {
                return Step::Unknown;
            }
            for (place, word) in (at..).step_by(8).zip(words) {
                let address = u64::from_le_bytes(*word);
                if !follows_call(program, address) {
                    continue;
                }
                let mut registers = *current;
                registers.set(X86_64::RA, Some(address));
                registers.set(X86_64::RSP, place.checked_add(8));
                let leads_on = self.leads_on(program, &registers, address.wrapping_sub(1));
                let caller = Caller { registers, over_signal: false, guessed: true };
                if leads_on {
                    return Step::Caller(caller);
                }
                first = first.or(Some(caller));
            }
            at += 8 * words.len() as u64;
        }
        match first {
            Some(caller) => Step::Caller(caller),
            None if ends && at > start => Step::Outermost,
            None => Step::Unknown,
        }
    }

    /// Whether a table says who called the code at `address`, or there is none.
    fn leads_on(&mut self, program: &impl Program, registers: &Registers, address: u64) -> bool {
        match self.by_table(program, registers, address) {
            Step::Caller(above) => {
                above.registers.get(X86_64::RA).is_some_and(|address| follows_call(program, address))
            }
            Step::Outermost => true,
            Step::Unknown => self.rule(program, address) == Rule::Missing,
        }
    }
}

fn after_pop(program: &impl Program, current: &Registers, sp: u64) -> Option<Caller> {
    let mut registers = *current;
    registers.set(X86_64::RA, Some(program.word(sp).filter(|&address| follows_call(program, address))?));
    registers.set(X86_64::RSP, Some(sp.checked_add(8)?));
    Some(Caller { registers, over_signal: false, guessed: false })
}

fn by_frame_pointer(program: &impl Program, current: &Registers, sp: u64) -> Option<Caller> {
    let bp = current.get(X86_64::RBP)?;
    let plausible = bp.is_multiple_of(8) && bp >= sp && bp - sp < MAX_FRAME_BYTES;
    let (after, above_both) = (bp.checked_add(8)?, bp.checked_add(16)?);
    let (above, address) = if plausible { (program.word(bp)?, program.word(after)?) } else { return None };
    let registers = Registers::new(address, above_both, Some(above));
    follows_call(program, address).then_some(Caller { registers, over_signal: false, guessed: false })
}

/// Whether an address is one of code behind a call instruction.
fn follows_call(program: &impl Program, address: u64) -> bool {
    let Some(start) = address.checked_sub(LONGEST as u64) else { return false };
    let mut code = [0; LONGEST];
    program.is_code(address)
        && program.is_code(start)
        && program.code(start, &mut code)
        && call::ends_with_call(&code)
}
