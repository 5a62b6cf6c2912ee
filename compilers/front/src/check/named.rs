// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Calls of functions with default values: arguments by place and by name.

use std::collections::HashMap;

use super::Inference;
use super::call::callee;
use super::names::nearest;
use crate::ast;
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::typed::{BindingId, Expr, ExprKind, Parameter};
use crate::types::{Class, Type};

impl Inference<'_> {
    /// A call of a function some of whose parameters have a default.
    pub(super) fn call_with_defaults(
        &mut self,
        function: &ast::Expr,
        parameters: &[Parameter],
        argument: &ast::Expr,
        span: Span,
    ) -> Expr {
        let f = self.infer(function);
        let ExprKind::Global(_, instance) = f.kind.clone() else { return self.unknown(span) };
        let callee = callee(function);
        let mut given: Vec<Option<&ast::Expr>> = vec![None; parameters.len()];
        let mut position = 0;
        let mut rest = Some(argument);
        while let Some(next) = rest {
            let part = match &next.kind {
                ast::ExprKind::Pair(a, b)
                    if position + 1 < parameters.len() || is_named(a) || is_named(b) =>
                {
                    rest = Some(b);
                    &**a
                }
                _ => {
                    rest = None;
                    next
                }
            };
            let (place, value, at) = match &part.kind {
                ast::ExprKind::Named(name, value) => {
                    let found =
                        parameters.iter().position(|parameter| parameter.name.as_ref() == Some(&name.name));
                    (found, &**value, name.span)
                }
                _ => {
                    position += 1;
                    (Some(position - 1), part, part.span)
                }
            };
            match place.and_then(|place| given.get_mut(place)) {
                Some(slot @ None) => *slot = Some(value),
                Some(Some(_)) => {
                    let message = format!("an argument of {callee} is given twice");
                    self.report(Diagnostic::error(message, at, "given a second time"));
                }
                None => {
                    let known: Vec<String> = parameters
                        .iter()
                        .filter_map(|parameter| parameter.name.as_ref().map(|name| format!("`{name}`")))
                        .collect();
                    let message = format!("{callee} has no such parameter");
                    let mut diagnostic = Diagnostic::error(message, at, "no parameter for this argument")
                        .note(format!("its parameters are {}", known.join(", ")));
                    if let ast::ExprKind::Named(name, _) = &part.kind
                        && let Some(near) = nearest(&name.name, parameters.iter().flat_map(|one| &one.name))
                    {
                        diagnostic = diagnostic
                            .suggest("a parameter has a similar name", vec![(at, near.to_string())]);
                    }
                    self.report(diagnostic);
                }
            }
        }
        let mut arguments = Vec::new();
        for (index, (parameter, value)) in parameters.iter().zip(given).enumerate() {
            let expected = parameter.ty.instantiate(&instance);
            let named = parameter.name.as_ref().map(|name| format!("`{name}`"));
            let named = named.unwrap_or_else(|| (index + 1).to_string());
            arguments.push(match (value, &parameter.default) {
                (Some(value), _) => {
                    let typed = self.infer(value);
                    if let Err(conflict) = self.unifier.unify(&expected, &typed.ty, value.span) {
                        let which = format!("argument {named}");
                        let place = (value, value.span);
                        self.wrong_argument(function, &which, place, &expected, &typed.ty, &conflict);
                    }
                    typed
                }
                (None, Some(default)) => self.copy(default, &instance),
                (None, None) => {
                    let message = format!("the argument {named} of {callee} is missing");
                    let diagnostic =
                        Diagnostic::error(message, argument.span, format!("no argument for {named}"));
                    let diagnostic = self.describe_function(diagnostic, function);
                    self.report(diagnostic);
                    self.unknown(argument.span)
                }
            });
        }
        let result = match self.unifier.resolve(&f.ty) {
            Type::Function(_, result) => (*result).clone(),
            _ => self.unifier.fresh(Class::Any),
        };
        let tuple = arguments.into_iter().rev().reduce(|rest, first| {
            let ty = Type::pair(first.ty.clone(), rest.ty.clone());
            Expr { kind: ExprKind::Pair(first.into(), rest.into()), ty, span: argument.span }
        });
        match tuple {
            Some(tuple) if !self.check_size(&result, span) => {
                Expr { kind: ExprKind::Call(f.into(), tuple.into()), ty: result, span }
            }
            _ => self.unknown(span),
        }
    }

    /// A default value for one call: with the types of the call, and variables of its own.
    fn copy(&mut self, default: &Expr, instance: &[Type]) -> Expr {
        let mut renamed = HashMap::new();
        let count = &mut self.binding_count;
        default.map(&mut |ty| ty.instantiate(instance), &mut |id| {
            *renamed.entry(id).or_insert_with(|| {
                *count += 1;
                BindingId(*count - 1)
            })
        })
    }
}

fn is_named(expr: &ast::Expr) -> bool {
    match &expr.kind {
        ast::ExprKind::Named(..) => true,
        ast::ExprKind::Pair(a, b) => is_named(a) || is_named(b),
        _ => false,
    }
}
