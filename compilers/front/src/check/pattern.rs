// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Patterns and the variables that they bind.

use super::{Inference, Local};
use crate::ast::{self, Name};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::typed::{BindingId, ExprKind, Pattern, PatternKind};
use crate::types::{Class, Type};

impl Inference<'_> {
    /// The type of a pattern, and its variables, which are not in scope yet.
    pub(super) fn pattern(&mut self, pattern: &ast::Pattern, bound: &mut Vec<Local>) -> Pattern {
        let span = pattern.span;
        match &pattern.kind {
            ast::PatternKind::Name(name) => self.bind(name, span, bound),
            ast::PatternKind::Default(name, _) => self.bind(&name.name, name.span, bound),
            ast::PatternKind::Pair(a, b) => {
                let a = self.pattern(a, bound);
                let b = self.pattern(b, bound);
                let ty = Type::pair(a.ty.clone(), b.ty.clone());
                Pattern { kind: PatternKind::Pair(a.into(), b.into()), ty, span }
            }
            ast::PatternKind::Data(name, content) => {
                let datatype = self.constructor(name);
                let content = self.pattern(content, bound);
                let Some(datatype) = datatype else {
                    return Pattern { ty: self.unifier.error(), ..content };
                };
                let arguments: Vec<Type> =
                    datatype.params.iter().map(|(_, class)| self.unifier.fresh(*class)).collect();
                let expected = datatype.content.instantiate(&arguments);
                if let Err(conflict) = self.unifier.unify(&expected, &content.ty, content.span) {
                    let diagnostic =
                        self.mismatch(content.span, &expected, &content.ty, &conflict, |wanted, got| {
                            format!("`{}` holds {wanted}, but the pattern is for {got}", name.name)
                        });
                    self.report(diagnostic);
                }
                let ty = Type::Data(datatype.clone(), arguments.into());
                Pattern { kind: PatternKind::Data(datatype, content.into()), ty, span }
            }
        }
    }

    fn bind(&mut self, name: &Name, span: Span, bound: &mut Vec<Local>) -> Pattern {
        if let Some(other) = bound.iter().find(|other| other.name == *name && &**name != "_") {
            let diagnostic = Diagnostic::error(
                format!("`{name}` is bound twice in one pattern"),
                span,
                "bound a second time here",
            );
            let diagnostic = diagnostic.label(other.span, "bound here first");
            self.report(diagnostic);
        }
        let ty = self.unifier.fresh(Class::Any);
        let declared = self.with.iter().rev().find(|(known, _)| known == name).map(|(_, ty)| ty.clone());
        if let Some(declared) = declared.or_else(|| self.environment.declared.get(name).cloned()) {
            // A new unknown type takes any type.
            let _ = self.unifier.unify(&ty, &declared, span);
        }
        let id = BindingId(self.binding_count);
        self.binding_count += 1;
        bound.push(Local { name: name.clone(), id, ty: ty.clone(), span });
        Pattern { kind: PatternKind::Bind(id, name.clone()), ty, span }
    }

    /// Runs `inside` with variables in scope.
    pub(super) fn with_locals<T>(&mut self, bound: Vec<Local>, inside: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.scope.len();
        self.scope.extend(bound);
        let value = inside(self);
        self.scope.truncate(outer);
        value
    }

    /// What a pattern matched, as an expression.
    pub(super) fn expression_of(&mut self, pattern: &Pattern) -> crate::typed::Expr {
        let kind = match &pattern.kind {
            PatternKind::Bind(id, _) => ExprKind::Local(*id),
            PatternKind::Pair(a, b) => {
                ExprKind::Pair(self.expression_of(a).into(), self.expression_of(b).into())
            }
            PatternKind::Data(datatype, content) => {
                let Some(global) = self.environment.globals.iter().find(|global| {
                    matches!(&global.kind, crate::typed::GlobalKind::Constructor(own) if own == datatype)
                }) else {
                    return self.unknown(pattern.span);
                };
                let (id, scheme) = (global.id, global.scheme.clone());
                let constructor = self.use_global(id, &scheme, pattern.span);
                let content = self.expression_of(content);
                if let Type::Function(argument, result) = &constructor.ty {
                    // Both are instances of the same scheme, made for the same pattern.
                    let _ = self.unifier.unify(argument, &content.ty, pattern.span);
                    let _ = self.unifier.unify(result, &pattern.ty, pattern.span);
                }
                ExprKind::Call(constructor.into(), content.into())
            }
        };
        crate::typed::Expr { kind, ty: pattern.ty.clone(), span: pattern.span }
    }
}
