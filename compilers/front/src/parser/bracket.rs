// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Expressions in brackets of each kind.

use super::expression::ARROW;
use super::{Parser, Result};
use crate::ast::{ApplyToEach, Expr, ExprKind, Over};
use crate::diagnostic::Diagnostic;
use crate::token::{Keyword, TokenKind};

impl Parser {
    pub(super) fn parenthesised(&mut self) -> Result<Expr> {
        if *self.kind_after() == TokenKind::Symbol(")") {
            let start = self.advance();
            let span = start.to(self.advance());
            return Err(Box::new(
                Diagnostic::error("expected an expression between the parentheses", span, "nothing is here")
                    .note("every function of NESL takes an argument; a constant needs no parentheses"),
            ));
        }
        let (mut expr, span) = self.bracketed("(", ")", Parser::expression)?;
        expr.span = span;
        Ok(expr)
    }

    pub(super) fn sequence(&mut self) -> Result<Expr> {
        if *self.kind_after() == TokenKind::Symbol("]") {
            let start = self.advance();
            let end = self.advance();
            if !self.begins_type() {
                return Err(Box::new(
                    Diagnostic::error(
                        "an empty sequence needs the type of its elements",
                        start.to(end),
                        "of what type are its elements?",
                    )
                    .help("write the type behind it: `[] int`, `[] (int, float)`, `[] [char]`"),
                ));
            }
            let ty = self.type_atom()?;
            let span = start.to(ty.span);
            return Ok(Expr::new(ExprKind::Empty(ty), span));
        }
        let (kind, span) = self.bracketed("[", "]", |parser| {
            let first = parser.operators(ARROW)?;
            if parser.eat_symbol(":").is_some() {
                let end = parser.operators(ARROW)?;
                let stride = match parser.eat_symbol(":") {
                    Some(_) => Some(Box::new(parser.operators(ARROW)?)),
                    None => None,
                };
                return Ok(ExprKind::Range(first.into(), end.into(), stride));
            }
            let mut elements = vec![first];
            while parser.eat_symbol(",").is_some() {
                elements.push(parser.operators(ARROW)?);
            }
            Ok(ExprKind::Sequence(elements))
        })?;
        self.bounded(Expr::new(kind, span))
    }

    pub(super) fn apply_to_each(&mut self) -> Result<Expr> {
        let (each, span) = self.bracketed("{", "}", |parser| {
            let serial = parser.eat_symbol("*").is_some();
            let first = parser.expression()?;
            let (body, mut sources) = match parser.eat_symbol(":") {
                Some(_) => {
                    let start = parser.expression()?;
                    (Some(first), vec![parser.over(start)?])
                }
                None => (None, vec![parser.over(first)?]),
            };
            while parser.eat_symbol(";").is_some() {
                let start = parser.expression()?;
                sources.push(parser.over(start)?);
            }
            let filter = match parser.eat_symbol("|") {
                Some(_) => Some(parser.expression()?),
                None => None,
            };
            Ok(ApplyToEach { serial, body, sources, filter })
        })?;
        self.bounded(Expr::new(ExprKind::ApplyToEach(each.into()), span))
    }

    /// The rest of a source after its pattern, which was read as an expression.
    fn over(&mut self, start: Expr) -> Result<Over> {
        match self.eat_keyword(Keyword::In) {
            Some(place) => {
                let pattern = self.pattern_of(start, place, "in front of `in`")?;
                Ok(Over { pattern, source: Some(self.expression()?) })
            }
            None if matches!(start.kind, ExprKind::Name(_)) => {
                let place = start.span;
                Ok(Over { pattern: self.pattern_of(start, place, "")?, source: None })
            }
            None => {
                let whole = start.span;
                let mut diagnostic = self.unexpected("an operator, `in` or `:`");
                if *self.kind() != TokenKind::Eof {
                    *diagnostic = diagnostic
                        .label(whole, "neither `pattern in sequence` nor a name")
                        .help("an apply-to-each is `{body : pattern in sequence | condition}`");
                }
                Err(diagnostic)
            }
        }
    }
}
