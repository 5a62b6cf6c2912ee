// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tokens to top-level forms: recursive descent, with binding powers for operators.

mod bracket;
mod command;
mod error;
mod expression;
mod form;
mod pattern;
mod types;

use crate::Dialect;
use crate::ast::{Form, Ident, Name};
use crate::diagnostic::Diagnostic;
use crate::lexer::lex;
use crate::source::{SourceFile, Span};
use crate::token::{Keyword, Token, TokenKind};

/// How deeply expressions, types and patterns may nest, so that no walk over a tree overflows its stack.
pub const MAX_DEPTH: u32 = 128;

/// The forms of a text.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The forms without a syntax error.
    pub forms: Vec<Form>,
    /// What the forms with a syntax error would have defined, as far as that can be told.
    pub failed: Vec<Ident>,
    /// All errors.
    pub diagnostics: Vec<Diagnostic>,
    /// Whether the only error is that the text ends too early.
    pub incomplete: bool,
}

/// Reads the forms of a text.
pub fn parse(file: &SourceFile, dialect: Dialect) -> Parsed {
    let lexed = lex(file);
    let mut parser = Parser {
        dialect,
        tokens: lexed.tokens,
        at: 0,
        depth: 0,
        open: Vec::new(),
        line_call: None,
        hit_end: false,
    };
    let mut parsed = Parsed {
        forms: Vec::new(),
        failed: Vec::new(),
        diagnostics: lexed.diagnostics,
        incomplete: lexed.unfinished,
    };
    loop {
        let first = parser.at;
        match parser.next_form() {
            None => break,
            Some(Ok(form)) => parsed.forms.push(form),
            Some(Err(diagnostic)) => {
                parsed.failed.extend(parser.would_define(first));
                // After a text that ends inside a token, what is missing is missing because of that.
                if !(lexed.unfinished && parser.hit_end) {
                    parsed.diagnostics.push(*diagnostic);
                }
            }
        }
    }
    parsed.incomplete |= parser.hit_end;
    parsed.incomplete &= parsed.diagnostics.len() == 1;
    parsed.diagnostics.sort_by_key(|diagnostic| diagnostic.span().start);
    parsed
}

type Result<T> = std::result::Result<T, Box<Diagnostic>>;

/// What encloses the place that is read, with the place where it begins.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Open {
    Bracket(Span, &'static str),
    Let(Span),
}

struct Parser {
    dialect: Dialect,
    tokens: Vec<Token>,
    at: usize,
    depth: u32,
    /// Brackets and bindings not closed yet.
    open: Vec<Open>,
    /// The last function of the form whose argument begins the next line: perhaps a `;` is missing between.
    line_call: Option<Span>,
    /// Whether an error was that the text ends.
    hit_end: bool,
}

impl Parser {
    fn token(&self) -> &Token {
        &self.tokens[self.at]
    }

    fn kind(&self) -> &TokenKind {
        &self.tokens[self.at].kind
    }

    fn kind_after(&self) -> &TokenKind {
        &self.tokens[(self.at + 1).min(self.tokens.len() - 1)].kind
    }

    fn span(&self) -> Span {
        self.token().span
    }

    /// The place of the token before.
    fn previous(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].span
    }

    fn advance(&mut self) -> Span {
        let span = self.span();
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
        span
    }

    fn is_symbol(&self, symbol: &str) -> bool {
        matches!(self.kind(), TokenKind::Symbol(found) if *found == symbol)
    }

    fn is_keyword(&self, keyword: Keyword) -> bool {
        *self.kind() == TokenKind::Keyword(keyword)
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.kind(), TokenKind::Ident(name) if &**name == word)
    }

    /// Goes past `symbol` if it comes next.
    fn eat_symbol(&mut self, symbol: &str) -> Option<Span> {
        self.is_symbol(symbol).then(|| self.advance())
    }

    fn eat_keyword(&mut self, keyword: Keyword) -> Option<Span> {
        self.is_keyword(keyword).then(|| self.advance())
    }

    fn expect_symbol(&mut self, symbol: &'static str, expected: &str) -> Result<Span> {
        self.eat_symbol(symbol).ok_or_else(|| self.unexpected(expected))
    }

    fn eat_name(&mut self) -> Option<Ident> {
        let TokenKind::Ident(name) = self.kind() else { return None };
        let name: Name = name.clone();
        Some(Ident { name, span: self.advance() })
    }

    /// A name, or an error that says that one was expected as `what`.
    fn name(&mut self, what: &str) -> Result<Ident> {
        match self.eat_name() {
            Some(ident) => Ok(ident),
            None if self.is_keyword(Keyword::True) || self.is_keyword(Keyword::False) => {
                Err(self.boolean_as_name(self.span()))
            }
            None => Err(self.unexpected(what)),
        }
    }

    /// Reads what is inside of a bracket that is the next token, and its end.
    fn bracketed<T>(
        &mut self,
        open: &'static str,
        close: &'static str,
        inside: impl FnOnce(&mut Parser) -> Result<T>,
    ) -> Result<(T, Span)> {
        let start = self.expect_symbol(open, &format!("`{open}`"))?;
        self.open.push(Open::Bracket(start, open));
        let value = inside(self)?;
        match self.eat_symbol(close) {
            Some(end) => {
                self.open.pop();
                Ok((value, start.to(end)))
            }
            None => Err(self.unclosed(start, open, close)),
        }
    }

    /// Reads something one level deeper.
    fn nested<T>(&mut self, inside: impl FnOnce(&mut Parser) -> Result<T>) -> Result<T> {
        if self.depth >= MAX_DEPTH {
            return Err(self.too_deep(self.span()));
        }
        self.depth += 1;
        let value = inside(self);
        self.depth -= 1;
        value
    }
}
