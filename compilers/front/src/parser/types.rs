// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Types as they are written.

use super::{Parser, Result};
use crate::Dialect;
use crate::ast::{Ident, TypeDef, TypeExpr, TypeExprKind};
use crate::token::{Keyword, TokenKind};

impl Parser {
    /// A type, with the classes of its variables if they follow.
    pub(super) fn type_definition(&mut self) -> Result<TypeDef> {
        let body = self.type_expression()?;
        let mut variables = Vec::new();
        let mut span = body.span;
        if self.eat_symbol("::").is_some() {
            if self.is_symbol("(") {
                let (found, end) = self.bracketed("(", ")", |parser| {
                    let mut found = vec![parser.class_of_variable()?];
                    while parser.eat_symbol(";").is_some() {
                        found.push(parser.class_of_variable()?);
                    }
                    Ok(found)
                })?;
                variables = found;
                span = span.to(end);
            } else {
                variables.push(self.class_of_variable()?);
                // Without parentheses a `;` may also be the end of the form.
                while self.is_symbol(";") && self.class_follows() {
                    self.advance();
                    variables.push(self.class_of_variable()?);
                }
                span = span.to(self.previous());
            }
        }
        Ok(TypeDef { body, variables, span })
    }

    fn class_of_variable(&mut self) -> Result<(Ident, Ident)> {
        let variable = self.name("a type variable")?;
        if self.eat_keyword(Keyword::In).is_none() {
            return Err(self.unexpected("`in`"));
        }
        Ok((variable, self.name("a type class")?))
    }

    /// Whether `; name in` comes next.
    fn class_follows(&self) -> bool {
        let kind = |ahead: usize| self.tokens.get(self.at + ahead).map(|token| &token.kind);
        matches!(kind(1), Some(TokenKind::Ident(_))) && kind(2) == Some(&TokenKind::Keyword(Keyword::In))
    }

    /// A type, commas included.
    pub(super) fn type_expression(&mut self) -> Result<TypeExpr> {
        self.nested(|parser| {
            let first = parser.type_component()?;
            if parser.eat_symbol(",").is_none() {
                return Ok(first);
            }
            let rest = parser.type_expression()?;
            let span = first.span.to(rest.span);
            Ok(TypeExpr { kind: TypeExprKind::Pair(first.into(), rest.into()), span })
        })
    }

    /// A type up to a comma.
    fn type_component(&mut self) -> Result<TypeExpr> {
        self.nested(|parser| {
            let argument = parser.type_atom()?;
            if parser.eat_symbol("->").is_none() {
                return Ok(argument);
            }
            let result = parser.type_component()?;
            let span = argument.span.to(result.span);
            Ok(TypeExpr { kind: TypeExprKind::Function(argument.into(), result.into()), span })
        })
    }

    /// Whether a type begins here.
    pub(super) fn begins_type(&self) -> bool {
        matches!(self.kind(), TokenKind::Ident(_) | TokenKind::Symbol("[" | "("))
    }

    /// A type without operators.
    pub(super) fn type_atom(&mut self) -> Result<TypeExpr> {
        self.nested(|parser| match parser.kind() {
            TokenKind::Symbol("[") => {
                let (element, span) = parser.bracketed("[", "]", Parser::type_expression)?;
                Ok(TypeExpr { kind: TypeExprKind::Sequence(element.into()), span })
            }
            TokenKind::Symbol("(") => {
                let (mut ty, span) = parser.bracketed("(", ")", Parser::type_expression)?;
                ty.span = span;
                Ok(ty)
            }
            _ => parser.named_type(),
        })
    }

    fn named_type(&mut self) -> Result<TypeExpr> {
        let name = self.name("a type")?;
        if self.dialect == Dialect::Ndpc && &*name.name == "collection" && self.eat_symbol("<").is_some() {
            let element = self.type_expression()?;
            let end = self.collection_end()?;
            let span = name.span.to(end);
            return Ok(TypeExpr { kind: TypeExprKind::Sequence(element.into()), span });
        }
        if !self.is_symbol("(") {
            return Ok(TypeExpr { kind: TypeExprKind::Name(name.name), span: name.span });
        }
        let (arguments, end) = self.bracketed("(", ")", |parser| {
            let mut arguments = vec![parser.type_component()?];
            while parser.eat_symbol(",").is_some() {
                arguments.push(parser.type_component()?);
            }
            Ok(arguments)
        })?;
        let span = name.span.to(end);
        Ok(TypeExpr { kind: TypeExprKind::Apply(name, arguments), span })
    }

    /// `>`, also if two of them were read as one token.
    fn collection_end(&mut self) -> Result<crate::Span> {
        if self.is_symbol(">>") {
            let token = &mut self.tokens[self.at];
            let mut first = token.span;
            first.end = first.start + 1;
            token.span.start += 1;
            token.kind = TokenKind::Symbol(">");
            return Ok(first);
        }
        self.expect_symbol(">", "`>`")
    }
}
