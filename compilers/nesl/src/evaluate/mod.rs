// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A naive evaluator of core programs, written apart from flattening: tests compare the two.

mod interpret;
mod number;
mod primitive;
pub mod show;

pub use interpret::Interpreter;
use std::rc::Rc;

/// A value.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// No cells.
    Unit,
    /// An integer.
    Int(i32),
    /// A float.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// A character.
    Char(u8),
    /// Two values.
    Pair(Rc<Value>, Rc<Value>),
    /// A sequence.
    Seq(Rc<Vec<Value>>),
}

/// Why evaluation stopped.
#[derive(Clone, PartialEq, Debug)]
pub enum Stop {
    /// A run-time error, with the text as compiled code prints it.
    Error(String),
    /// The program does what this evaluator does not: files, processes.
    Unsupported,
    /// Too many steps.
    TooLong,
}

impl Value {
    fn seq(values: Vec<Value>) -> Self {
        Self::Seq(Rc::new(values))
    }

    fn pair(a: Value, b: Value) -> Self {
        Self::Pair(Rc::new(a), Rc::new(b))
    }

    fn int(&self) -> i32 {
        match self {
            Self::Int(value) => *value,
            Self::Char(value) => i32::from(*value),
            Self::Bool(value) => i32::from(*value),
            _ => 0,
        }
    }

    fn float(&self) -> f64 {
        if let Self::Float(value) = self { *value } else { 0.0 }
    }

    fn truth(&self) -> bool {
        matches!(self, Self::Bool(true))
    }

    fn elements(&self) -> &[Value] {
        if let Self::Seq(values) = self { values } else { &[] }
    }

    fn text(bytes: &[u8]) -> Self {
        Self::seq(bytes.iter().map(|&b| Self::Char(b)).collect())
    }
}
