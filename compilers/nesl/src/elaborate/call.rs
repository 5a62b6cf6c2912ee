// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Calls: which function, which instance, and its arguments one per variable of its parameters.

use super::statics::{Closure, Code, Static};
use super::{Definition, Elaborated, Elaborator, Key, PendingBody, Scope, unresolved};
use crate::core::{Expr, Pattern, Prim};
use crate::vcode::Kind;
use hadal_front::typed::{self, ExprKind, PatternKind};
use hadal_front::types::Type;
use hadal_front::{Diagnostic, Span};
use std::rc::Rc;

impl Elaborator<'_> {
    pub(super) fn call(
        &mut self,
        function: &typed::Expr,
        argument: &typed::Expr,
        span: Span,
        scope: &Scope,
    ) -> Elaborated {
        if let ExprKind::Global(id, instance) = &function.kind {
            let types: Vec<Type> = instance.iter().map(|ty| ty.instantiate(&scope.types)).collect();
            match self.definitions.globals.get(id) {
                Some(Definition::Primitive(name)) => {
                    let name = name.clone();
                    let argument = self.expr(argument, scope)?;
                    return self.primitive(&name, &types, argument, span, scope);
                }
                Some(Definition::Function(callee)) => {
                    let callee = Rc::clone(callee);
                    let (argument, known) = self.expr(argument, scope)?;
                    if self.definitions.library.get("^") == Some(id)
                        && let Some(power) = self.small_power(&argument, &known, span, scope)
                    {
                        return Ok(power);
                    }
                    let (instance, result) = self.instance(*id, &callee, &types, &known, span)?;
                    let used = self.values_of_function(*id);
                    let mut args = Vec::new();
                    for value in used.iter() {
                        args.push(match scope.values.get(value) {
                            Some((var, _)) => Expr::Var(*var),
                            None => return Err(unresolved(span)),
                        });
                    }
                    let place = self.place(span, scope);
                    let call = self.with_parts(&callee.pattern, argument, &known, args, &|args| {
                        Expr::Call(instance, args, place)
                    });
                    return Ok((call, result));
                }
                Some(Definition::Constructor(name)) => {
                    let name = name.clone();
                    let (argument, known) = self.expr(argument, scope)?;
                    return Ok((argument, Static::Data(name, Rc::new(known))));
                }
                _ => {}
            }
        }
        let (value, known) = self.expr(function, scope)?;
        let Static::Function(closure) = known else { return Err(unresolved(function.span)) };
        let argument = self.expr(argument, scope)?;
        self.apply(&closure, value, argument, span, scope)
    }

    /// `x ^ n` for a small constant n: a few multiplications.
    fn small_power(
        &mut self,
        argument: &Expr,
        known: &Static,
        span: Span,
        scope: &Scope,
    ) -> Option<(Expr, Static)> {
        let (Expr::Pair(x, n), Static::Pair(number, _)) = (argument, known) else { return None };
        let Expr::Int(n @ 1..=8) = **n else { return None };
        let place = self.place(span, scope);
        let kind = if **number == Static::Float { Kind::Float } else { Kind::Int };
        let base = self.program.variable(number.shape());
        let times =
            |a: Expr, b: Expr| Expr::Prim(Prim::Element("*", Some(kind), number.shape()), vec![a, b], place);
        // Equal products are computed once: flattening shares them.
        let square = times(Expr::Var(base), Expr::Var(base));
        let body = match n {
            1 => Expr::Var(base),
            2 => square,
            3 => times(Expr::Var(base), square),
            4 => times(square.clone(), square),
            n => {
                let fourth = times(square.clone(), square);
                (4..n).fold(fourth, |product, _| times(product, Expr::Var(base)))
            }
        };
        let body = Expr::Let(Pattern::Var(base), Rc::clone(x), Rc::new(body));
        Some((body, (**number).clone()))
    }

    /// A call of a function value, whose captured variables are `value`.
    pub(super) fn apply(
        &mut self,
        closure: &Rc<Closure>,
        value: Expr,
        argument: (Expr, Static),
        span: Span,
        scope: &Scope,
    ) -> Elaborated {
        let place = self.place(span, scope);
        // The captured variables, taken out of the value.
        let vars: Vec<_> =
            closure.captures.iter().map(|(_, known)| self.program.variable(known.shape())).collect();
        let pattern = vars.iter().rev().fold(Pattern::Ignore, |rest, var| match rest {
            Pattern::Ignore => Pattern::Var(*var),
            rest => Pattern::Pair(Box::new(Pattern::Var(*var)), Box::new(rest)),
        });
        let bind = |body: Expr| match pattern {
            Pattern::Ignore => body,
            pattern => Expr::Let(pattern, Rc::new(value), Rc::new(body)),
        };
        let args: Vec<Expr> = vars.iter().map(|var| Expr::Var(*var)).collect();
        match &closure.code {
            Code::Lambda(lambda) => {
                let result = match lambda.body.ty.instantiate(&lambda.types) {
                    ty if ty.has_function() => Type::function(Type::Int, Type::Int),
                    ty => ty,
                };
                let key = Key::Lambda(Rc::clone(closure), argument.1.clone());
                let body = PendingBody::Lambda(Rc::clone(closure), argument.1.clone());
                let (file, line) = self.file_line(lambda.span);
                let origin = (lambda.owner.clone(), file, line);
                let (id, known) = self.instantiate(key, &result, body, origin, span)?;
                let call = self.with_parts(&lambda.pattern, argument.0, &argument.1, args, &|args| {
                    Expr::Call(id, args, place)
                });
                Ok((bind(call), known))
            }
            Code::Global(id, types) => match self.definitions.globals.get(id) {
                Some(Definition::Primitive(name)) => {
                    let name = name.clone();
                    self.primitive(&name, types, argument, span, scope)
                }
                Some(Definition::Constructor(name)) => {
                    Ok((argument.0, Static::Data(name.clone(), Rc::new(argument.1))))
                }
                Some(Definition::Function(callee)) => {
                    let callee = Rc::clone(callee);
                    let (instance, known) = self.instance(*id, &callee, types, &argument.1, span)?;
                    let call = self.with_parts(&callee.pattern, argument.0, &argument.1, args, &|args| {
                        Expr::Call(instance, args, place)
                    });
                    Ok((bind(call), known))
                }
                _ => Err(unresolved(span)),
            },
        }
    }

    /// `make` of `args` and the parts of an argument, one for each variable of the callee's parameters.
    fn with_parts(
        &mut self,
        pattern: &typed::Pattern,
        argument: Expr,
        known: &Static,
        mut args: Vec<Expr>,
        make: &dyn Fn(Vec<Expr>) -> Expr,
    ) -> Expr {
        let mut lets = Vec::new();
        self.parts(pattern, argument, known, &mut args, &mut lets);
        lets.into_iter()
            .rev()
            .fold(make(args), |body, (pattern, value)| Expr::Let(pattern, Rc::new(value), Rc::new(body)))
    }

    fn parts(
        &mut self,
        pattern: &typed::Pattern,
        argument: Expr,
        known: &Static,
        args: &mut Vec<Expr>,
        lets: &mut Vec<(Pattern, Expr)>,
    ) {
        match (&pattern.kind, argument) {
            (PatternKind::Bind(..), argument) => args.push(argument),
            (PatternKind::Data(_, content), argument) => {
                let inner = match known {
                    Static::Data(_, inner) => (**inner).clone(),
                    other => other.clone(),
                };
                self.parts(content, argument, &inner, args, lets);
            }
            (PatternKind::Pair(a, b), argument) => {
                let Some((first, second)) = known.parts() else { return };
                let (x, y) = match argument {
                    Expr::Pair(x, y) => ((*x).clone(), (*y).clone()),
                    other => {
                        let x = self.program.variable(first.shape());
                        let y = self.program.variable(second.shape());
                        let pattern = Pattern::Pair(Box::new(Pattern::Var(x)), Box::new(Pattern::Var(y)));
                        lets.push((pattern, other));
                        (Expr::Var(x), Expr::Var(y))
                    }
                };
                self.parts(a, x, &first, args, lets);
                self.parts(b, y, &second, args, lets);
            }
        }
    }

    /// A call of a library function by its name.
    pub(super) fn library_call(
        &mut self,
        name: &str,
        types: &[Type],
        argument: (Expr, Static),
        span: Span,
        scope: &Scope,
    ) -> Elaborated {
        let found = self.definitions.library.get(name).copied();
        match found.and_then(|id| self.definitions.globals.get(&id).map(|d| (id, d.clone()))) {
            Some((id, Definition::Function(_) | Definition::Primitive(_))) => {
                let closure = Closure { code: Code::Global(id, types.to_vec()), captures: Vec::new() };
                self.apply(&Rc::new(closure), Expr::Unit, argument, span, scope)
            }
            _ => Err(Diagnostic::error(format!("the library has no function {name}"), span, "")),
        }
    }
}
