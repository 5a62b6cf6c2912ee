// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the parser says when the next token does not fit.

use super::{MAX_DEPTH, Open, Parser};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::token::{Keyword, TokenKind};

impl Parser {
    /// The next token in words.
    fn found(&self) -> String {
        match self.kind() {
            TokenKind::Int(_) | TokenKind::Float(_) => "a number".into(),
            TokenKind::Char(_) => "a character".into(),
            TokenKind::String(_) => "a string".into(),
            TokenKind::Ident(name) => format!("`{name}`"),
            TokenKind::Keyword(keyword) => format!("`{}`", keyword_text(*keyword)),
            TokenKind::Symbol(symbol) => format!("`{symbol}`"),
            TokenKind::Eof => "the end of the text".into(),
        }
    }

    /// The next token is not `expected`.
    pub(super) fn unexpected(&mut self, expected: &str) -> Box<Diagnostic> {
        if *self.kind() == TokenKind::Eof {
            self.hit_end = true;
            if let Some(Open::Bracket(start, open)) = self.open.last().copied() {
                return self.never_closed(start, open);
            }
            let place = self.previous().after();
            let message = format!("expected {expected}, but the text ends");
            return Box::new(Diagnostic::error(message, place, format!("expected {expected}")));
        }
        let message = format!("expected {expected}, found {}", self.found());
        let here = self.span();
        let mut diagnostic = Diagnostic::error(message, here, format!("expected {expected}"));
        match self.kind() {
            TokenKind::Symbol("=") if !self.open.is_empty() || expected.contains("then") => {
                diagnostic = diagnostic.suggest("to compare, write `==`", vec![(here, "==".into())]);
            }
            TokenKind::Symbol(">")
                if self.at > 0 && self.tokens[self.at - 1].kind == TokenKind::Symbol("<") =>
            {
                let both = self.previous().to(here);
                diagnostic = diagnostic.suggest("\"not equal\" is `/=`", vec![(both, "/=".into())]);
            }
            TokenKind::Keyword(Keyword::Function | Keyword::Datatype) => {
                diagnostic = self.explain_open(diagnostic);
            }
            TokenKind::Symbol(")" | "]" | "}") => {
                if let Some(Open::Bracket(start, open)) = self.open.last() {
                    diagnostic = diagnostic.label(*start, format!("inside this `{open}`"));
                } else if self.open.is_empty() {
                    diagnostic = diagnostic.note(format!("{} closes no bracket of this form", self.found()));
                }
            }
            _ => {}
        }
        Box::new(diagnostic)
    }

    fn explain_open(&self, diagnostic: Diagnostic) -> Diagnostic {
        match self.open.last() {
            Some(Open::Bracket(start, open)) => {
                diagnostic.label(*start, format!("this `{open}` is not closed"))
            }
            Some(Open::Let(start)) => diagnostic.label(*start, "this `let` has no `in`"),
            None => diagnostic,
        }
    }

    /// A bracket that ends with the text.
    fn never_closed(&self, start: Span, open: &str) -> Box<Diagnostic> {
        let message = format!("`{open}` is never closed");
        Box::new(Diagnostic::error(message, start, "no bracket closes this one"))
    }

    /// What follows is not the end of the bracket at `start`.
    pub(super) fn unclosed(
        &mut self,
        start: Span,
        open: &'static str,
        close: &'static str,
    ) -> Box<Diagnostic> {
        if *self.kind() == TokenKind::Eof {
            self.hit_end = true;
            return self.never_closed(start, open);
        }
        let message = format!("expected `{close}`, found {}", self.found());
        let here = self.span();
        let mut diagnostic = Diagnostic::error(message, here, format!("expected an operator or `{close}`"))
            .label(start, format!("to close this `{open}`"));
        if self.is_symbol("=") {
            diagnostic = diagnostic.suggest("to compare, write `==`", vec![(here, "==".into())]);
        }
        Box::new(diagnostic)
    }

    /// A colon in a pattern: in other languages the type of a parameter follows.
    pub(super) fn type_in_pattern(&self) -> Box<Diagnostic> {
        let here = self.span();
        Box::new(
            Diagnostic::error("expected `)`, found `:`", here, "a pattern has no types in it")
                .help("write types behind the parameters: `function name(a, b) : (int, [int]) -> int = ...`"),
        )
    }

    /// `t` or `f` where a name must stand.
    pub(super) fn boolean_as_name(&self, span: Span) -> Box<Diagnostic> {
        let (name, value) = if self.is_true_at(span) { ("t", "true") } else { ("f", "false") };
        Box::new(
            Diagnostic::error(
                format!("`{name}` cannot be a name"),
                span,
                format!("this is the value {value}"),
            )
            .note("NESL does not tell upper from lower case: `t` and `f` are the boolean constants")
            .help("choose another name"),
        )
    }

    fn is_true_at(&self, span: Span) -> bool {
        let token = self.tokens.iter().find(|token| token.span.start == span.start);
        token.is_some_and(|token| token.kind == TokenKind::Keyword(Keyword::True))
    }

    /// Too many levels.
    pub(super) fn too_deep(&self, span: Span) -> Box<Diagnostic> {
        Box::new(
            Diagnostic::error("the nesting is too deep", span, "one level too many")
                .note(format!("at most {MAX_DEPTH} levels can be nested"))
                .help("name a part of it with `let`, or make it a function"),
        )
    }

    /// The form should end here.
    pub(super) fn missing_end(&mut self, form: Span) -> Box<Diagnostic> {
        let after = self.previous().after();
        let insert = |place: Span| vec![(place, ";".to_string())];
        if *self.kind() == TokenKind::Eof {
            self.hit_end = true;
            return Box::new(
                Diagnostic::error("the form has no end", after, "expected `;`")
                    .suggest("a form at top level ends with `;`", insert(after)),
            );
        }
        if self.is_symbol("=")
            && let Some(place) = self.line_call
        {
            return Box::new(
                Diagnostic::error("expected `;`, found `=`", self.span(), "this form has a `=` already")
                    .suggest("a form at top level ends with `;`", insert(place.after())),
            );
        }
        if self.token().starts_line {
            return Box::new(
                Diagnostic::error(
                    format!("expected `;` before {}", self.found()),
                    after,
                    "expected an operator or `;`",
                )
                .label(self.span(), "the next form begins here")
                .label(form, "")
                .suggest("a form at top level ends with `;`", insert(after)),
            );
        }
        match self.kind() {
            TokenKind::Symbol(symbol @ (")" | "]" | "}")) => Box::new(Diagnostic::error(
                format!("`{symbol}` closes no bracket"),
                self.span(),
                "nothing is open here",
            )),
            TokenKind::Symbol("=") => Box::new(
                Diagnostic::error(
                    "expected an operator or `;`, found `=`",
                    self.span(),
                    "this form has a `=` already",
                )
                .suggest("to compare, write `==`", vec![(self.span(), "==".into())]),
            ),
            _ => self.unexpected("an operator or `;`"),
        }
    }
}

/// A reserved word as it is written.
pub(super) fn keyword_text(keyword: Keyword) -> &'static str {
    match keyword {
        Keyword::Function => "function",
        Keyword::Datatype => "datatype",
        Keyword::Let => "let",
        Keyword::In => "in",
        Keyword::If => "if",
        Keyword::Then => "then",
        Keyword::Else => "else",
        Keyword::True => "t",
        Keyword::False => "f",
    }
}
