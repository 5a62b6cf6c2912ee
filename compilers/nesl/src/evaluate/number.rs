// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Arithmetic of VCODE's scalars, and its random numbers.

use super::Value;
use crate::vcode::Kind;

/// The additive-feedback generator of degree 31, as the 3.1 system used it.
pub(super) struct Random {
    state: Vec<u32>,
}

impl Random {
    /// The generator for a seed.
    pub(super) fn new(seed: u32) -> Self {
        let seed = if seed == 0 { 1 } else { seed };
        let mut state = vec![seed];
        for k in 1..31 {
            let previous = i64::from(state[k - 1].cast_signed());
            let next = (16807 * previous).rem_euclid(2_147_483_647);
            state.push(u32::try_from(next).unwrap_or(0));
        }
        for k in 31..34 {
            state.push(state[k - 31]);
        }
        let mut random = Self { state };
        for _ in 34..344 {
            random.step();
        }
        random
    }

    fn step(&mut self) -> u32 {
        let k = self.state.len();
        let next = self.state[k - 3].wrapping_add(self.state[k - 31]);
        self.state.push(next);
        next
    }

    /// The next number below `limit`.
    pub(super) fn below(&mut self, limit: i32) -> i32 {
        let value = (self.step() >> 1).cast_signed();
        if limit > 0 { value % limit } else { 0 }
    }
}

/// The result of a scalar operation.
pub(super) fn element(name: &str, kind: Option<Kind>, args: &[Value]) -> Value {
    if kind == Some(Kind::Float) {
        return float_operation(name, args);
    }
    if kind == Some(Kind::Bool) {
        let (a, b) = (args[0].truth(), args.get(1).is_some_and(Value::truth));
        return Value::Bool(match name {
            "AND" => a && b,
            "OR" => a || b,
            "XOR" => a != b,
            _ => !a,
        });
    }
    let x = args[0].float();
    match name {
        "FLOOR" => return Value::Int(saturate(x.floor())),
        "CEIL" => return Value::Int(saturate(x.ceil())),
        "TRUNC" => return Value::Int(saturate(x.trunc())),
        "ROUND" => return Value::Int(saturate(x.round_ties_even())),
        "I_TO_F" => return Value::Float(f64::from(args[0].int())),
        "B_TO_I" => return Value::Int(args[0].int()),
        "I_TO_B" => return Value::Bool(args[0].int() != 0),
        "SQRT" => return Value::Float(x.sqrt()),
        "LOG" => return Value::Float(x.ln()),
        "EXP" => return Value::Float(x.exp()),
        "SIN" => return Value::Float(x.sin()),
        "COS" => return Value::Float(x.cos()),
        "TAN" => return Value::Float(x.tan()),
        "ASIN" => return Value::Float(x.asin()),
        "ACOS" => return Value::Float(x.acos()),
        "ATAN" => return Value::Float(x.atan()),
        "SINH" => return Value::Float(x.sinh()),
        "COSH" => return Value::Float(x.cosh()),
        "TANH" => return Value::Float(x.tanh()),
        _ => {}
    }
    let (a, b) = (args[0].int(), args.get(1).map_or(0, Value::int));
    match name {
        "+" => Value::Int(a.wrapping_add(b)),
        "-" => Value::Int(a.wrapping_sub(b)),
        "*" => Value::Int(a.wrapping_mul(b)),
        "/" => Value::Int(if b == 0 { 0 } else { a.wrapping_div(b) }),
        "%" => Value::Int(if b == 0 { 0 } else { a.wrapping_rem(b) }),
        "=" => Value::Bool(a == b),
        "!=" => Value::Bool(a != b),
        "<" => Value::Bool(a < b),
        "<=" => Value::Bool(a <= b),
        ">" => Value::Bool(a > b),
        ">=" => Value::Bool(a >= b),
        "AND" => Value::Int(a & b),
        "OR" => Value::Int(a | b),
        "XOR" => Value::Int(a ^ b),
        "NOT" => Value::Int(!a),
        "LSHIFT" => Value::Int(a.wrapping_shl(b.cast_unsigned())),
        _ => Value::Int(a.wrapping_shr(b.cast_unsigned())),
    }
}

fn float_operation(name: &str, args: &[Value]) -> Value {
    let (a, b) = (args[0].float(), args.get(1).map_or(0.0, Value::float));
    match name {
        "+" => Value::Float(a + b),
        "-" => Value::Float(a - b),
        "*" => Value::Float(a * b),
        "/" => Value::Float(a / b),
        "=" => Value::Bool(a == b),
        "!=" => Value::Bool(a != b),
        "<" => Value::Bool(a < b),
        "<=" => Value::Bool(a <= b),
        ">" => Value::Bool(a > b),
        _ => Value::Bool(a >= b),
    }
}

/// A float as an integer; what does not fit becomes the nearest that does, as in VCODE.
fn saturate(value: f64) -> i32 {
    value as i32
}
