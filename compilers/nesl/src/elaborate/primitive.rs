// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The primitives that the library declares. The types of an instance choose the VCODE operation.

use super::statics::Static;
use super::{Elaborated, Elaborator, Scope};
use crate::core::prim::Combine;
use crate::core::{Expr, Pattern, Prim, Shape};
use crate::vcode::Kind;
use hadal_front::types::Type;
use hadal_front::{Diagnostic, Span};
use std::rc::Rc;

/// Operands taken apart, and the bindings that this needs.
struct Operands {
    lets: Vec<(Pattern, Expr)>,
    all: Vec<(Expr, Static)>,
}

impl Elaborator<'_> {
    /// A constant that the compiler provides: there is none; the library writes its constants in NESL.
    pub(super) fn primitive_constant(&mut self, name: &str, span: Span) -> Elaborated {
        Err(Diagnostic::error(format!("the compiler provides no constant {name}"), span, ""))
    }

    pub(super) fn primitive(
        &mut self,
        name: &str,
        types: &[Type],
        argument: (Expr, Static),
        span: Span,
        scope: &Scope,
    ) -> Elaborated {
        let place = self.place(span, scope);
        let kind = kind_of(types.first());
        let number = static_of(types.first());
        let operands = self.operands(argument, arity(name));
        let element = |op: &'static str, suffix: Option<Kind>, result: Static| -> (Prim, Static) {
            (Prim::Element(op, suffix, result.shape()), result)
        };
        let sequence = |element: Static| Static::Seq(Rc::new(element));
        let first = operands.all[0].1.clone();
        let (prim, result) = match name {
            "+" => element("+", Some(kind), number),
            "-" => element("-", Some(kind), number),
            "*" => element("*", Some(kind), number),
            "==" => element("=", Some(kind), Static::Bool),
            "/=" => element("!=", Some(kind), Static::Bool),
            "<" => element("<", Some(kind), Static::Bool),
            ">" => element(">", Some(kind), Static::Bool),
            "<=" => element("<=", Some(kind), Static::Bool),
            ">=" => element(">=", Some(kind), Static::Bool),
            "and" => element("AND", Some(kind), number),
            "or" => element("OR", Some(kind), number),
            "xor" => element("XOR", Some(kind), number),
            "not" => element("NOT", Some(kind), number),
            "/" if kind == Kind::Int => (Prim::Divide("/", "Divide by zero."), Static::Int),
            "_raw_divide" => element("/", Some(Kind::Float), Static::Float),
            "/" => return self.float_divide(operands, place),
            "rem" => (Prim::Divide("%", "Divide by zero in function REM."), Static::Int),
            "lshift" => element("LSHIFT", None, Static::Int),
            "rshift" => element("RSHIFT", None, Static::Int),
            "floor" => element("FLOOR", None, Static::Int),
            "ceil" => element("CEIL", None, Static::Int),
            "trunc" => element("TRUNC", None, Static::Int),
            "round" => element("ROUND", None, Static::Int),
            "float" => element("I_TO_F", None, Static::Float),
            "btoi" => element("B_TO_I", None, Static::Int),
            "_itob" => element("I_TO_B", None, Static::Bool),
            "char_code" => (Prim::Retype(Shape::Int), Static::Int),
            "code_char" => (Prim::Retype(Shape::Char), Static::Char),
            "_raw_sqrt" => element("SQRT", None, Static::Float),
            "_raw_log" => element("LOG", None, Static::Float),
            "exp" => element("EXP", None, Static::Float),
            "sin" => element("SIN", None, Static::Float),
            "cos" => element("COS", None, Static::Float),
            "tan" => element("TAN", None, Static::Float),
            "asin" => element("ASIN", None, Static::Float),
            "acos" => element("ACOS", None, Static::Float),
            "atan" => element("ATAN", None, Static::Float),
            "sinh" => element("SINH", None, Static::Float),
            "cosh" => element("COSH", None, Static::Float),
            "tanh" => element("TANH", None, Static::Float),
            "select" => return Ok(self.select(operands, place)),
            "#" => (Prim::Length, Static::Int),
            "[]" => (Prim::Elt, element_of(&first)),
            "->" => (Prim::Get, first),
            "_gather" => (Prim::GetUnchecked, first),
            "<-" => (Prim::Put, first),
            "_scatter" => (Prim::PutUnchecked, first),
            "rep" => return Ok(self.replace(operands, place)),
            "_raw_dist" => (Prim::Dist, sequence(first)),
            "_raw_iseq" => (Prim::Iseq, sequence(Static::Int)),
            "++" => (Prim::Append, first),
            "pack" => match element_of(&first) {
                Static::Pair(value, _) => (Prim::Pack, Static::Seq(value)),
                other => (Prim::Pack, sequence(other)),
            },
            "flatten" => (Prim::Flatten, element_of(&first)),
            "partition" => (Prim::Partition, sequence(first)),
            "_lengths" => (Prim::Lengths, sequence(Static::Int)),
            "zip" => {
                let both = Static::Pair(Rc::new(element_of(&first)), Rc::new(element_of(&operands.all[1].1)));
                (Prim::Zip("Length mismatch in function ZIP."), sequence(both))
            }
            "unzip" => match element_of(&first) {
                Static::Pair(a, b) => {
                    let both = Static::Pair(Rc::new(Static::Seq(a)), Rc::new(Static::Seq(b)));
                    (Prim::Unzip, both)
                }
                other => (Prim::Unzip, other),
            },
            "plus_scan" => (Prim::Scan(Combine::Add, kind), first),
            "mult_scan" => (Prim::Scan(Combine::Multiply, kind), first),
            "max_scan" => (Prim::Scan(Combine::Max, kind), first),
            "min_scan" => (Prim::Scan(Combine::Min, kind), first),
            "and_scan" => (Prim::Scan(Combine::And, kind), first),
            "or_scan" => (Prim::Scan(Combine::Or, kind), first),
            "xor_scan" => (Prim::Scan(Combine::Xor, kind), first),
            "sum" => (Prim::Reduce(Combine::Add, kind), number),
            "product" => (Prim::Reduce(Combine::Multiply, kind), number),
            "max_val" => (Prim::Reduce(Combine::Max, kind), number),
            "min_val" => (Prim::Reduce(Combine::Min, kind), number),
            "all" => (Prim::Reduce(Combine::And, kind), number),
            "any" => (Prim::Reduce(Combine::Or, kind), number),
            "parity" => (Prim::Reduce(Combine::Xor, kind), number),
            "_rank" => (Prim::Rank(true, kind), sequence(Static::Int)),
            "_rank_down" => (Prim::Rank(false, kind), sequence(Static::Int)),
            "rand" => {
                let name = if kind == Kind::Float { "_rand_float" } else { "_rand_int" };
                let Operands { lets, mut all } = operands;
                let argument = all.remove(0);
                let (body, known) = self.library_call(name, &[], argument, span, scope)?;
                return Ok((with_lets(lets, body), known));
            }
            "_one" => {
                let one = if kind == Kind::Float { Expr::Float(1.0) } else { Expr::Int(1) };
                return Ok((one, number));
            }
            "_to_float" | "_from_float" => {
                let Operands { lets, mut all } = operands;
                let (value, _) = all.remove(0);
                let body = match (name, kind) {
                    (_, Kind::Float) => value,
                    ("_to_float", _) => {
                        Expr::Prim(Prim::Element("I_TO_F", None, Shape::Float), vec![value], place)
                    }
                    _ => Expr::Prim(Prim::Element("ROUND", None, Shape::Int), vec![value], place),
                };
                let result = if name == "_to_float" { Static::Float } else { number };
                return Ok((with_lets(lets, body), result));
            }
            "_raw_rand" => (Prim::Rand, Static::Int),
            "rand_seed" => (Prim::Srand, Static::Bool),
            "_check" => return self.check(operands, span, place),
            "error" => return self.error(operands, types, place, span),
            "_write_console" => (Prim::WriteConsole, status()),
            "_open_file" => (Prim::OpenFile, pair(Static::Int, status())),
            "_close_file" => (Prim::CloseFile, status()),
            "_write_text" => (Prim::WriteText, status()),
            "_write_object" => (Prim::WriteObject, status()),
            "_read_object" => (Prim::ReadObject, pair(first, status())),
            "_read_vector" => (Prim::ReadVector, pair(first, status())),
            "_read_text" => (Prim::ReadText, pair(text(), pair(Static::Int, status()))),
            "_spawn" => {
                let rest = pair(Static::Int, pair(Static::Int, status()));
                (Prim::Spawn, pair(Static::Int, rest))
            }
            "@" | "eql" | "identity" | "_hash_code" => {
                return self.generic(name, operands.all, span, scope, operands.lets);
            }
            _ => {
                return Err(Diagnostic::error(
                    format!("the compiler provides no primitive {name}"),
                    span,
                    "",
                ));
            }
        };
        let args = operands.all.into_iter().map(|(arg, _)| arg).collect();
        Ok((with_lets(operands.lets, Expr::Prim(prim, args, place)), result))
    }

    /// The first `n` components of a tuple, the last one being the rest.
    fn operands(&mut self, argument: (Expr, Static), n: usize) -> Operands {
        let mut out = Operands { lets: Vec::new(), all: Vec::new() };
        let (mut expr, mut known) = argument;
        for _ in 1..n {
            let Some((first, rest)) = known.parts() else { break };
            let (a, b) = match expr {
                Expr::Pair(a, b) => ((*a).clone(), (*b).clone()),
                other => {
                    let a = self.program.variable(first.shape());
                    let b = self.program.variable(rest.shape());
                    let pattern = Pattern::Pair(Box::new(Pattern::Var(a)), Box::new(Pattern::Var(b)));
                    out.lets.push((pattern, other));
                    (Expr::Var(a), Expr::Var(b))
                }
            };
            out.all.push((a, first));
            expr = b;
            known = rest;
        }
        out.all.push((expr, known));
        out
    }

    /// A variable for a value that is used twice.
    pub(super) fn name_value(
        &mut self,
        value: Expr,
        known: &Static,
        lets: &mut Vec<(Pattern, Expr)>,
    ) -> Expr {
        if let Expr::Var(_) = value {
            return value;
        }
        let var = self.program.variable(known.shape());
        lets.push((Pattern::Var(var), value));
        Expr::Var(var)
    }

    fn float_divide(&mut self, operands: Operands, place: u32) -> Elaborated {
        let Operands { mut lets, all } = operands;
        let a = self.name_value(all[0].0.clone(), &Static::Float, &mut lets);
        let b = self.name_value(all[1].0.clone(), &Static::Float, &mut lets);
        let zero = Prim::Element("=", Some(Kind::Float), Shape::Bool);
        let bad = Expr::Prim(zero, vec![b.clone(), Expr::Float(0.0)], place);
        let checked = match all[1].0 {
            Expr::Float(value) if value != 0.0 => b,
            _ => Expr::Prim(Prim::Check("Divide by zero.".into()), vec![bad, b], place),
        };
        let divide = Prim::Element("/", Some(Kind::Float), Shape::Float);
        Ok((with_lets(lets, Expr::Prim(divide, vec![a, checked], place)), Static::Float))
    }

    /// `select(f, a, b)`: scalars by one operation, other values by a conditional on evaluated ones.
    fn select(&mut self, operands: Operands, place: u32) -> (Expr, Static) {
        let Operands { mut lets, all } = operands;
        let known = all[1].1.clone();
        let args: Vec<Expr> =
            all.iter().map(|(arg, own)| self.name_value(arg.clone(), own, &mut lets)).collect();
        let scalar = matches!(known, Static::Int | Static::Float | Static::Bool | Static::Char);
        let body = if scalar {
            Expr::Prim(Prim::Select, args, place)
        } else {
            let mut args = args.into_iter().map(Rc::new);
            match (args.next(), args.next(), args.next()) {
                (Some(f), Some(a), Some(b)) => Expr::If(f, a, b),
                _ => Expr::Unit,
            }
        };
        (with_lets(lets, body), known)
    }

    /// `rep(s, v, i)`
    fn replace(&mut self, operands: Operands, place: u32) -> (Expr, Static) {
        let Operands { lets, all } = operands;
        let known = all[0].1.clone();
        let args = vec![all[0].0.clone(), all[2].0.clone(), all[1].0.clone()];
        (with_lets(lets, Expr::Prim(Prim::Replace, args, place)), known)
    }

    /// `"_check"(bad, "text", value)`: the value, unless `bad` holds.
    fn check(&mut self, operands: Operands, span: Span, place: u32) -> Elaborated {
        let Operands { lets, all } = operands;
        let Expr::Text(bytes) = &all[1].0 else {
            return Err(Diagnostic::error("the text of a check must be a literal", span, ""));
        };
        let prim = Prim::Check(String::from_utf8_lossy(bytes).into_owned().into());
        let body = Expr::Prim(prim, vec![all[0].0.clone(), all[2].0.clone()], place);
        Ok((with_lets(lets, body), all[2].1.clone()))
    }

    /// `error(message)`, whose value is never used.
    fn error(&mut self, operands: Operands, types: &[Type], place: u32, span: Span) -> Elaborated {
        let Operands { lets, all } = operands;
        let known = types.first().and_then(Static::of).unwrap_or(Static::Bool);
        let value = self.neutral(&known, span)?;
        let body = Expr::Prim(Prim::Fail, vec![Expr::Bool(true), all[0].0.clone(), value], place);
        Ok((with_lets(lets, body), known))
    }
}

/// Puts bindings around an expression.
pub(super) fn with_lets(lets: Vec<(Pattern, Expr)>, body: Expr) -> Expr {
    lets.into_iter()
        .rev()
        .fold(body, |body, (pattern, value)| Expr::Let(pattern, Rc::new(value), Rc::new(body)))
}

fn pair(a: Static, b: Static) -> Static {
    Static::Pair(Rc::new(a), Rc::new(b))
}

/// The type of a string.
pub(super) fn text() -> Static {
    Static::Seq(Rc::new(Static::Char))
}

fn status() -> Static {
    pair(Static::Bool, text())
}

fn element_of(known: &Static) -> Static {
    match known {
        Static::Seq(element) => (**element).clone(),
        Static::Data(_, content) => element_of(content),
        other => other.clone(),
    }
}

fn kind_of(ty: Option<&Type>) -> Kind {
    match ty {
        Some(Type::Float) => Kind::Float,
        Some(Type::Bool) => Kind::Bool,
        _ => Kind::Int,
    }
}

fn static_of(ty: Option<&Type>) -> Static {
    ty.and_then(Static::of).unwrap_or(Static::Int)
}

/// How many operands a primitive takes.
fn arity(name: &str) -> usize {
    match name {
        "+" | "-" | "*" | "/" | "_raw_divide" | "rem" | "==" | "/=" | "<" | ">" | "<=" | ">=" | "and"
        | "or" | "xor" | "lshift" | "rshift" | "[]" | "->" | "_gather" | "<-" | "_scatter" | "_raw_dist"
        | "++" | "partition" | "zip" | "_open_file" | "_write_text" | "_write_object" | "_read_object"
        | "_read_vector" | "eql" | "_from_float" => 2,
        "select" | "rep" | "_raw_iseq" | "_check" | "_read_text" => 3,
        "_spawn" => 4,
        _ => 1,
    }
}
