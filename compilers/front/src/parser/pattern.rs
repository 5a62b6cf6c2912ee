// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Patterns.

use super::{Parser, Result};
use crate::ast::{Expr, ExprKind, Ident, Pattern, PatternKind};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::token::Keyword;

impl Parser {
    /// A pattern, commas included.
    pub(super) fn pattern(&mut self, expected: &str) -> Result<Pattern> {
        self.nested(|parser| {
            let first = parser.pattern_item(expected)?;
            if parser.eat_symbol(",").is_none() {
                return Ok(first);
            }
            let rest = parser.pattern("a pattern")?;
            let span = first.span.to(rest.span);
            Ok(Pattern { kind: PatternKind::Pair(first.into(), rest.into()), span })
        })
    }

    fn pattern_item(&mut self, expected: &str) -> Result<Pattern> {
        if self.is_symbol("(") {
            let (mut pattern, span) = self.bracketed("(", ")", |parser| {
                let pattern = parser.pattern("a pattern")?;
                if parser.is_symbol(":") { Err(parser.type_in_pattern()) } else { Ok(pattern) }
            })?;
            pattern.span = span;
            return Ok(pattern);
        }
        if self.is_keyword(Keyword::True) || self.is_keyword(Keyword::False) {
            return Err(self.boolean_as_name(self.span()));
        }
        let Some(ident) = self.eat_name() else { return Err(self.unexpected(expected)) };
        if self.is_symbol("(") {
            let (content, end) = self.bracketed("(", ")", |parser| parser.pattern("a pattern"))?;
            let span = ident.span.to(end);
            return Ok(Pattern { kind: PatternKind::Data(ident, content.into()), span });
        }
        if self.eat_symbol(":=").is_some() {
            let default = self.operators(5)?;
            let span = ident.span.to(default.span);
            return Ok(Pattern { kind: PatternKind::Default(ident, default.into()), span });
        }
        Ok(Pattern { kind: PatternKind::Name(ident.name), span: ident.span })
    }

    /// An expression that turned out to stand where a pattern must, in front of the token at `before`.
    pub(super) fn pattern_of(&self, expr: Expr, before: Span, place: &str) -> Result<Pattern> {
        let span = expr.span;
        let kind = match expr.kind {
            ExprKind::Name(name) => PatternKind::Name(name),
            ExprKind::Pair(a, b) => PatternKind::Pair(
                self.pattern_of(*a, before, place)?.into(),
                self.pattern_of(*b, before, place)?.into(),
            ),
            ExprKind::Call(function, argument) => match function.kind {
                ExprKind::Name(name) => {
                    let ident = Ident { name, span: function.span };
                    PatternKind::Data(ident, self.pattern_of(*argument, before, place)?.into())
                }
                _ => return Err(self.not_a_pattern(span, before, place)),
            },
            ExprKind::Named(name, default) => PatternKind::Default(name, default),
            ExprKind::Bool(_) => return Err(self.boolean_as_name(span)),
            _ => return Err(self.not_a_pattern(span, before, place)),
        };
        Ok(Pattern { kind, span })
    }

    fn not_a_pattern(&self, span: Span, before: Span, place: &str) -> Box<Diagnostic> {
        let mut diagnostic = Diagnostic::error(
            format!("expected a pattern {place}"),
            span,
            "neither a name, a tuple of patterns nor `constructor(pattern)`",
        )
        .label(before, "");
        if self.tokens.iter().any(|token| token.span == before && self.is_assignment(token.span)) {
            diagnostic = diagnostic.suggest("to compare, write `==`", vec![(before, "==".into())]);
        }
        Box::new(diagnostic)
    }

    fn is_assignment(&self, span: Span) -> bool {
        let token = self.tokens.iter().find(|token| token.span == span);
        token.is_some_and(|token| token.kind == crate::token::TokenKind::Symbol("="))
    }
}
