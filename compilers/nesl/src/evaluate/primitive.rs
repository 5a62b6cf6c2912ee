// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Primitives on values.

use super::number::{Random, element};
use super::{Interpreter, Stop, Value};
use crate::core::prim::Combine;
use crate::core::{PlaceId, Prim, Shape};
use crate::vcode::Kind;
use std::cmp::Ordering;

/// The identity of the least float, and without its sign of the greatest: 10^36 in single precision.
const FLOAT_LIMIT: f64 = 1e36_f32 as f64;

impl Interpreter<'_> {
    pub(super) fn primitive(&mut self, prim: &Prim, args: Vec<Value>, place: PlaceId) -> Result<Value, Stop> {
        let index = |value: &Value, length: usize| usize::try_from(value.int()).ok().filter(|i| *i < length);
        Ok(match prim {
            Prim::Element(name, kind, _) => element(name, *kind, &args),
            Prim::Divide(name, message) => {
                if args[1].int() == 0 {
                    return Err(self.error(message, place));
                }
                element(name, Some(Kind::Int), &args)
            }
            Prim::Retype(Shape::Char) => Value::Char(args[0].int().to_le_bytes()[0]),
            Prim::Retype(_) => Value::Int(args[0].int()),
            Prim::Select => args[if args[0].truth() { 1 } else { 2 }].clone(),
            Prim::Length => Value::Int(length(&args[0])),
            Prim::Elt => match index(&args[1], args[0].elements().len()) {
                Some(i) => args[0].elements()[i].clone(),
                None => return Err(self.error("Sequence reference (a[i]) out of bounds.", place)),
            },
            Prim::Get | Prim::GetUnchecked => {
                let mut out = Vec::new();
                for i in args[1].elements() {
                    match index(i, args[0].elements().len()) {
                        Some(i) => out.push(args[0].elements()[i].clone()),
                        None => return Err(self.error("Index out of bounds for function ->.", place)),
                    }
                }
                self.built(out)?
            }
            Prim::Put | Prim::PutUnchecked => {
                let mut out = args[0].elements().to_vec();
                for pair in args[1].elements() {
                    let Value::Pair(i, value) = pair else { continue };
                    match index(i, out.len()) {
                        Some(i) => out[i] = (**value).clone(),
                        None => return Err(self.error("Index out of bounds for function <-.", place)),
                    }
                }
                self.built(out)?
            }
            Prim::Replace => {
                let mut out = args[0].elements().to_vec();
                match index(&args[1], out.len()) {
                    Some(i) => out[i] = args[2].clone(),
                    None => return Err(self.error("Index out of bounds for function REP.", place)),
                }
                self.built(out)?
            }
            Prim::Dist => {
                let length = self.size(args[1].int())?;
                self.built(vec![args[0].clone(); length])?
            }
            Prim::Iseq => {
                let mut out = Vec::new();
                let mut next = args[0].int();
                for _ in 0..self.size(args[2].int())? {
                    out.push(Value::Int(next));
                    next = next.wrapping_add(args[1].int());
                }
                self.built(out)?
            }
            Prim::Append => self.built([args[0].elements(), args[1].elements()].concat())?,
            Prim::Pack => self.built(
                args[0]
                    .elements()
                    .iter()
                    .filter_map(|pair| match pair {
                        Value::Pair(value, flag) if flag.truth() => Some((**value).clone()),
                        _ => None,
                    })
                    .collect(),
            )?,
            Prim::Flatten => {
                // Inner sequences may be one that is in many places.
                let lengths = args[0].elements().iter().map(|v| v.elements().len());
                self.room_for(lengths.fold(0, usize::saturating_add))?;
                self.built(args[0].elements().iter().flat_map(|v| v.elements().to_vec()).collect())?
            }
            Prim::Partition => {
                let lengths: Vec<i32> = args[1].elements().iter().map(Value::int).collect();
                let total: i64 = lengths.iter().map(|&l| i64::from(l)).sum();
                if lengths.iter().any(|&l| l < 0) || total != i64::from(length(&args[0])) {
                    return Err(self.error("Length mismatch in function PARTITION.", place));
                }
                let mut rest = args[0].elements();
                let mut out = Vec::new();
                for l in lengths {
                    let (first, others) = rest.split_at(usize::try_from(l).unwrap_or(0));
                    out.push(self.built(first.to_vec())?);
                    rest = others;
                }
                self.built(out)?
            }
            Prim::Lengths => {
                self.built(args[0].elements().iter().map(|v| Value::Int(length(v))).collect())?
            }
            Prim::Zip(message) => {
                if args[0].elements().len() != args[1].elements().len() {
                    return Err(self.error(message, place));
                }
                let both = args[0].elements().iter().zip(args[1].elements());
                self.built(both.map(|(a, b)| Value::pair(a.clone(), b.clone())).collect())?
            }
            Prim::Unzip => {
                let (mut a, mut b) = (Vec::new(), Vec::new());
                for pair in args[0].elements() {
                    if let Value::Pair(x, y) = pair {
                        a.push((**x).clone());
                        b.push((**y).clone());
                    }
                }
                Value::pair(self.built(a)?, self.built(b)?)
            }
            Prim::Scan(combine, kind) => {
                let mut sum = neutral(*combine, *kind);
                let mut out = Vec::new();
                for value in args[0].elements() {
                    out.push(like(value, &sum));
                    sum = combined(*combine, *kind, &sum, value);
                }
                self.built(out)?
            }
            Prim::Reduce(combine, kind) => {
                let elements = args[0].elements();
                let sum = elements
                    .iter()
                    .fold(neutral(*combine, *kind), |sum, value| combined(*combine, *kind, &sum, value));
                elements.first().map_or(sum.clone(), |first| like(first, &sum))
            }
            Prim::Rank(up, kind) => self.built(rank(args[0].elements(), *up, *kind))?,
            Prim::Rand => Value::Int(self.random.below(args[0].int())),
            Prim::Srand => {
                self.random = Random::new(args[0].int().cast_unsigned());
                Value::Bool(true)
            }
            Prim::Check(message) => {
                if args[0].truth() {
                    return Err(self.error(message, place));
                }
                args[1].clone()
            }
            Prim::Fail => {
                if args[0].truth() {
                    let text: Vec<u8> = args[1].elements().iter().map(|c| c.int().to_le_bytes()[0]).collect();
                    return Err(self.error(&String::from_utf8_lossy(&text), place));
                }
                args[2].clone()
            }
            Prim::WriteConsole => {
                self.console.extend(args[0].elements().iter().map(|c| c.int().to_le_bytes()[0]));
                Value::pair(Value::Bool(true), Value::seq(Vec::new()))
            }
            Prim::StartTimer => Value::Bool(true),
            Prim::StopTimer => Value::Float(0.0),
            Prim::OpenFile
            | Prim::CloseFile
            | Prim::ReadObject
            | Prim::ReadVector
            | Prim::WriteObject
            | Prim::ReadText
            | Prim::WriteText
            | Prim::Spawn => return Err(Stop::Unsupported),
        })
    }

    /// A length that a program asks for, if there is room for as many elements.
    fn size(&self, length: i32) -> Result<usize, Stop> {
        let length = usize::try_from(length).unwrap_or(0);
        self.room_for(length)?;
        Ok(length)
    }

    fn room_for(&self, elements: usize) -> Result<(), Stop> {
        if elements as u64 > self.fuel { Err(Stop::TooLong) } else { Ok(()) }
    }

    /// A sequence that a primitive has made. Each element is a step, so that the bound of time is one of memory, too.
    fn built(&mut self, elements: Vec<Value>) -> Result<Value, Stop> {
        self.fuel = self.fuel.checked_sub(elements.len() as u64).ok_or(Stop::TooLong)?;
        Ok(Value::seq(elements))
    }
}

fn length(value: &Value) -> i32 {
    i32::try_from(value.elements().len()).unwrap_or(i32::MAX)
}

/// The sum as a value of the elements' type: characters are summed as integers.
fn like(element: &Value, sum: &Value) -> Value {
    match (element, sum) {
        (Value::Char(_), Value::Int(code)) => u8::try_from(*code).map_or(Value::Int(*code), Value::Char),
        _ => sum.clone(),
    }
}

fn neutral(combine: Combine, kind: Kind) -> Value {
    match (combine, kind) {
        (Combine::Add, Kind::Float) => Value::Float(0.0),
        (Combine::Multiply, Kind::Float) => Value::Float(1.0),
        (Combine::Max, Kind::Float) => Value::Float(-FLOAT_LIMIT),
        (Combine::Min, Kind::Float) => Value::Float(FLOAT_LIMIT),
        (Combine::And, Kind::Bool) => Value::Bool(true),
        (Combine::Or | Combine::Xor, Kind::Bool) => Value::Bool(false),
        (Combine::Multiply, _) => Value::Int(1),
        (Combine::Max, _) => Value::Int(i32::MIN),
        (Combine::Min, _) => Value::Int(i32::MAX),
        (Combine::And, _) => Value::Int(-1),
        _ => Value::Int(0),
    }
}

fn combined(combine: Combine, kind: Kind, a: &Value, b: &Value) -> Value {
    let greater = match kind {
        Kind::Float => a.float() > b.float(),
        _ => a.int() > b.int(),
    };
    match combine {
        Combine::Add => element("+", Some(kind), &[a.clone(), b.clone()]),
        Combine::Multiply => element("*", Some(kind), &[a.clone(), b.clone()]),
        Combine::Max => if greater { a } else { b }.clone(),
        Combine::Min => if greater { b } else { a }.clone(),
        Combine::And => element("AND", Some(kind), &[a.clone(), b.clone()]),
        Combine::Or => element("OR", Some(kind), &[a.clone(), b.clone()]),
        Combine::Xor => element("XOR", Some(kind), &[a.clone(), b.clone()]),
    }
}

fn rank(values: &[Value], up: bool, kind: Kind) -> Vec<Value> {
    let order = |a: &Value, b: &Value| -> Ordering {
        let order = match kind {
            Kind::Float => a.float().total_cmp(&b.float()),
            _ => a.int().cmp(&b.int()),
        };
        if up { order } else { order.reverse() }
    };
    let mut places: Vec<usize> = (0..values.len()).collect();
    places.sort_by(|&a, &b| order(&values[a], &values[b]));
    let mut out = vec![Value::Int(0); values.len()];
    for (place, index) in places.into_iter().enumerate() {
        out[index] = Value::Int(i32::try_from(place).unwrap_or(i32::MAX));
    }
    out
}
