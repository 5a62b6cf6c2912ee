// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Functions that go by the structure of their operand's type: `@`, `eql`, `identity`, and the hash code. One core
//! function is made per type.

use super::primitive::{text, with_lets};
use super::statics::{Closure, Static};
use super::{Elaborated, Elaborator, Key, Scope, unresolved};
use crate::core::prim::Combine;
use crate::core::{Each, Expr, Function, FunctionId, Pattern, Prim, Shape};
use crate::vcode::Kind;
use hadal_front::{Diagnostic, Span};
use std::rc::Rc;

/// Makes a function's body of its parameters.
type MakeBody<'m, T> = &'m mut dyn FnMut(&mut T, &[Expr]) -> Result<Expr, Diagnostic>;

impl Elaborator<'_> {
    pub(super) fn generic(
        &mut self,
        name: &str,
        operands: Vec<(Expr, Static)>,
        span: Span,
        scope: &Scope,
        lets: Vec<(Pattern, Expr)>,
    ) -> Elaborated {
        let known = operands[0].1.clone();
        if operands.iter().any(|(_, other)| *other != known) {
            // Only functions make statics of one type differ: two functions are not the same.
            return Ok((with_lets(lets, Expr::Bool(false)), Static::Bool));
        }
        let mut args = operands.into_iter().map(|(arg, _)| arg);
        let (Some(first), second) = (args.next(), args.next()) else { return Err(unresolved(span)) };
        let (body, result) = match name {
            "@" => (self.text_of(first, &known, span, scope)?, text()),
            "eql" => {
                let second = second.unwrap_or(Expr::Unit);
                (self.equal(first, second, &known, span, scope)?, Static::Bool)
            }
            "identity" => (self.neutral(&known, span)?, known),
            _ => (self.hash(first, &known, span, scope)?, Static::Int),
        };
        Ok((with_lets(lets, body), result))
    }

    /// The neutral value of a type: zero, false, empty.
    pub(super) fn neutral(&self, known: &Static, span: Span) -> Result<Expr, Diagnostic> {
        Ok(match known {
            Static::Int => Expr::Int(0),
            Static::Float => Expr::Float(0.0),
            Static::Bool => Expr::Bool(false),
            Static::Char => Expr::Char(0),
            Static::Seq(element) => Expr::Sequence(Vec::new(), element.shape()),
            Static::Pair(a, b) => {
                Expr::Pair(Rc::new(self.neutral(a, span)?), Rc::new(self.neutral(b, span)?))
            }
            Static::Data(_, content) => self.neutral(content, span)?,
            Static::Function(_) => return Err(unresolved(span)),
        })
    }

    /// A function of one or two operands of a type, made on first use by `body`.
    fn by_type(
        &mut self,
        name: &'static str,
        known: &Static,
        operands: usize,
        result: Shape,
        body: MakeBody<'_, Self>,
    ) -> Result<FunctionId, Diagnostic> {
        let key = Key::Generic(name, known.clone());
        if let Some((id, _)) = self.instances.get(&key) {
            return Ok(*id);
        }
        let params: Vec<u32> = (0..operands).map(|_| self.program.variable(known.shape())).collect();
        let args: Vec<Expr> = params.iter().map(|var| Expr::Var(*var)).collect();
        let body = body(self, &args)?;
        let id = self.add(Function {
            name: name.to_owned(),
            params,
            result,
            body: Rc::new(body),
            file: String::new(),
            line: 0,
        });
        self.instances.insert(key, (id, Static::Int));
        Ok(id)
    }

    fn text_of(
        &mut self,
        value: Expr,
        known: &Static,
        span: Span,
        scope: &Scope,
    ) -> Result<Expr, Diagnostic> {
        let place = self.place(span, scope);
        let leaf = match known {
            Static::Int => "_int_text",
            Static::Float => "_float_text",
            Static::Bool => "_bool_text",
            Static::Char => "_char_text",
            _ => "",
        };
        if !leaf.is_empty() {
            return Ok(self.library_call(leaf, &[], (value, known.clone()), span, scope)?.0);
        }
        let id = self.by_type("@", known, 1, Shape::text(), &mut |this, args| {
            let value = args[0].clone();
            match known {
                Static::Seq(element) => {
                    let var = this.program.variable(element.shape());
                    let body = this.text_of(Expr::Var(var), element, span, scope)?;
                    let texts = each_of(vec![(Pattern::Var(var), value)], body, place);
                    let texts = (texts, Static::Seq(Rc::new(text())));
                    Ok(this.library_call("_sequence_text", &[], texts, span, scope)?.0)
                }
                Static::Pair(..) => {
                    let inner = this.components_text(value, known, span, scope)?;
                    Ok(parenthesised(b"(", inner, place))
                }
                Static::Data(name, content) => {
                    let inner = match &**content {
                        Static::Pair(..) => this.components_text(value, content, span, scope)?,
                        _ => this.text_of(value, content, span, scope)?,
                    };
                    Ok(parenthesised(format!("{name}(").as_bytes(), inner, place))
                }
                _ => Ok(Expr::Text(Rc::from(&b"function"[..]))),
            }
        })?;
        Ok(Expr::Call(id, vec![value], place))
    }

    /// The texts of a tuple's components, with commas between them.
    fn components_text(
        &mut self,
        value: Expr,
        known: &Static,
        span: Span,
        scope: &Scope,
    ) -> Result<Expr, Diagnostic> {
        let Static::Pair(a, b) = known else { return self.text_of(value, known, span, scope) };
        let place = self.place(span, scope);
        let id = self.by_type("@components", known, 1, Shape::text(), &mut |this, args| {
            let (x, y) = (this.program.variable(a.shape()), this.program.variable(b.shape()));
            let first = this.text_of(Expr::Var(x), a, span, scope)?;
            let second = this.components_text(Expr::Var(y), b, span, scope)?;
            let comma = Expr::Text(Rc::from(&b", "[..]));
            let tail = Expr::Prim(Prim::Append, vec![comma, second], place);
            let joined = Expr::Prim(Prim::Append, vec![first, tail], place);
            let pattern = Pattern::Pair(Box::new(Pattern::Var(x)), Box::new(Pattern::Var(y)));
            Ok(Expr::Let(pattern, Rc::new(args[0].clone()), Rc::new(joined)))
        })?;
        Ok(Expr::Call(id, vec![value], place))
    }

    fn equal(
        &mut self,
        a: Expr,
        b: Expr,
        known: &Static,
        span: Span,
        scope: &Scope,
    ) -> Result<Expr, Diagnostic> {
        let place = self.place(span, scope);
        let element = |name: &'static str, kind: Kind, args: Vec<Expr>| {
            Expr::Prim(Prim::Element(name, Some(kind), Shape::Bool), args, place)
        };
        match known {
            Static::Int | Static::Char => return Ok(element("=", Kind::Int, vec![a, b])),
            Static::Float => return Ok(element("=", Kind::Float, vec![a, b])),
            Static::Bool => {
                return Ok(element("NOT", Kind::Bool, vec![element("XOR", Kind::Bool, vec![a, b])]));
            }
            Static::Function(closure) => {
                // One function: equal if what was captured is.
                return match captured(closure) {
                    Some(captured) => self.equal(a, b, &captured, span, scope),
                    None => Ok(Expr::Bool(true)),
                };
            }
            _ => {}
        }
        let id = self.by_type("eql", known, 2, Shape::Bool, &mut |this, args| match known {
            Static::Pair(first, second) => {
                let vars: Vec<u32> = [first, second, first, second]
                    .iter()
                    .map(|part| this.program.variable(part.shape()))
                    .collect();
                let var = |index: usize| Expr::Var(vars[index]);
                let x = this.equal(var(0), var(2), first, span, scope)?;
                let y = this.equal(var(1), var(3), second, span, scope)?;
                let both = |i: usize| {
                    Pattern::Pair(Box::new(Pattern::Var(vars[i])), Box::new(Pattern::Var(vars[i + 1])))
                };
                let body = element("AND", Kind::Bool, vec![x, y]);
                let body = Expr::Let(both(2), Rc::new(args[1].clone()), Rc::new(body));
                Ok(Expr::Let(both(0), Rc::new(args[0].clone()), Rc::new(body)))
            }
            Static::Seq(inner) => {
                let (x, y) = (this.program.variable(inner.shape()), this.program.variable(inner.shape()));
                let same = this.equal(Expr::Var(x), Expr::Var(y), inner, span, scope)?;
                let flags = each_of(
                    vec![(Pattern::Var(x), args[0].clone()), (Pattern::Var(y), args[1].clone())],
                    same,
                    place,
                );
                let all = Expr::Prim(Prim::Reduce(Combine::And, Kind::Bool), vec![flags], place);
                let length = |arg: &Expr| Expr::Prim(Prim::Length, vec![arg.clone()], place);
                let lengths = element("=", Kind::Int, vec![length(&args[0]), length(&args[1])]);
                Ok(Expr::If(Rc::new(lengths), Rc::new(all), Rc::new(Expr::Bool(false))))
            }
            Static::Data(_, content) => this.equal(args[0].clone(), args[1].clone(), content, span, scope),
            _ => Ok(Expr::Bool(true)),
        })?;
        Ok(Expr::Call(id, vec![a, b], place))
    }

    /// An integer that equal values share.
    fn hash(&mut self, value: Expr, known: &Static, span: Span, scope: &Scope) -> Result<Expr, Diagnostic> {
        let place = self.place(span, scope);
        match known {
            Static::Int => return Ok(value),
            Static::Char => return Ok(Expr::Prim(Prim::Retype(Shape::Int), vec![value], place)),
            Static::Bool => {
                return Ok(Expr::Prim(Prim::Element("B_TO_I", None, Shape::Int), vec![value], place));
            }
            Static::Float => {
                return Ok(self.library_call("_float_hash", &[], (value, Static::Float), span, scope)?.0);
            }
            Static::Function(closure) => {
                return match captured(closure) {
                    Some(captured) => self.hash(value, &captured, span, scope),
                    None => Ok(Expr::Int(0)),
                };
            }
            _ => {}
        }
        let int = |name: &'static str, a: Expr, b: Expr| {
            Expr::Prim(Prim::Element(name, Some(Kind::Int), Shape::Int), vec![a, b], place)
        };
        let id = self.by_type("hash", known, 1, Shape::Int, &mut |this, args| match known {
            Static::Pair(a, b) => {
                let (x, y) = (this.program.variable(a.shape()), this.program.variable(b.shape()));
                let first = this.hash(Expr::Var(x), a, span, scope)?;
                let second = this.hash(Expr::Var(y), b, span, scope)?;
                let mixed = int("+", int("*", first, Expr::Int(1_000_003)), second);
                let pattern = Pattern::Pair(Box::new(Pattern::Var(x)), Box::new(Pattern::Var(y)));
                Ok(Expr::Let(pattern, Rc::new(args[0].clone()), Rc::new(mixed)))
            }
            Static::Seq(element) => {
                let var = this.program.variable(element.shape());
                let code = this.hash(Expr::Var(var), element, span, scope)?;
                let codes = each_of(vec![(Pattern::Var(var), args[0].clone())], code, place);
                let codes = (codes, Static::Seq(Rc::new(Static::Int)));
                Ok(this.library_call("_sequence_hash", &[], codes, span, scope)?.0)
            }
            Static::Data(_, content) => this.hash(args[0].clone(), content, span, scope),
            _ => Ok(Expr::Int(0)),
        })?;
        Ok(Expr::Call(id, vec![value], place))
    }
}

/// The captured variables of a function as one value; none if there are none.
fn captured(closure: &Closure) -> Option<Static> {
    closure.captures.iter().rev().fold(None, |rest, (_, known)| match rest {
        None => Some(known.clone()),
        Some(rest) => Some(Static::Pair(Rc::new(known.clone()), Rc::new(rest))),
    })
}

/// A text between an opening and a parenthesis.
fn parenthesised(open: &[u8], inner: Expr, place: u32) -> Expr {
    let close = Expr::Text(Rc::from(&b")"[..]));
    let tail = Expr::Prim(Prim::Append, vec![inner, close], place);
    Expr::Prim(Prim::Append, vec![Expr::Text(Rc::from(open)), tail], place)
}

fn each_of(sources: Vec<(Pattern, Expr)>, body: Expr, place: u32) -> Expr {
    Expr::Each(Rc::new(Each { sources, filter: None, body, place }))
}
