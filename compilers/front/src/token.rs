// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tokens.

use std::sync::Arc;

use crate::ast::{BinaryOp, Name};
use crate::source::Span;

/// A token and where it stands.
#[derive(Clone, Debug)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Its place.
    pub span: Span,
    /// Whether it is the first of its line.
    pub starts_line: bool,
    /// Whether nothing stands before it in its line, not even a blank.
    pub at_margin: bool,
}

/// What a token is.
#[derive(Clone, Debug, PartialEq)]
pub enum TokenKind {
    /// A number without dot and exponent.
    Int(i64),
    /// A number with dot or exponent.
    Float(f64),
    /// A character literal.
    Char(u8),
    /// A string literal, without the escapes.
    String(Arc<[u8]>),
    /// A name, in lower case.
    Ident(Name),
    /// A reserved word.
    Keyword(Keyword),
    /// Punctuation or an operator.
    Symbol(&'static str),
    /// The end of the text.
    Eof,
}

/// A reserved word that is not an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keyword {
    /// `function`
    Function,
    /// `datatype`
    Datatype,
    /// `let`
    Let,
    /// `in`
    In,
    /// `if`
    If,
    /// `then`
    Then,
    /// `else`
    Else,
    /// `t`
    True,
    /// `f`
    False,
}

/// Operators and punctuation, those of two characters first.
pub(crate) const SYMBOLS: [&str; 34] = [
    "->", "<-", "=>", "++", "==", "/=", "<=", ">=", ">>", "::", ":=", "||", "|=", "&=", "-", "+", "#", "(",
    ")", "*", ",", "/", ":", ";", "<", "=", ">", "@", "[", "]", "^", "{", "|", "}",
];

impl Keyword {
    /// The reserved word `name`.
    pub fn named(name: &str) -> Option<Keyword> {
        Some(match name {
            "function" => Keyword::Function,
            "datatype" => Keyword::Datatype,
            "let" => Keyword::Let,
            "in" => Keyword::In,
            "if" => Keyword::If,
            "then" => Keyword::Then,
            "else" => Keyword::Else,
            "t" => Keyword::True,
            "f" => Keyword::False,
            _ => return None,
        })
    }
}

impl TokenKind {
    /// The operator between two operands that this token is.
    pub fn binary_op(&self) -> Option<BinaryOp> {
        match self {
            TokenKind::Symbol(symbol) => BinaryOp::ALL.into_iter().find(|op| op.symbol() == *symbol),
            _ => None,
        }
    }

    /// Whether it ends a top-level form.
    pub fn is_end(&self) -> bool {
        matches!(self, TokenKind::Symbol(";" | "$"))
    }
}
