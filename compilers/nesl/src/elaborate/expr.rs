// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Expressions.

use super::statics::{Capture, Closure, Code, Lambda, Static};
use super::{Definition, Elaborated, Elaborator, Scope, unresolved};
use crate::core::{Each, Expr, Function, Pattern, Prim, Shape, analysis};
use crate::vcode::Kind;
use hadal_front::typed::{self, ExprKind, GlobalId};
use hadal_front::types::Type;
use hadal_front::{Diagnostic, Span};
use std::rc::Rc;

impl Elaborator<'_> {
    pub(super) fn expr(&mut self, expr: &typed::Expr, scope: &Scope) -> Elaborated {
        match &expr.kind {
            ExprKind::Int(value) => Ok((Expr::Int(*value), Static::Int)),
            ExprKind::Float(value) => Ok((Expr::Float(*value), Static::Float)),
            ExprKind::Bool(value) => Ok((Expr::Bool(*value), Static::Bool)),
            ExprKind::Char(value) => Ok((Expr::Char(*value), Static::Char)),
            ExprKind::String(bytes) => {
                Ok((Expr::Text(Rc::from(&**bytes)), Static::Seq(Rc::new(Static::Char))))
            }
            ExprKind::Local(id) => match scope.locals.get(id) {
                Some((var, known)) => Ok((Expr::Var(*var), known.clone())),
                None => Err(unresolved(expr.span)),
            },
            ExprKind::Global(id, instance) => {
                let types: Vec<Type> = instance.iter().map(|ty| ty.instantiate(&scope.types)).collect();
                self.global(*id, types, expr, scope)
            }
            ExprKind::Pair(a, b) => {
                let (a, first) = self.expr(a, scope)?;
                let (b, second) = self.expr(b, scope)?;
                Ok((Expr::Pair(Rc::new(a), Rc::new(b)), Static::Pair(Rc::new(first), Rc::new(second))))
            }
            ExprKind::Call(function, argument) => self.call(function, argument, expr.span, scope),
            ExprKind::Let(bindings, body) => {
                self.bindings += bindings.len();
                if self.bindings > super::MAX_BINDINGS {
                    return Err(Diagnostic::error(
                        "there are too many bindings in this function",
                        expr.span,
                        "",
                    )
                    .note(format!(
                        "at most {} `let` bindings can be around an expression",
                        super::MAX_BINDINGS
                    ))
                    .help("move some of them into functions of their own"));
                }
                let mut scope = scope.clone();
                let mut done = Vec::new();
                for (pattern, value) in bindings {
                    let (value, known) = self.expr(value, &scope)?;
                    done.push((self.pattern(pattern, &known, &mut scope), value));
                }
                let (body, known) = self.expr(body, &scope)?;
                self.bindings -= bindings.len();
                let body = done
                    .into_iter()
                    .rev()
                    .fold(body, |body, (pattern, value)| Expr::Let(pattern, Rc::new(value), Rc::new(body)));
                Ok((body, known))
            }
            ExprKind::If(condition, yes, no) => {
                let (condition, _) = self.expr(condition, scope)?;
                let (yes, known) = self.expr(yes, scope)?;
                let (no, other) = self.expr(no, scope)?;
                if known != other {
                    return Err(unresolved(expr.span));
                }
                Ok((Expr::If(Rc::new(condition), Rc::new(yes), Rc::new(no)), known))
            }
            ExprKind::Lambda(pattern, body) => Ok(self.lambda(expr, pattern, body, scope)),
            ExprKind::Sequence(elements) => {
                let mut done = Vec::new();
                let mut known: Option<Static> = None;
                for element in elements {
                    let (element, own) = self.expr(element, scope)?;
                    if known.as_ref().is_some_and(|known| *known != own) {
                        return Err(unresolved(expr.span));
                    }
                    known = Some(own);
                    done.push(element);
                }
                let known = known.unwrap_or(Static::Int);
                Ok((Expr::Sequence(done, known.shape()), Static::Seq(Rc::new(known))))
            }
            ExprKind::Empty => {
                let ty = expr.ty.instantiate(&scope.types);
                match Static::of(&ty) {
                    Some(Static::Seq(element)) => {
                        Ok((Expr::Sequence(Vec::new(), element.shape()), Static::Seq(element)))
                    }
                    _ => Err(unresolved(expr.span)),
                }
            }
            ExprKind::ApplyToEach(each) => self.apply_to_each(each, expr.span, scope),
            ExprKind::Time(body) => {
                let place = self.place(expr.span, scope);
                let (body, known) = self.expr(body, scope)?;
                let value = self.program.variable(known.shape());
                let seconds = self.program.variable(Shape::Float);
                let pair = Expr::Pair(Rc::new(Expr::Var(value)), Rc::new(Expr::Var(seconds)));
                let stop = Expr::Prim(Prim::StopTimer, Vec::new(), place);
                let inner = Expr::Let(Pattern::Var(seconds), Rc::new(stop), Rc::new(pair));
                let inner = Expr::Let(Pattern::Var(value), Rc::new(body), Rc::new(inner));
                let start = Expr::Prim(Prim::StartTimer, Vec::new(), place);
                Ok((
                    Expr::Let(Pattern::Ignore, Rc::new(start), Rc::new(inner)),
                    Static::Pair(Rc::new(known), Rc::new(Static::Float)),
                ))
            }
        }
    }

    /// A top-level name that is not called.
    fn global(&mut self, id: GlobalId, types: Vec<Type>, expr: &typed::Expr, scope: &Scope) -> Elaborated {
        match self.definitions.globals.get(&id) {
            Some(Definition::Value(_)) => match scope.values.get(&id) {
                Some((var, known)) => Ok((Expr::Var(*var), known.clone())),
                None => Err(unresolved(expr.span)),
            },
            Some(Definition::Constant(value)) => {
                let value = Rc::clone(value);
                let inner = Scope {
                    values: scope.values.clone(),
                    types: types.into(),
                    function: Rc::clone(&scope.function),
                    ..Scope::default()
                };
                self.expr(&value, &inner)
            }
            Some(Definition::Primitive(name)) if !matches!(expr.ty, Type::Function(..)) => {
                let name = name.clone();
                self.primitive_constant(&name, expr.span)
            }
            Some(_) => {
                let used = self.values_of_function(id);
                let captures = self.captured(used.iter().map(|id| Capture::Value(*id)).collect(), scope);
                let value = captured_value(&captures, scope);
                let closure = Closure { code: Code::Global(id, types), captures };
                Ok((value, Static::Function(Rc::new(closure))))
            }
            None => {
                Err(Diagnostic::error("this function is declared, but not defined", expr.span, "used here"))
            }
        }
    }

    fn captured(&self, all: Vec<Capture>, scope: &Scope) -> Vec<(Capture, Static)> {
        all.into_iter()
            .filter_map(|capture| {
                let known = match capture {
                    Capture::Local(id) => scope.locals.get(&id),
                    Capture::Value(id) => scope.values.get(&id),
                };
                known.map(|(_, known)| (capture, known.clone()))
            })
            .collect()
    }

    fn lambda(
        &mut self,
        expr: &typed::Expr,
        pattern: &typed::Pattern,
        body: &typed::Expr,
        scope: &Scope,
    ) -> (Expr, Static) {
        let mut all: Vec<Capture> =
            expr.free_variables().into_iter().map(|(id, _)| Capture::Local(id)).collect();
        all.extend(self.values_used(body).into_iter().map(Capture::Value));
        let captures = self.captured(all, scope);
        let value = captured_value(&captures, scope);
        let lambda = Lambda {
            span: expr.span,
            types: scope.types.to_vec(),
            owner: scope.function.to_string(),
            pattern: pattern.clone(),
            body: body.clone(),
        };
        let closure = Closure { code: Code::Lambda(Rc::new(lambda)), captures };
        (value, Static::Function(Rc::new(closure)))
    }

    fn apply_to_each(&mut self, each: &typed::ApplyToEach, span: Span, scope: &Scope) -> Elaborated {
        let place = self.place(span, scope);
        let mut inner = scope.clone();
        let mut sources = Vec::new();
        for (pattern, source) in &each.sources {
            let (value, known) = self.expr(source, scope)?;
            let Static::Seq(element) = known else { return Err(unresolved(source.span)) };
            sources.push((self.pattern(pattern, &element, &mut inner), value));
        }
        let filter = match &each.filter {
            Some(filter) => Some(self.expr(filter, &inner)?.0),
            None => None,
        };
        let (body, known) = self.expr(&each.body, &inner)?;
        let shape = known.shape();
        let result = Static::Seq(Rc::new(known));
        let core = Each { sources, filter, body, place };
        let core = if each.serial { self.serial_each(core, shape, scope) } else { Expr::Each(Rc::new(core)) };
        Ok((core, result))
    }

    /// `{* body : sources | filter}`: a function that halves the sequence, so that elements are visited in order.
    fn serial_each(&mut self, each: Each, shape: Shape, scope: &Scope) -> Expr {
        let place = each.place;
        let mut variables = Vec::new();
        for (pattern, _) in &each.sources {
            pattern.variables(&mut variables);
        }
        let free = analysis::free_variables(&each.body)
            .into_iter()
            .filter(|var| !variables.contains(var))
            .collect::<Vec<_>>();
        // The elements that pass, as one sequence of tuples.
        let tuple = variables.iter().rev().fold(Expr::Unit, |rest, var| match rest {
            Expr::Unit => Expr::Var(*var),
            rest => Expr::Pair(Rc::new(Expr::Var(*var)), Rc::new(rest)),
        });
        let pattern = variables.iter().rev().fold(Pattern::Ignore, |rest, var| match rest {
            Pattern::Ignore => Pattern::Var(*var),
            rest => Pattern::Pair(Box::new(Pattern::Var(*var)), Box::new(rest)),
        });
        let element_shape = analysis::shape_of(&tuple, &self.program);
        let elements =
            Expr::Each(Rc::new(Each { sources: each.sources, filter: each.filter, body: tuple, place }));
        let sequence = self.program.variable(Shape::seq(element_shape.clone()));
        let (low, high) = (self.program.variable(Shape::Int), self.program.variable(Shape::Int));
        let middle = self.program.variable(Shape::Int);
        let whole = self.program.variable(Shape::seq(element_shape));
        let int = |name: &'static str, a: Expr, b: Expr, result: Shape| {
            Expr::Prim(Prim::Element(name, Some(Kind::Int), result), vec![a, b], place)
        };
        let id = self.program.functions.len();
        let call = |from: Expr, to: Expr| {
            let mut args = vec![Expr::Var(sequence), from, to];
            args.extend(free.iter().map(|var| Expr::Var(*var)));
            Expr::Call(id, args, place)
        };
        let one = Expr::Let(
            pattern,
            Rc::new(Expr::Prim(Prim::Elt, vec![Expr::Var(sequence), Expr::Var(low)], place)),
            Rc::new(Expr::Sequence(vec![each.body], shape.clone())),
        );
        let halves = Expr::Let(
            Pattern::Var(middle),
            Rc::new(Expr::Prim(
                Prim::Divide("/", "Divide by zero."),
                vec![int("+", Expr::Var(low), Expr::Var(high), Shape::Int), Expr::Int(2)],
                place,
            )),
            Rc::new(Expr::Prim(
                Prim::Append,
                vec![call(Expr::Var(low), Expr::Var(middle)), call(Expr::Var(middle), Expr::Var(high))],
                place,
            )),
        );
        let single =
            int("=", int("-", Expr::Var(high), Expr::Var(low), Shape::Int), Expr::Int(1), Shape::Bool);
        let body = Expr::If(Rc::new(single), Rc::new(one), Rc::new(halves));
        let mut params = vec![sequence, low, high];
        params.extend(free.iter().copied());
        self.add(Function {
            name: format!("{}-serial", scope.function),
            params,
            result: Shape::seq(shape.clone()),
            body: Rc::new(body),
            file: String::new(),
            line: 0,
        });
        let length = Expr::Prim(Prim::Length, vec![Expr::Var(whole)], place);
        let mut args = vec![Expr::Var(whole), Expr::Int(0), length.clone()];
        args.extend(free.iter().map(|var| Expr::Var(*var)));
        Expr::Let(
            Pattern::Var(whole),
            Rc::new(elements),
            Rc::new(Expr::If(
                Rc::new(int("=", length, Expr::Int(0), Shape::Bool)),
                Rc::new(Expr::Sequence(Vec::new(), shape)),
                Rc::new(Expr::Call(id, args, place)),
            )),
        )
    }
}

/// The captured variables as one value.
pub(super) fn captured_value(captures: &[(Capture, Static)], scope: &Scope) -> Expr {
    captures.iter().rev().fold(Expr::Unit, |rest, (capture, _)| {
        let found = match capture {
            Capture::Local(id) => scope.locals.get(id),
            Capture::Value(id) => scope.values.get(id),
        };
        let own = found.map_or(Expr::Unit, |(var, _)| Expr::Var(*var));
        match rest {
            Expr::Unit => own,
            rest => Expr::Pair(Rc::new(own), Rc::new(rest)),
        }
    })
}
