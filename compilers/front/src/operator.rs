// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Operators: how they are written, and how tightly they bind.

/// An operator between two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `->`
    Read,
    /// `<-`
    Write,
    /// `^`
    Power,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `||`
    Pad,
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `++`
    Append,
    /// `==`
    Equal,
    /// `/=`
    NotEqual,
    /// `<`
    Less,
    /// `>`
    Greater,
    /// `<=`
    LessEqual,
    /// `>=`
    GreaterEqual,
    /// `and`
    And,
    /// `nand`
    Nand,
    /// `or`
    Or,
    /// `nor`
    Nor,
    /// `xor`
    Xor,
}

/// An operator in front of its operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PrefixOp {
    /// `#`
    Length,
    /// `@`
    Text,
    /// `-`
    Negate,
}

impl BinaryOp {
    /// All of them.
    pub const ALL: [BinaryOp; 20] = [
        BinaryOp::Read,
        BinaryOp::Write,
        BinaryOp::Power,
        BinaryOp::Multiply,
        BinaryOp::Divide,
        BinaryOp::Pad,
        BinaryOp::Add,
        BinaryOp::Subtract,
        BinaryOp::Append,
        BinaryOp::Equal,
        BinaryOp::NotEqual,
        BinaryOp::Less,
        BinaryOp::Greater,
        BinaryOp::LessEqual,
        BinaryOp::GreaterEqual,
        BinaryOp::And,
        BinaryOp::Nand,
        BinaryOp::Or,
        BinaryOp::Nor,
        BinaryOp::Xor,
    ];

    /// The operator as it is written, which is also the name of its function in the environment.
    pub fn symbol(self) -> &'static str {
        match self {
            BinaryOp::Read => "->",
            BinaryOp::Write => "<-",
            BinaryOp::Power => "^",
            BinaryOp::Multiply => "*",
            BinaryOp::Divide => "/",
            BinaryOp::Pad => "||",
            BinaryOp::Add => "+",
            BinaryOp::Subtract => "-",
            BinaryOp::Append => "++",
            BinaryOp::Equal => "==",
            BinaryOp::NotEqual => "/=",
            BinaryOp::Less => "<",
            BinaryOp::Greater => ">",
            BinaryOp::LessEqual => "<=",
            BinaryOp::GreaterEqual => ">=",
            BinaryOp::And => "and",
            BinaryOp::Nand => "nand",
            BinaryOp::Or => "or",
            BinaryOp::Nor => "nor",
            BinaryOp::Xor => "xor",
        }
    }

    /// How tightly it binds; more is tighter.
    pub fn power(self) -> u8 {
        match self {
            BinaryOp::Read => 24,
            BinaryOp::Write => 23,
            BinaryOp::Power => 22,
            BinaryOp::Multiply | BinaryOp::Divide | BinaryOp::Pad => 21,
            BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Append => 20,
            BinaryOp::Equal
            | BinaryOp::NotEqual
            | BinaryOp::Less
            | BinaryOp::Greater
            | BinaryOp::LessEqual
            | BinaryOp::GreaterEqual => 10,
            BinaryOp::And | BinaryOp::Nand => 8,
            BinaryOp::Or | BinaryOp::Nor | BinaryOp::Xor => 7,
        }
    }

    /// Whether `a op b op c` is `a op (b op c)`.
    pub fn is_right_associative(self) -> bool {
        self == BinaryOp::Read
    }
}

impl PrefixOp {
    /// All of them.
    pub const ALL: [PrefixOp; 3] = [PrefixOp::Length, PrefixOp::Text, PrefixOp::Negate];

    /// The operator as it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            PrefixOp::Length => "#",
            PrefixOp::Text => "@",
            PrefixOp::Negate => "-",
        }
    }

    /// The name of its function in the environment.
    pub fn function(self) -> &'static str {
        match self {
            PrefixOp::Length => "#",
            PrefixOp::Text => "@",
            PrefixOp::Negate => "prefix -",
        }
    }
}
