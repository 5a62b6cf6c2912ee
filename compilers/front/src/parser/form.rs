// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Top-level forms, and going on after an error in one.

use super::{Parser, Result};
use crate::Dialect;
use crate::ast::{Expr, ExprKind, Form, FormKind, Ident};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::token::{Keyword, Token, TokenKind};

impl Parser {
    /// The next form, or none at the end of the text.
    pub(super) fn next_form(&mut self) -> Option<Result<Form>> {
        while self.kind().is_end() {
            self.advance();
        }
        if *self.kind() == TokenKind::Eof {
            return None;
        }
        self.open.clear();
        self.depth = 0;
        self.line_call = None;
        let first = self.at;
        let form = self.form().and_then(|form| match self.kind().is_end() {
            true => {
                self.advance();
                Ok(form)
            }
            false => Err(self.missing_end(form.span)),
        });
        if form.is_err() {
            self.recover(first);
        }
        Some(form)
    }

    /// Goes to where the next form probably begins.
    fn recover(&mut self, first: usize) {
        self.at = self.at.max(first);
        let mut brackets = self.open.len();
        loop {
            match self.kind() {
                TokenKind::Eof => return,
                TokenKind::Keyword(Keyword::Function | Keyword::Datatype) if self.at > first => return,
                TokenKind::Symbol("$") => return,
                TokenKind::Symbol(";") if brackets == 0 => return,
                // In an unclosed bracket the layout is the best sign of a new form.
                TokenKind::Symbol(";") if self.tokens[self.at + 1].at_margin => return,
                TokenKind::Symbol("(" | "[" | "{") | TokenKind::Keyword(Keyword::Let) => brackets += 1,
                TokenKind::Symbol(")" | "]" | "}") | TokenKind::Keyword(Keyword::In) => {
                    brackets = brackets.saturating_sub(1);
                }
                _ => {}
            }
            self.advance();
        }
    }

    /// The name that the form at token `first` would define.
    pub(super) fn would_define(&self, first: usize) -> Option<Ident> {
        let mut tokens = self.tokens[first..].iter().skip_while(|token| token.kind.is_end());
        let named = |token: &Token| match &token.kind {
            TokenKind::Ident(name) => Some(Ident { name: name.clone(), span: token.span }),
            _ => None,
        };
        let head = tokens.next()?;
        let next = tokens.next()?;
        match (&head.kind, &next.kind) {
            (TokenKind::Keyword(Keyword::Function | Keyword::Datatype), _) => named(next),
            (_, TokenKind::Symbol("=")) => named(head),
            _ => None,
        }
    }

    fn form(&mut self) -> Result<Form> {
        let start = self.span();
        let kind = match self.kind() {
            TokenKind::Keyword(Keyword::Function) => self.function()?,
            TokenKind::Keyword(Keyword::Datatype) => self.datatype()?,
            TokenKind::Ident(name)
                if self.dialect == Dialect::Library
                    && &**name == "primitive"
                    && matches!(self.kind_after(), TokenKind::Ident(_) | TokenKind::String(_)) =>
            {
                self.advance();
                let name = self.defined_name("a name")?;
                self.expect_symbol(":", "`:`")?;
                FormKind::Primitive { name, declared: self.type_definition()? }
            }
            _ => match self.command()? {
                Some(command) => FormKind::Command(command),
                None => self.assignment()?,
            },
        };
        Ok(Form { kind, span: start.to(self.previous()) })
    }

    /// A name to be defined; in a library also that of an operator, in quotes.
    fn defined_name(&mut self, expected: &str) -> Result<Ident> {
        if self.dialect == Dialect::Library
            && let TokenKind::String(text) = self.kind()
            && let Ok(name) = std::str::from_utf8(text)
        {
            let name = name.to_lowercase().into();
            return Ok(Ident { name, span: self.advance() });
        }
        self.name(expected)
    }

    fn function(&mut self) -> Result<FormKind> {
        self.advance();
        let name = self.defined_name("the name of the function")?;
        if self.is_symbol("=") || self.is_symbol(":") {
            return Err(self.no_parameters(&name));
        }
        if self.is_symbol("(") && *self.kind_after() == TokenKind::Symbol(")") {
            return Err(self.no_parameters(&name));
        }
        let pattern = self.pattern("the parameters of the function")?;
        let declared = match self.eat_symbol(":") {
            Some(_) => Some(self.type_definition()?),
            None => None,
        };
        let text = match self.kind() {
            TokenKind::String(text) => Some(text.clone()),
            _ => None,
        };
        if text.is_some() {
            self.advance();
        } else if self.kind().is_end()
            && let Some(declared) = declared
        {
            return Ok(FormKind::Forward { name, pattern, declared });
        }
        let expected =
            if declared.is_some() { "`=` and the body" } else { "`:` and a type, or `=` and the body" };
        self.expect_symbol("=", expected)?;
        let body = self.expression()?;
        Ok(FormKind::Function { name, pattern, declared, text, body })
    }

    fn no_parameters(&mut self, name: &Ident) -> Box<Diagnostic> {
        let here: Span = self.span();
        Box::new(
            Diagnostic::error("expected the parameters of the function", here, "expected `(` and a pattern")
                .label(name.span, "")
                .help(format!("for a constant write `{} = ...` without `function`", name.name)),
        )
    }

    fn datatype(&mut self) -> Result<FormKind> {
        self.advance();
        let name = self.name("the name of the datatype")?;
        if self.is_symbol("=") {
            let place = self.span();
            return Err(Box::new(
                Diagnostic::error("expected a type, found `=`", place, "expected the type of what it holds")
                    .help(format!("write `datatype {}(int, float);`", name.name)),
            ));
        }
        if self.dialect == Dialect::Ndpc {
            return Ok(FormKind::Declare { name, declared: self.type_expression()? });
        }
        Ok(FormKind::Datatype { name, content: self.type_definition()? })
    }

    fn assignment(&mut self) -> Result<FormKind> {
        let left = self.expression()?;
        if !self.is_symbol("=") || self.spans_two_forms(&left) {
            return Ok(FormKind::Expression(left));
        }
        let place = self.advance();
        let pattern = self.pattern_of(left, place, "in front of `=`")?;
        Ok(FormKind::Assign { pattern, value: self.expression()? })
    }

    /// Whether `left = ` begins with what is probably a form of its own on the line before.
    fn spans_two_forms(&self, left: &Expr) -> bool {
        let ExprKind::Call(function, argument) = &left.kind else { return false };
        let parenthesised = self
            .tokens
            .iter()
            .any(|token| token.span.start == argument.span.start && token.kind == TokenKind::Symbol("("));
        !parenthesised && self.line_call == Some(function.span)
    }
}
