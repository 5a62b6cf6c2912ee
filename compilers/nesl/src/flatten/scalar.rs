// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Primitives on scalars, and the run-time checks.

use super::context::{Ctx, Flat, Origin, ROOT, Translation, Value};
use super::{FAIL_FUNCTION, Unsupported};
use crate::core::{Expr, PlaceId, Prim};
use crate::vcode::{Cell, Constant, Instr, Kind};

impl Translation<'_> {
    pub(super) fn prim(&mut self, prim: &Prim, args: &[Expr], place: PlaceId, ctx: Ctx) -> Value {
        if *prim == Prim::Append {
            return self.append_all(args, ctx);
        }
        let values: Vec<Value> = args.iter().map(|arg| self.expr(arg, ctx)).collect();
        match prim {
            Prim::Element(name, suffix, _) => self.elementwise(name, *suffix, &values, ctx),
            Prim::Divide(name, message) => {
                let at = self.checked_context(&values, ctx);
                let cells: Vec<Cell> = values.iter().map(|value| self.scalar_at(value, at)).collect();
                if self.b.known_int(cells[1]).is_none_or(|divisor| divisor == 0) {
                    let zero = self.constant_at(Constant::Int(vec![0]), at);
                    let bad = self.b.op("=", Some(Kind::Int), &[cells[1], zero]);
                    self.fail_if(bad, at, ctx, message, place);
                }
                let suffix = if *name == "%" { None } else { Some(Kind::Int) };
                let out = self.b.op(name, suffix, &cells);
                self.leaf(at, Flat::Scalar(out))
            }
            Prim::Retype(_) => values[0].clone(),
            Prim::Select => self.elementwise_select(&values),
            Prim::Check(message) => {
                let bad = &values[0];
                let at = self.context_of(bad);
                let flag = self.scalar_at(bad, at);
                self.fail_if(flag, at, ctx, message, place);
                self.pin(&values[1], ctx)
            }
            Prim::Rand => {
                let limit = self.scalar_at(&values[0], ctx);
                let out = self.b.op("RAND", None, &[limit]);
                self.leaf(ctx, Flat::Scalar(out))
            }
            _ if prim.is_impure() || *prim == Prim::Fail => self.effect(prim, &values, place, ctx),
            _ => self.sequence_prim(prim, &values, place, ctx),
        }
    }

    /// The innermost context of several values.
    pub(super) fn common(&self, values: &[Value]) -> Ctx {
        values.iter().fold(ROOT, |ctx, value| {
            let own = self.context_of(value);
            self.inner(ctx, own)
        })
    }

    /// Where an operation that can fail is done: for the instances asked for and no others; at the root if all is
    /// the same and there is an instance.
    pub(super) fn checked_context(&self, values: &[Value], ctx: Ctx) -> Ctx {
        if values.iter().all(Value::is_uniform) && (ctx == ROOT || self.contexts[ctx].nonempty) {
            ROOT
        } else {
            ctx
        }
    }

    /// Scalars that a check speaks for must not be used for instances that it did not see.
    fn pin(&mut self, value: &Value, ctx: Ctx) -> Value {
        match value {
            Value::Pair(a, b) => {
                let a = self.pin(a, ctx);
                let b = self.pin(b, ctx);
                Value::pair(a, b)
            }
            Value::Leaf(from, Flat::Scalar(_)) if *from != ctx => {
                if *from == ROOT && self.contexts[ctx].nonempty {
                    return value.clone();
                }
                let cell = self.scalar_at(value, ctx);
                self.leaf(ctx, Flat::Scalar(cell))
            }
            _ => value.clone(),
        }
    }

    /// A constant for each instance of a context.
    pub(super) fn constant_at(&mut self, constant: Constant, ctx: Ctx) -> Cell {
        let value = self.constant(constant);
        self.scalar_at(&value, ctx)
    }

    fn elementwise(&mut self, name: &'static str, suffix: Option<Kind>, values: &[Value], ctx: Ctx) -> Value {
        let at = self.common(values);
        let at = if self.packs_little(values, at, ctx) { ctx } else { at };
        let cells: Vec<Cell> = values.iter().map(|value| self.scalar_at(value, at)).collect();
        if let Some(folded) = self.fold(name, suffix, &cells) {
            return self.constant(folded);
        }
        let out = self.b.op(name, suffix, &cells);
        self.leaf(at, Flat::Scalar(out))
    }

    /// Whether an operation in a branch is better done there than around it, where its result would have to be packed:
    /// not more than one operand is still to be packed.
    fn packs_little(&self, values: &[Value], at: Ctx, ctx: Ctx) -> bool {
        if at == ROOT || at == ctx {
            return false;
        }
        let mut missing = 0;
        let mut seen = Vec::new();
        for value in values {
            if let Value::Leaf(from, Flat::Scalar(cell)) = value
                && *from != ROOT
                && !seen.contains(cell)
            {
                seen.push(*cell);
                match self.packed(*from, *cell, ctx) {
                    Some(true) => {}
                    Some(false) => missing += 1,
                    None => return false,
                }
            }
        }
        missing <= 1
    }

    /// Whether a cell of an outer context is there already packed for an inner one; none if the way between them
    /// leads through an apply-to-each.
    fn packed(&self, from: Ctx, cell: Cell, to: Ctx) -> Option<bool> {
        let mut way = Vec::new();
        let mut at = to;
        while at != from {
            match self.contexts[at].origin {
                Origin::Branch(flags, descriptor) => way.push((flags, descriptor)),
                _ => return None,
            }
            at = self.contexts[at].parent;
        }
        let mut cell = cell;
        for (flags, descriptor) in way.into_iter().rev() {
            match self.b.written("PACK", Some(self.b.kind(cell)), &[cell, flags, descriptor]) {
                Some(packed) => cell = packed,
                None => return Some(false),
            }
        }
        Some(true)
    }

    /// The result of an integer operation on known numbers.
    fn fold(&self, name: &str, suffix: Option<Kind>, cells: &[Cell]) -> Option<Constant> {
        if suffix != Some(Kind::Int) || cells.len() != 2 {
            return None;
        }
        let (a, b) = (self.b.known_int(cells[0])?, self.b.known_int(cells[1])?);
        let truth = |value: bool| Some(Constant::Bool(vec![value]));
        let number = |value: i32| Some(Constant::Int(vec![value]));
        match name {
            "+" => number(a.wrapping_add(b)),
            "-" => number(a.wrapping_sub(b)),
            "*" => number(a.wrapping_mul(b)),
            "=" => truth(a == b),
            "!=" => truth(a != b),
            "<" => truth(a < b),
            "<=" => truth(a <= b),
            ">" => truth(a > b),
            ">=" => truth(a >= b),
            _ => None,
        }
    }

    fn elementwise_select(&mut self, values: &[Value]) -> Value {
        let at = self.common(values);
        let cells: Vec<Cell> = values.iter().map(|value| self.scalar_at(value, at)).collect();
        let kind = self.b.kind(cells[1]);
        let out = self.b.op("SELECT", Some(kind), &cells);
        self.leaf(at, Flat::Scalar(out))
    }

    /// Ends the program if a flag is set for an instance of `ctx`; `at` is the context of the flags, `ctx` or one
    /// around it.
    pub(super) fn fail_if(&mut self, flags: Cell, at: Ctx, ctx: Ctx, message: &str, place: PlaceId) {
        if !self.flattener.options.checks || self.b.known_bool(flags) == Some(false) {
            return;
        }
        let any = if at == ROOT {
            if ctx == ROOT || self.contexts[ctx].nonempty {
                flags
            } else {
                let count = self.count(ctx);
                let some = self.some_instance(count);
                self.b.op("AND", Some(Kind::Bool), &[flags, some])
            }
        } else {
            let moved = self.scalar_at(&Value::Leaf(at, Flat::Scalar(flags)), ctx);
            let count = self.count(ctx);
            self.b.op("OR_REDUCE", Some(Kind::Bool), &[moved, count])
        };
        self.fail_where(any, message, place);
    }

    /// Ends the program if a scalar flag is set.
    pub(super) fn fail_where(&mut self, any: Cell, message: &str, place: PlaceId) {
        if !self.b.first_check(any) {
            return;
        }
        let text = format!("\nRUNTIME ERROR: {message}\n{}", self.place_text(place));
        self.b.enter();
        let text = self.b.constant(Constant::Chars(text.into_bytes()));
        self.b.push(Instr::Call(FAIL_FUNCTION.to_owned()), &[text], &[]);
        let yes = self.b.leave(Vec::new());
        self.b.enter();
        let no = self.b.leave(Vec::new());
        self.b.branch(any, yes, no);
    }

    /// The line that names function and position.
    pub(super) fn place_text(&self, place: PlaceId) -> String {
        let places = &self.flattener.program.places;
        let own = places.get(place as usize);
        let caller = self.caller.and_then(|caller| places.get(caller as usize));
        match own.filter(|own| !own.library).or(caller).or(own) {
            Some(place) => format!("  {place}\n"),
            None => String::new(),
        }
    }

    /// Notes that something cannot be flattened.
    pub(super) fn unsupported(&mut self, message: &str, place: PlaceId) {
        self.flattener.errors.push(Unsupported { message: message.to_owned(), place });
    }
}
