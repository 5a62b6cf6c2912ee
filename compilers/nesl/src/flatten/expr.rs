// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Expressions other than conditionals, apply-to-each and primitives: bindings, calls, literals, and computing once
//! what is the same for all instances.

use super::Mode;
use super::context::{Context, Ctx, Flat, ROOT, Translation, Value};
use crate::core::analysis::{self, Facts};
use crate::core::{Expr, FunctionId, Pattern, PlaceId, Shape};
use crate::vcode::{Cell, Constant, Instr, Kind};
use std::rc::Rc;

impl Translation<'_> {
    /// The value of an expression evaluated in a context.
    pub(super) fn expr(&mut self, expr: &Expr, ctx: Ctx) -> Value {
        match expr {
            Expr::Var(var) => self.env.get(var).cloned().unwrap_or(Value::Unit),
            Expr::Unit => Value::Unit,
            Expr::Int(value) => self.constant(Constant::Int(vec![*value])),
            Expr::Float(value) => self.constant(Constant::Float(vec![*value])),
            Expr::Bool(value) => self.constant(Constant::Bool(vec![*value])),
            Expr::Char(value) => self.constant(Constant::Int(vec![i32::from(*value)])),
            Expr::Text(bytes) => self.text(bytes),
            Expr::Pair(a, b) => {
                let a = self.expr(a, ctx);
                let b = self.expr(b, ctx);
                Value::pair(a, b)
            }
            Expr::Let(pattern, value, body) => {
                let value = self.expr(value, ctx);
                self.bind(pattern, &value);
                self.expr(body, ctx)
            }
            Expr::If(condition, yes, no) => self.conditional(condition, yes, no, ctx),
            Expr::Prim(prim, args, place) => self.prim(prim, args, *place, ctx),
            Expr::Call(function, args, place) => self.call(expr, *function, args, *place, ctx),
            Expr::Each(each) => match self.once(expr, ctx) {
                Some(value) => value,
                None => self.apply_to_each(each, ctx),
            },
            Expr::Sequence(elements, shape) => match self.once(expr, ctx) {
                Some(value) => value,
                None => self.literal(elements, shape, ctx),
            },
        }
    }

    /// Binds a pattern's variables.
    pub(super) fn bind(&mut self, pattern: &Pattern, value: &Value) {
        match pattern {
            Pattern::Ignore => {}
            Pattern::Var(var) => {
                self.env.insert(*var, value.clone());
            }
            Pattern::Pair(a, b) => {
                let (first, second) = value.split();
                self.bind(a, &first);
                self.bind(b, &second);
            }
        }
    }

    /// What flattening must know of an expression.
    pub(super) fn facts(&self, expr: &Expr) -> Facts {
        let facts = &self.flattener.facts;
        analysis::expression_facts(expr, &|id| facts[id])
    }

    /// Whether the variables an expression reads are all the same for all instances.
    fn reads_only_uniform(&self, expr: &Expr) -> bool {
        analysis::free_variables(expr).iter().all(|var| self.env.get(var).is_none_or(Value::is_uniform))
    }

    /// The value of an expression that is the same for all instances, computed once at the root; none if it may
    /// differ. What can fail or not end is computed only if there is an instance.
    fn once(&mut self, expr: &Expr, ctx: Ctx) -> Option<Value> {
        if ctx == ROOT || !self.reads_only_uniform(expr) {
            return None;
        }
        let facts = self.facts(expr);
        if facts.impure {
            return None;
        }
        if facts.total || self.contexts[ctx].nonempty {
            return Some(self.expr(expr, ROOT));
        }
        let count = self.count(ctx);
        let some = self.some_instance(count);
        self.b.enter();
        let value = self.expr(expr, ROOT);
        let outs = self.cells_at(&value, ROOT);
        let yes = self.b.leave(outs);
        self.b.enter();
        let mut outs = Vec::new();
        for (_, flat) in value.leaves() {
            self.default_cells(flat, &mut outs);
        }
        let no = self.b.leave(outs);
        let results = self.b.branch(some, yes, no);
        Some(self.rebuild(&value, &mut std::iter::repeat(ROOT), &mut results.into_iter()))
    }

    /// Whether a context has an instance.
    pub(super) fn some_instance(&mut self, count: Cell) -> Cell {
        let length = self.b.lengths(count);
        let zero = self.b.int(0);
        self.b.op(">", Some(Kind::Int), &[length, zero])
    }

    /// A constant string.
    pub(super) fn text(&mut self, bytes: &[u8]) -> Value {
        let data = self.b.constant(Constant::Chars(bytes.to_vec()));
        let length = self.b.int(i32::try_from(bytes.len()).unwrap_or(i32::MAX));
        let d = self.b.op("MAKE_SEGDES", None, &[length]);
        self.leaf(ROOT, Flat::Seq(d, Rc::new(Flat::Scalar(data))))
    }

    fn call(&mut self, expr: &Expr, id: FunctionId, args: &[Expr], place: PlaceId, ctx: Ctx) -> Value {
        let facts = self.flattener.facts[id];
        if facts.inlined() {
            let values: Vec<Value> = args.iter().map(|arg| self.expr(arg, ctx)).collect();
            let body = Rc::clone(&self.flattener.program.functions[id].body);
            let params = self.flattener.program.functions[id].params.clone();
            for (param, value) in params.into_iter().zip(values) {
                self.env.insert(param, value);
            }
            let outer = self.caller;
            if self.flattener.program.places.get(place as usize).is_some_and(|place| !place.library) {
                self.caller = Some(place);
            }
            let value = self.expr(&body, ctx);
            self.caller = outer;
            return value;
        }
        if ctx != ROOT
            && let Some(value) = self.once(expr, ctx)
        {
            return value;
        }
        let values: Vec<Value> = args.iter().map(|arg| self.expr(arg, ctx)).collect();
        self.call_function(id, &values, ctx)
    }

    /// A call of a function that is not written out.
    pub(super) fn call_function(&mut self, id: FunctionId, args: &[Value], ctx: Ctx) -> Value {
        let mut cells = Vec::new();
        let mode = if ctx == ROOT {
            for arg in args {
                cells.extend(self.cells_at(arg, ROOT));
            }
            Mode::Serial
        } else {
            let mut uniform = Vec::new();
            for arg in args {
                for (from, flat) in arg.leaves() {
                    let same = from == ROOT;
                    uniform.push(same);
                    let to = if same { ROOT } else { ctx };
                    let leaf = Value::Leaf(from, flat.clone());
                    cells.extend(self.cells_at(&leaf, to));
                }
            }
            let count = self.count(ctx);
            cells.push(count);
            Mode::Lifted(uniform)
        };
        let name = self.flattener.name_of(id, mode);
        let shape = self.flattener.program.functions[id].result.clone();
        let mut kinds = Vec::new();
        super::kinds_of(&shape, &mut kinds);
        let results = self.b.push(Instr::Call(name), &cells, &kinds);
        self.value_of_cells(&shape, ctx, &mut results.into_iter())
    }

    /// `[a, b, c]`
    fn literal(&mut self, elements: &[Expr], shape: &Shape, ctx: Ctx) -> Value {
        if let Some(constant) = constant_of(elements, shape) {
            let data = self.b.constant(constant);
            let length = self.b.int(i32::try_from(elements.len()).unwrap_or(i32::MAX));
            let d = self.b.op("MAKE_SEGDES", None, &[length]);
            return self.leaf(ROOT, Flat::Seq(d, Rc::new(Flat::Scalar(data))));
        }
        let values: Vec<Value> = elements.iter().map(|element| self.expr(element, ctx)).collect();
        if values.is_empty() {
            let mut kinds = Vec::new();
            let zero = self.b.int(0);
            let d = self.b.op("MAKE_SEGDES", None, &[zero]);
            super::kinds_of(shape, &mut kinds);
            let mut cells = vec![d];
            for kind in kinds {
                let cell = self.empty_cell(kind);
                cells.push(cell);
            }
            return self.value_of_cells(&Shape::seq(shape.clone()), ROOT, &mut cells.into_iter());
        }
        self.sequence_of(&values)
    }

    /// A sequence of these values in the innermost of their contexts.
    pub(super) fn sequence_of(&mut self, values: &[Value]) -> Value {
        let at = values.iter().fold(ROOT, |ctx, value| {
            let own = self.context_of(value);
            self.inner(ctx, own)
        });
        let number = i32::try_from(values.len()).unwrap_or(i32::MAX);
        let count = self.count(at);
        let lengths = if at == ROOT { self.b.int(number) } else { self.dist_int(number, count) };
        let d = self.b.op("MAKE_SEGDES", None, &[lengths]);
        let flats: Vec<Flat> = values.iter().map(|value| self.at(value, at)).collect();
        if flats.len() == 1 {
            return self.leaf(at, Flat::Seq(d, Rc::new(flats[0].clone())));
        }
        let total = if at == ROOT {
            d
        } else {
            let instances = self.b.lengths(count);
            let times = self.b.int(number);
            let total = self.b.op("*", Some(Kind::Int), &[instances, times]);
            let total = self.b.op("MAKE_SEGDES", None, &[total]);
            self.b.set_one_segment(total);
            total
        };
        let mut parts = Vec::new();
        for (index, flat) in flats.into_iter().enumerate() {
            let first = self.b.int(i32::try_from(index).unwrap_or(i32::MAX));
            let position = if at == ROOT {
                first
            } else {
                let step = self.b.int(number);
                self.b.op("INDEX", None, &[first, step, count])
            };
            parts.push((flat, position, count));
        }
        let elements = self.scatter(&parts, total);
        self.leaf(at, Flat::Seq(d, Rc::new(elements)))
    }

    /// Starts the context of the elements of a descriptor.
    pub(super) fn element_context(&mut self, parent: Ctx, descriptor: Cell, count: Cell) -> Ctx {
        let depth = self.contexts[parent].depth + 1;
        self.push_context(Context::each(parent, depth, descriptor, count, false))
    }
}

/// The vector of a literal whose elements are constants of one scalar type, two or more.
fn constant_of(elements: &[Expr], shape: &Shape) -> Option<Constant> {
    if elements.len() < 2 {
        return None;
    }
    match shape {
        Shape::Int => elements
            .iter()
            .map(|e| if let Expr::Int(v) = e { Some(*v) } else { None })
            .collect::<Option<Vec<i32>>>()
            .map(Constant::Int),
        Shape::Float => elements
            .iter()
            .map(|e| if let Expr::Float(v) = e { Some(*v) } else { None })
            .collect::<Option<Vec<f64>>>()
            .map(Constant::Float),
        Shape::Bool => elements
            .iter()
            .map(|e| if let Expr::Bool(v) = e { Some(*v) } else { None })
            .collect::<Option<Vec<bool>>>()
            .map(Constant::Bool),
        Shape::Char => elements
            .iter()
            .map(|e| if let Expr::Char(v) = e { Some(*v) } else { None })
            .collect::<Option<Vec<u8>>>()
            .map(Constant::Chars),
        _ => None,
    }
}
