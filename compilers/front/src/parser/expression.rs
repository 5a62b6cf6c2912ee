// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Expressions.

use super::{Open, Parser, Result};
use crate::Dialect;
use crate::ast::{Binding, Expr, ExprKind, Ident, PrefixOp};
use crate::diagnostic::Diagnostic;
use crate::parser::MAX_DEPTH;
use crate::source::Span;
use crate::token::{Keyword, TokenKind};

/// Binding power of application and indexing.
const APPLY: u8 = 30;
/// Binding power of operators in front.
const PREFIX: u8 = 25;
/// Binding power of `:=` and `=>`.
pub(super) const ARROW: u8 = 5;
/// Binding power of the comma.
const COMMA: u8 = 4;

impl Parser {
    /// An expression, commas included.
    pub(super) fn expression(&mut self) -> Result<Expr> {
        self.operators(0)
    }

    /// An expression whose operators all bind at least as tightly as `least`.
    pub(super) fn operators(&mut self, least: u8) -> Result<Expr> {
        self.nested(|parser| {
            let mut left = parser.prefix()?;
            loop {
                left = match parser.extend(left, least)? {
                    Ok(longer) if longer.height() > MAX_DEPTH => return Err(parser.too_deep(longer.span)),
                    Ok(longer) => longer,
                    Err(whole) => return Ok(whole),
                };
            }
        })
    }

    /// `left` and the operator with its operand that follow it, or `left` as an error if none does.
    fn extend(&mut self, left: Expr, least: u8) -> Result<std::result::Result<Expr, Expr>> {
        if let Some(op) = self.kind().binary_op() {
            let power = op.power();
            if power < least {
                return Ok(Err(left));
            }
            let place = self.advance();
            let right = self.operators(if op.is_right_associative() { power } else { power + 1 })?;
            let span = left.span.to(right.span);
            return Ok(Ok(Expr::new(ExprKind::Binary(op, place, left.into(), right.into()), span)));
        }
        if matches!(left.kind, ExprKind::Bool(_)) && self.is_symbol("(") && !left.is_parenthesised() {
            return Err(self.boolean_as_name(left.span));
        }
        let longer = match self.kind() {
            TokenKind::Symbol("[") if least <= APPLY => {
                let (index, end) = self.bracketed("[", "]", Parser::expression)?;
                let span = left.span.to(end);
                Expr::new(ExprKind::Index(left.into(), index.into()), span)
            }
            _ if least <= APPLY && self.begins_argument() && may_be_function(&left) => {
                if self.token().starts_line {
                    self.line_call = Some(left.span);
                }
                let argument = self.nested(Parser::atom)?;
                let span = left.span.to(argument.span);
                Expr::new(ExprKind::Call(left.into(), argument.into()), span)
            }
            TokenKind::Symbol("=>") if least <= ARROW => {
                let arrow = self.advance();
                let pattern = self.pattern_of(left, arrow, "in front of `=>`")?;
                let body = self.operators(ARROW)?;
                let span = pattern.span.to(body.span);
                Expr::new(ExprKind::Lambda(pattern, body.into()), span)
            }
            TokenKind::Symbol(":=") if least <= ARROW => {
                let ExprKind::Name(name) = &left.kind else {
                    return Err(self.unexpected("an operator"));
                };
                let name = Ident { name: name.clone(), span: left.span };
                self.advance();
                let value = self.operators(ARROW)?;
                let span = left.span.to(value.span);
                Expr::new(ExprKind::Named(name, value.into()), span)
            }
            TokenKind::Symbol(",") if least <= COMMA => {
                self.advance();
                let right = self.operators(COMMA)?;
                let span = left.span.to(right.span);
                Expr::new(ExprKind::Pair(left.into(), right.into()), span)
            }
            _ => return Ok(Err(left)),
        };
        Ok(Ok(longer))
    }

    /// Whether an argument begins here that follows its function directly.
    fn begins_argument(&self) -> bool {
        matches!(
            self.kind(),
            TokenKind::Int(_)
                | TokenKind::Float(_)
                | TokenKind::Char(_)
                | TokenKind::String(_)
                | TokenKind::Ident(_)
                | TokenKind::Keyword(Keyword::True | Keyword::False)
                | TokenKind::Symbol("(" | "{")
        )
    }

    /// An operand with the operators in front of it.
    fn prefix(&mut self) -> Result<Expr> {
        let op = match self.kind() {
            TokenKind::Symbol("#") => PrefixOp::Length,
            TokenKind::Symbol("@") => PrefixOp::Text,
            TokenKind::Symbol("-") => PrefixOp::Negate,
            TokenKind::Keyword(Keyword::Let) => return self.let_expression(),
            TokenKind::Keyword(Keyword::If) => return self.if_expression(),
            TokenKind::Ident(name)
                if self.dialect == Dialect::Ndpc
                    && &**name == "with"
                    && matches!(self.kind_after(), TokenKind::Ident(_)) =>
            {
                return self.with_expression();
            }
            _ => return self.atom(),
        };
        let place = self.advance();
        let operand = self.operators(PREFIX)?;
        let span = place.to(operand.span);
        Ok(Expr::new(ExprKind::Prefix(op, place, operand.into()), span))
    }

    fn let_expression(&mut self) -> Result<Expr> {
        let start = self.advance();
        self.open.push(Open::Let(start));
        let mut bindings = Vec::new();
        loop {
            let pattern = self.pattern("a pattern")?;
            if self.is_symbol("==") {
                let place = self.span();
                return Err(Box::new(
                    Diagnostic::error("expected `=`, found `==`", place, "expected `=`")
                        .suggest("a binding has one `=`", vec![(place, "=".into())]),
                ));
            }
            if self.eat_symbol("=").is_none() {
                return Err(self.missing_binding(start, pattern.span, !bindings.is_empty()));
            }
            let value = self.expression()?;
            bindings.push(Binding { pattern, value });
            let separated = self.eat_symbol(";").is_some();
            if self.eat_keyword(Keyword::In).is_some() {
                break;
            }
            if !separated {
                return Err(self.missing_in(start));
            }
        }
        self.open.pop();
        let body = self.expression()?;
        let span = start.to(body.span);
        self.bounded(Expr::new(ExprKind::Let(bindings, body.into()), span))
    }

    /// No `=` follows what should be the pattern of a binding.
    fn missing_binding(&mut self, start: Span, pattern: Span, is_later: bool) -> Box<Diagnostic> {
        let mut diagnostic = self.unexpected("`=`");
        if is_later && *self.kind() != TokenKind::Eof {
            let before = Span { end: pattern.start, ..pattern };
            *diagnostic = diagnostic
                .label(start, "in this `let`")
                .suggest("if the bindings end here, write `in`", vec![(before, "in ".into())]);
        }
        diagnostic
    }

    fn missing_in(&mut self, start: Span) -> Box<Diagnostic> {
        if self.is_symbol("=")
            && let Some(place) = self.line_call
        {
            return Box::new(
                Diagnostic::error(
                    "expected `;` or `in`, found `=`",
                    self.span(),
                    "this binding has a `=` already",
                )
                .suggest("bindings are separated by `;`", vec![(place.after(), ";".into())]),
            );
        }
        let mut diagnostic = self.unexpected("an operator, `;` or `in`");
        if *self.kind() != TokenKind::Eof && diagnostic.labels.len() == 1 {
            *diagnostic = diagnostic.label(start, "in this `let`");
        }
        diagnostic
    }

    fn if_expression(&mut self) -> Result<Expr> {
        let start = self.advance();
        let condition = self.expression()?;
        if self.eat_keyword(Keyword::Then).is_none() {
            let mut diagnostic = self.unexpected("an operator or `then`");
            if *self.kind() != TokenKind::Eof {
                *diagnostic = diagnostic.label(start, "of this `if`");
            }
            return Err(diagnostic);
        }
        let yes = self.expression()?;
        if self.eat_keyword(Keyword::Else).is_none() {
            let mut diagnostic = self.unexpected("an operator or `else`");
            if *self.kind() != TokenKind::Eof {
                *diagnostic = diagnostic
                    .label(start, "of this `if`")
                    .note("an `if` has a value, so it needs both branches");
            }
            return Err(diagnostic);
        }
        let no = self.expression()?;
        let span = start.to(no.span);
        self.bounded(Expr::new(ExprKind::If(condition.into(), yes.into(), no.into()), span))
    }

    fn with_expression(&mut self) -> Result<Expr> {
        let start = self.advance();
        self.open.push(Open::Let(start));
        let mut types = Vec::new();
        loop {
            let name = self.name("a name")?;
            self.expect_symbol("=", "`=`")?;
            types.push((name, self.type_expression()?));
            let separated = self.eat_symbol(";").is_some();
            if self.eat_keyword(Keyword::In).is_some() {
                break;
            }
            if !separated {
                return Err(self.unexpected("`;` or `in`"));
            }
        }
        self.open.pop();
        let body = self.expression()?;
        let span = start.to(body.span);
        self.bounded(Expr::new(ExprKind::With(types, body.into()), span))
    }

    pub(super) fn bounded(&self, expr: Expr) -> Result<Expr> {
        if expr.height() > MAX_DEPTH { Err(self.too_deep(expr.span)) } else { Ok(expr) }
    }

    fn atom(&mut self) -> Result<Expr> {
        let span = self.span();
        let kind = match self.kind() {
            TokenKind::Int(value) => ExprKind::Int(*value),
            TokenKind::Float(value) => ExprKind::Float(*value),
            TokenKind::Char(value) => ExprKind::Char(*value),
            TokenKind::String(value) => ExprKind::String(value.clone()),
            TokenKind::Ident(name) => ExprKind::Name(name.clone()),
            TokenKind::Keyword(Keyword::True) => ExprKind::Bool(true),
            TokenKind::Keyword(Keyword::False) => ExprKind::Bool(false),
            TokenKind::Symbol("(") => return self.parenthesised(),
            TokenKind::Symbol("[") => return self.sequence(),
            TokenKind::Symbol("{") => return self.apply_to_each(),
            _ => return Err(self.unexpected("an expression")),
        };
        self.advance();
        Ok(Expr::new(kind, span))
    }
}

/// Whether an expression in front of another may be a function applied to it.
fn may_be_function(expr: &Expr) -> bool {
    !matches!(
        expr.kind,
        ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Bool(_)
            | ExprKind::Char(_)
            | ExprKind::String(_)
            | ExprKind::Sequence(_)
            | ExprKind::Range(..)
            | ExprKind::Empty(_)
            | ExprKind::ApplyToEach(_)
    )
}
