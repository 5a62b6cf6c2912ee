// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The type of each expression.

use super::Inference;
use crate::ast;
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::typed::{ApplyToEach, Expr, ExprKind};
use crate::types::{Class, Type};

impl Inference<'_> {
    /// The typed form of an expression. Errors are reported; what has one fits everywhere.
    pub(super) fn infer(&mut self, expr: &ast::Expr) -> Expr {
        let span = expr.span;
        let constant = |kind, ty| Expr { kind, ty, span };
        match &expr.kind {
            ast::ExprKind::Int(value) => self.int(*value, span),
            ast::ExprKind::Float(value) => constant(ExprKind::Float(*value), Type::Float),
            ast::ExprKind::Bool(value) => constant(ExprKind::Bool(*value), Type::Bool),
            ast::ExprKind::Char(value) => constant(ExprKind::Char(*value), Type::Char),
            ast::ExprKind::String(value) => constant(ExprKind::String(value.clone()), Type::string()),
            ast::ExprKind::Name(name) => self.use_name(name, span),
            ast::ExprKind::Pair(a, b) => self.pair(a, b, span),
            ast::ExprKind::Call(function, argument) => self.call(function, argument, span),
            ast::ExprKind::Binary(op, place, a, b) => self.binary(*op, *place, a, b, span),
            ast::ExprKind::Prefix(op, place, a) => self.prefix(*op, *place, a, span),
            ast::ExprKind::Index(sequence, index) => self.index(sequence, index, span),
            ast::ExprKind::Range(start, end, stride) => self.range(start, end, stride.as_deref(), span),
            ast::ExprKind::Let(bindings, body) => self.let_in(bindings, body, span),
            ast::ExprKind::If(condition, yes, no) => self.conditional(condition, yes, no, span),
            ast::ExprKind::Lambda(pattern, body) => self.lambda(pattern, body, span),
            ast::ExprKind::Named(name, value) => self.misplaced_name(name, value),
            ast::ExprKind::Sequence(elements) => self.sequence(elements, span),
            ast::ExprKind::Empty(ty) => constant(ExprKind::Empty, Type::seq(self.written_type(ty))),
            ast::ExprKind::ApplyToEach(each) => self.apply_to_each(each, span),
            ast::ExprKind::With(types, body) => self.with_types(types, body),
        }
    }

    pub(super) fn int(&mut self, value: i64, span: Span) -> Expr {
        let value = i32::try_from(value).unwrap_or_else(|_| {
            let message = "the number is too large for `int`";
            let diagnostic = Diagnostic::error(message, span, "out of range");
            self.report(diagnostic.note("an int has 32 bits: from -2147483648 to 2147483647"));
            0
        });
        Expr { kind: ExprKind::Int(value), ty: Type::Int, span }
    }

    fn pair(&mut self, a: &ast::Expr, b: &ast::Expr, span: Span) -> Expr {
        let a = self.infer(a);
        let b = self.infer(b);
        let ty = Type::pair(a.ty.clone(), b.ty.clone());
        Expr { kind: ExprKind::Pair(a.into(), b.into()), ty, span }
    }

    fn misplaced_name(&mut self, name: &ast::Ident, value: &ast::Expr) -> Expr {
        self.infer(value);
        let message = "an argument can be passed by name only to a function with default values";
        let diagnostic = Diagnostic::error(message, name.span, "no parameter of such a function");
        self.report(diagnostic.help("the arguments of a call are `f(a, b, name := value)`"));
        self.unknown(name.span)
    }

    fn let_in(&mut self, bindings: &[ast::Binding], body: &ast::Expr, span: Span) -> Expr {
        let outer = self.scope.len();
        let mut typed = Vec::new();
        for binding in bindings {
            let value = self.infer_bounded(&binding.value);
            let mut bound = Vec::new();
            let pattern = self.pattern(&binding.pattern, &mut bound);
            if let Err(conflict) = self.unifier.unify(&pattern.ty, &value.ty, binding.value.span) {
                let diagnostic =
                    self.mismatch(value.span, &pattern.ty, &value.ty, &conflict, |wanted, got| {
                        format!("the pattern is for {wanted}, but the value is {got}")
                    });
                let diagnostic = self.label_instead(diagnostic, binding.pattern.span, "this pattern");
                self.report(diagnostic);
            }
            self.scope.extend(bound);
            typed.push((pattern, value));
        }
        let body = self.infer(body);
        self.scope.truncate(outer);
        let ty = body.ty.clone();
        Expr { kind: ExprKind::Let(typed, body.into()), ty, span }
    }

    /// An expression whose type is about to be bound to variables, so that it could double again.
    pub(super) fn infer_bounded(&mut self, expr: &ast::Expr) -> Expr {
        let typed = self.infer(expr);
        if self.check_size(&typed.ty, typed.span) { self.unknown(typed.span) } else { typed }
    }

    /// Reports a type that grew beyond all reason.
    pub(super) fn check_size(&mut self, ty: &Type, span: Span) -> bool {
        let too_large = self.unifier.is_too_large(ty);
        if too_large {
            let message = "the type is too large";
            let diagnostic = Diagnostic::error(message, span, "more than 2000 parts");
            self.report(diagnostic.note("each step makes the type some times larger"));
        }
        too_large
    }

    fn conditional(&mut self, condition: &ast::Expr, yes: &ast::Expr, no: &ast::Expr, span: Span) -> Expr {
        let typed_condition = self.infer(condition);
        if let Err(conflict) = self.unifier.unify(&Type::Bool, &typed_condition.ty, condition.span) {
            let diagnostic =
                self.mismatch(condition.span, &Type::Bool, &typed_condition.ty, &conflict, |_, got| {
                    format!("the condition of an `if` must be `bool`, but is {got}")
                });
            let diagnostic = self.explain_variable(diagnostic, condition, &typed_condition.ty);
            self.report(diagnostic);
        }
        let (yes_typed, no_typed) = (self.infer(yes), self.infer(no));
        let ty = yes_typed.ty.clone();
        if let Err(conflict) = self.unifier.unify(&ty, &no_typed.ty, no.span) {
            let (first, second) = (self.show(&ty), self.show(&no_typed.ty));
            let message = format!("the branches of an `if` must have one type, but are {first} and {second}");
            let mut diagnostic = Diagnostic::error(message, no.span, format!("this is {second}"))
                .label(yes.span, format!("this is {first}"));
            diagnostic = self.explain_variable(diagnostic, yes, &ty);
            diagnostic = self.explain_variable(diagnostic, no, &no_typed.ty);
            diagnostic = self.explain(diagnostic, &conflict);
            if matches!(no.kind, ast::ExprKind::Pair(..)) && !no.is_parenthesised() {
                diagnostic = diagnostic
                    .note("the `else` branch reaches as far as possible, commas included")
                    .help("put the `if` in parentheses");
            }
            let types = (&ty, &no_typed.ty);
            let diagnostic = self.suggest_conversion(diagnostic, types, Some(yes), Some(no));
            self.report(diagnostic);
        }
        Expr { kind: ExprKind::If(typed_condition.into(), yes_typed.into(), no_typed.into()), ty, span }
    }

    fn lambda(&mut self, pattern: &ast::Pattern, body: &ast::Expr, span: Span) -> Expr {
        let mut bound = Vec::new();
        let pattern = self.pattern(pattern, &mut bound);
        let body = self.with_locals(bound, |inference| inference.infer(body));
        let ty = Type::function(pattern.ty.clone(), body.ty.clone());
        Expr { kind: ExprKind::Lambda(pattern.into(), body.into()), ty, span }
    }

    fn sequence(&mut self, elements: &[ast::Expr], span: Span) -> Expr {
        let typed: Vec<Expr> = elements.iter().map(|element| self.infer(element)).collect();
        let element = typed[0].ty.clone();
        for (index, other) in typed.iter().enumerate().skip(1) {
            if let Err(conflict) = self.unifier.unify(&element, &other.ty, other.span) {
                let (first, second) = (self.show(&element), self.show(&other.ty));
                let message =
                    format!("the elements of a sequence must have one type, but are {first} and {second}");
                let mut diagnostic = Diagnostic::error(message, other.span, format!("this is {second}"))
                    .label(typed[0].span, format!("this is {first}"));
                diagnostic = self.explain_variable(diagnostic, &elements[0], &element);
                diagnostic = self.explain_variable(diagnostic, &elements[index], &other.ty);
                diagnostic = self.explain(diagnostic, &conflict);
                let (left, right) = (Some(&elements[0]), Some(&elements[index]));
                let diagnostic = self.suggest_conversion(diagnostic, (&element, &other.ty), left, right);
                self.report(diagnostic);
                break;
            }
        }
        Expr { kind: ExprKind::Sequence(typed), ty: Type::seq(element), span }
    }

    fn apply_to_each(&mut self, each: &ast::ApplyToEach, span: Span) -> Expr {
        let mut bound = Vec::new();
        let mut sources = Vec::new();
        for over in &each.sources {
            let source = match (&over.source, &over.pattern.kind) {
                (Some(source), _) => self.infer_bounded(source),
                (None, ast::PatternKind::Name(name)) => self.use_name(name, over.pattern.span),
                (None, _) => self.unknown(over.pattern.span),
            };
            let element = self.unifier.fresh(Class::Any);
            if let Err(conflict) = self.unifier.unify(&Type::seq(element.clone()), &source.ty, source.span) {
                let got = self.show(&source.ty);
                let message = format!("an apply-to-each goes over sequences, but this is {got}");
                let mut diagnostic = Diagnostic::error(message, source.span, "expected a sequence");
                if let Some(source) = &over.source {
                    diagnostic = self.explain_variable(diagnostic, source, &conflict.right);
                    if self.unifier.resolve(&conflict.right) == Type::Int {
                        let before = Span { end: source.span.start, ..source.span };
                        let changes = vec![(before, "[0:".into()), (source.span.after(), "]".into())];
                        diagnostic = diagnostic.suggest("for the numbers below it write a range", changes);
                    }
                }
                self.report(diagnostic);
            }
            let pattern = self.pattern(&over.pattern, &mut bound);
            if let Err(conflict) = self.unifier.unify(&pattern.ty, &element, source.span) {
                let diagnostic =
                    self.mismatch(pattern.span, &element, &pattern.ty, &conflict.flipped(), |wanted, got| {
                        format!("the elements are {wanted}, but the pattern is for {got}")
                    });
                let shown = self.show(&source.ty);
                let diagnostic = self.label_instead(diagnostic, source.span, &format!("this is {shown}"));
                self.report(diagnostic);
            }
            sources.push((pattern, source));
        }
        let outer = self.scope.len();
        self.scope.extend(bound);
        let filter = each.filter.as_ref().map(|filter| self.filter(filter));
        let body = match &each.body {
            Some(body) => self.infer(body),
            None => {
                let pattern = sources[0].0.clone();
                self.expression_of(&pattern)
            }
        };
        self.scope.truncate(outer);
        let ty = Type::seq(body.ty.clone());
        let each = ApplyToEach { serial: each.serial, body, sources, filter };
        Expr { kind: ExprKind::ApplyToEach(each.into()), ty, span }
    }

    fn filter(&mut self, filter: &ast::Expr) -> Expr {
        let typed = self.infer(filter);
        if let Err(conflict) = self.unifier.unify(&Type::Bool, &typed.ty, filter.span) {
            let diagnostic = self.mismatch(filter.span, &Type::Bool, &typed.ty, &conflict, |_, got| {
                format!("the condition of an apply-to-each must be `bool`, but is {got}")
            });
            let diagnostic = self.explain_variable(diagnostic, filter, &typed.ty);
            self.report(diagnostic);
        }
        typed
    }

    fn with_types(&mut self, types: &[(ast::Ident, ast::TypeExpr)], body: &ast::Expr) -> Expr {
        let outer = self.with.len();
        for (name, ty) in types {
            let ty = self.written_type(ty);
            self.with.push((name.name.clone(), ty));
        }
        let typed = self.infer(body);
        self.with.truncate(outer);
        typed
    }
}
