// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Calls, and what is wrong with their arguments.

use super::Inference;
use super::unify::{Conflict, Reason};
use crate::ast;
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::typed::{Expr, ExprKind};
use crate::types::{Class, Type};

impl Inference<'_> {
    pub(super) fn call(&mut self, function: &ast::Expr, argument: &ast::Expr, span: Span) -> Expr {
        if let ast::ExprKind::Name(name) = &function.kind
            && self.local(name).is_none()
        {
            if &**name == "time" && self.environment.lookup(name).is_none() && !self.is_own(name) {
                let value = self.infer(argument);
                let ty = Type::pair(value.ty.clone(), Type::Float);
                return Expr { kind: ExprKind::Time(value.into()), ty, span };
            }
            let parameters = match self.is_own(name) {
                true => self.own_parameters.clone(),
                false => self.environment.lookup(name).and_then(|global| global.parameters.clone()),
            };
            if let Some(parameters) = parameters
                && !self.environment.failed.contains_key(name)
            {
                return self.call_with_defaults(function, &parameters, argument, span);
            }
        }
        let f = self.infer(function);
        let a = self.infer(argument);
        let result = match self.unifier.resolve(&f.ty) {
            Type::Function(parameter, result) => {
                let errors = self.diagnostics.len();
                self.arguments(function, &parameter, argument, &a);
                if self.diagnostics.len() > errors || self.unifier.has_error(&a.ty) {
                    return self.after_error(&result, span);
                }
                (*result).clone()
            }
            _ => {
                if self.unifier.has_error(&f.ty) || self.unifier.has_error(&a.ty) {
                    return self.unknown(span);
                }
                let result = self.unifier.fresh(Class::Any);
                let needed = Type::function(a.ty.clone(), result.clone());
                if let Err(conflict) = self.unifier.unify(&f.ty, &needed, span) {
                    self.not_a_function(function, argument, &f.ty, &conflict);
                }
                result
            }
        };
        if self.check_size(&result, span) {
            return self.unknown(span);
        }
        Expr { kind: ExprKind::Call(f.into(), a.into()), ty: result, span }
    }

    fn is_own(&self, name: &str) -> bool {
        self.own.as_ref().is_some_and(|(own, ..)| &**own == name)
    }

    fn not_a_function(&mut self, function: &ast::Expr, argument: &ast::Expr, ty: &Type, conflict: &Conflict) {
        let shown = self.show(ty);
        if conflict.reason == Reason::Infinite {
            let diagnostic = Diagnostic::error(
                "the function of this call would have to take itself",
                function.span,
                "this function",
            );
            let diagnostic = diagnostic.label(argument.inner_span(), "takes this argument");
            return self.report(diagnostic.note("its type would contain itself, without end"));
        }
        let mut diagnostic = Diagnostic::error(
            format!("only a function can be called, but this is {shown}"),
            function.span,
            format!("this is {shown}"),
        )
        .label(argument.span, "used as the argument of a call");
        diagnostic = self.explain_variable(diagnostic, function, ty);
        diagnostic = self.explain(diagnostic, conflict);
        let is_number = Class::Number.has(&self.unifier.resolve(ty));
        if is_number {
            diagnostic = diagnostic.help("a product needs its operator `*`");
        }
        if !matches!(argument.kind, ast::ExprKind::Pair(..)) {
            diagnostic = diagnostic.help("is an operator, a comma or a `;` missing between the two?");
        }
        self.report(diagnostic);
    }

    /// Fits the argument of a call to the type of the parameters, part by part.
    fn arguments(&mut self, function: &ast::Expr, parameter: &Type, argument: &ast::Expr, typed: &Expr) {
        let mut parts = vec![(argument, typed)];
        while let Some((ast, typed)) = parts.last().copied()
            && let (ast::ExprKind::Pair(a, b), ExprKind::Pair(x, y)) = (&ast.kind, &typed.kind)
        {
            parts.pop();
            parts.extend([(&**a, &**x), (&**b, &**y)]);
        }
        let mut expected = vec![parameter.clone()];
        while let Some(Type::Pair(a, b)) = expected.last().map(|last| self.unifier.resolve(last)) {
            expected.pop();
            expected.extend([(*a).clone(), (*b).clone()]);
        }
        let last_given = self.unifier.resolve(&parts[parts.len() - 1].1.ty);
        let last_expected = self.unifier.resolve(&expected[expected.len() - 1]);
        let too_many = parts.len() > expected.len() && !self.may_be_tuple(&last_expected);
        let too_few = parts.len() < expected.len() && !matches!(last_given, Type::Var(_) | Type::Pair(..));
        if too_many || too_few {
            return self.wrong_count(function, argument, expected.len(), parts.len());
        }
        // What is left on the longer side belongs to the last part of the shorter.
        let count = parts.len().min(expected.len());
        let rest = Type::tuple(expected.split_off(count - 1));
        expected.push(rest);
        let is_single = count == 1;
        for (index, expected) in expected.iter().enumerate() {
            let is_last = index + 1 == count;
            let (ast, found, at) = match is_last {
                false => (parts[index].0, parts[index].1.ty.clone(), parts[index].0.span),
                true => {
                    let types = parts[index..].iter().map(|(_, typed)| typed.ty.clone()).collect();
                    (parts[index].0, Type::tuple(types), parts[index].0.span.to(argument_end(&parts)))
                }
            };
            let at = if is_single { argument.inner_span() } else { at };
            if let Err(conflict) = self.unifier.unify(expected, &found, at) {
                let which = if is_single { "the argument".into() } else { format!("argument {}", index + 1) };
                self.wrong_argument(function, &which, (ast, at), expected, &found, &conflict);
            }
        }
    }

    /// Whether an argument of this type may have parts: of a datatype it may, to say how it is made.
    fn may_be_tuple(&self, ty: &Type) -> bool {
        match ty {
            Type::Var(_) => self.unifier.class(ty) == Class::Any,
            Type::Data(datatype, _) => matches!(datatype.content, Type::Pair(..)),
            _ => false,
        }
    }

    pub(super) fn wrong_argument(
        &mut self,
        function: &ast::Expr,
        which: &str,
        (argument, at): (&ast::Expr, Span),
        expected: &Type,
        found: &Type,
        conflict: &Conflict,
    ) {
        let callee = callee(function);
        let mut diagnostic = self.mismatch(at, expected, found, conflict, |wanted, got| {
            format!("{which} of {callee} must be {wanted}, but is {got}")
        });
        diagnostic = self.explain_variable(diagnostic, argument, found);
        diagnostic = self.suggest_conversion(diagnostic, (expected, found), None, Some(argument));
        match (self.unifier.resolve(expected), self.unifier.resolve(found)) {
            (wanted, Type::Function(..)) if !matches!(wanted, Type::Function(..)) => {
                diagnostic = diagnostic.help("this is a function: is its argument missing?");
            }
            (Type::Data(datatype, _), got) if !matches!(got, Type::Data(..)) => {
                diagnostic = diagnostic.help(format!("`{}(...)` makes one", datatype.name));
            }
            (wanted, got) if self.unifier.zonk(&wanted) == Type::string() && Class::Scalar.has(&got) => {
                diagnostic = diagnostic.help("`@x` is the text of a value `x`");
            }
            _ => {}
        }
        if let ast::ExprKind::Name(name) = &function.kind {
            if self.local(name).is_some() && self.unifier.origin(&conflict.left).is_some() {
                let note = format!("`{name}` is not bound at top level, so it has one type for all its uses");
                diagnostic = diagnostic.note(note);
            } else if self.local(name).is_none() && self.is_own(name) {
                diagnostic = diagnostic.note("in its own body a function has one type for all its uses");
            }
        }
        let diagnostic = self.describe_function(diagnostic, function);
        self.report(diagnostic);
    }

    fn wrong_count(&mut self, function: &ast::Expr, argument: &ast::Expr, expected: usize, given: usize) {
        let plural = if expected == 1 { "" } else { "s" };
        let verb = if given == 1 { "is" } else { "are" };
        let diagnostic = Diagnostic::error(
            format!("{} takes {expected} argument{plural}, but {given} {verb} given", callee(function)),
            argument.inner_span(),
            format!("expected {expected} argument{plural}, found {given}"),
        );
        let diagnostic = self.describe_function(diagnostic, function);
        self.report(diagnostic);
    }

    /// Adds type and place of the function that is called.
    pub(super) fn describe_function(&self, diagnostic: Diagnostic, function: &ast::Expr) -> Diagnostic {
        let ast::ExprKind::Name(name) = &function.kind else { return diagnostic };
        if let Some(local) = self.local(name) {
            return match local.span.file == diagnostic.span().file {
                true => diagnostic.label(local.span, format!("`{name}` is bound here")),
                false => diagnostic,
            };
        }
        match self.environment.lookup(name) {
            Some(global) if !self.is_own(name) => {
                let diagnostic = match global.span.file == diagnostic.span().file {
                    true => diagnostic.label(global.span, format!("`{name}` is defined here")),
                    false => diagnostic,
                };
                diagnostic.note(format!("the type is `{name} : {}`", global.scheme))
            }
            _ => diagnostic,
        }
    }
}

/// The function of a call, in words.
pub(super) fn callee(function: &ast::Expr) -> String {
    match &function.kind {
        ast::ExprKind::Name(name) => format!("`{name}`"),
        _ => "this function".into(),
    }
}

fn argument_end(parts: &[(&ast::Expr, &Expr)]) -> Span {
    parts[parts.len() - 1].0.span
}
