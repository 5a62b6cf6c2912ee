// SPDX-License-Identifier: Apache-2.0 OR MIT
//! VCODE as a block-structured program over single-assignment cells, and its lowering to stack code.
//!
//! Flattening writes [`Block`]s with the [`builder`]; [`prune`] removes what nobody reads; [`stack`] orders the
//! cells on VCODE's one stack; [`text`] prints the program.

pub mod builder;
pub mod prune;
pub mod stack;
pub mod text;

/// One vector value: assigned once, used any number of times.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Cell(pub u32);

/// The type of a cell.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// 32-bit integers; characters too.
    Int,
    /// Truth values.
    Bool,
    /// Double precision.
    Float,
    /// A segment descriptor.
    Segdes,
}

impl Kind {
    /// The type's suffix in VCODE text.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Int => "INT",
            Self::Bool => "BOOL",
            Self::Float => "FLOAT",
            Self::Segdes => "SEGDES",
        }
    }
}

/// The operand of `CONST`.
#[derive(Clone, PartialEq, Debug)]
pub enum Constant {
    /// Integers.
    Int(Vec<i32>),
    /// Floats.
    Float(Vec<f64>),
    /// Truth values.
    Bool(Vec<bool>),
    /// Character codes that print as a string.
    Chars(Vec<u8>),
}

/// What one statement does.
#[derive(Clone, PartialEq, Debug)]
pub enum Instr {
    /// Pushes a constant.
    Const(Constant),
    /// One VCODE operation with its suffix; the name of input and output includes the suffix.
    Op(&'static str, Option<Kind>),
    /// Calls a function of the program by its VCODE name.
    Call(String),
    /// Runs one of two blocks; the argument is the condition.
    If(Box<Block>, Box<Block>),
    /// Ends the program.
    Exit,
}

/// An instruction with its operands and results, both deepest first.
#[derive(Clone, PartialEq, Debug)]
pub struct Stmt {
    /// The cells this statement defines.
    pub results: Vec<Cell>,
    /// What it does.
    pub instr: Instr,
    /// The cells it reads.
    pub args: Vec<Cell>,
}

/// Statements in order, and the cells that are the block's value.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Block {
    /// The statements.
    pub stmts: Vec<Stmt>,
    /// The value, deepest first.
    pub outs: Vec<Cell>,
}

/// A VCODE function.
#[derive(Clone, PartialEq, Debug)]
pub struct Function {
    /// Its name in the text.
    pub name: String,
    /// Its parameters, deepest first.
    pub params: Vec<Cell>,
    /// What it does.
    pub body: Block,
    /// A comment line for the run-time (`hadal-source`), empty when there is none.
    pub source: String,
}

/// Whether an operation does more than compute its results from its operands.
#[must_use]
pub fn has_effect(instr: &Instr) -> bool {
    match instr {
        Instr::Const(_) => false,
        Instr::Call(_) | Instr::Exit => true,
        Instr::If(a, b) => {
            a.stmts.iter().any(|s| has_effect(&s.instr)) || b.stmts.iter().any(|s| has_effect(&s.instr))
        }
        Instr::Op(name, _) => is_impure(name),
    }
}

/// Whether the operation of this name reads or changes the world.
#[must_use]
pub fn is_impure(name: &str) -> bool {
    let first = name.split(' ').next().unwrap_or(name);
    matches!(
        first,
        "RAND"
            | "SRAND"
            | "READ"
            | "WRITE"
            | "FOPEN"
            | "FCLOSE"
            | "FREAD"
            | "FWRITE"
            | "FREAD_CHAR"
            | "SPAWN"
            | "START_TIMER"
            | "STOP_TIMER"
    )
}
