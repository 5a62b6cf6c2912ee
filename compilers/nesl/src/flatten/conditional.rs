// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Conditionals. A condition that is the same for all instances is one VCODE conditional. Otherwise: if both
//! branches are scalar operations, both are computed and one is selected; else all instances take the first
//! branch, or all take the second, or each branch runs on its part and the results are put together in order.

use super::context::{Context, Ctx, Flat, Origin, ROOT, Translation, Value};
use crate::core::analysis;
use crate::core::{Expr, Shape, Var};
use crate::vcode::{Cell, Kind};
use std::collections::BTreeSet;
use std::rc::Rc;

/// Branches of more nodes than this become functions, since each is written twice.
const OUTLINE_SIZE: usize = 12;
/// The same for branches that only call a function: making another function of them gains less.
const OUTLINE_CALL_SIZE: usize = 24;
/// Branches up to this size are computed for all instances if they are scalar operations.
const SELECT_SIZE: usize = 16;

impl Translation<'_> {
    pub(super) fn conditional(&mut self, condition: &Expr, yes: &Rc<Expr>, no: &Rc<Expr>, ctx: Ctx) -> Value {
        if let Expr::Bool(value) = condition {
            return self.expr(if *value { yes } else { no }, ctx);
        }
        let condition = self.expr(condition, ctx);
        if condition.is_uniform() {
            let flag = self.scalar_at(&condition, ROOT);
            return self.uniform_conditional(flag, yes, no, ctx);
        }
        let flags = self.scalar_at(&condition, ctx);
        let (facts_yes, facts_no) = (self.facts(yes), self.facts(no));
        if facts_yes.elementwise
            && facts_no.elementwise
            && facts_yes.size <= SELECT_SIZE
            && facts_no.size <= SELECT_SIZE
        {
            let (a, b) = (self.expr(yes, ctx), self.expr(no, ctx));
            if only_scalars(&a) {
                return self.select(flags, &a, &b, ctx);
            }
            let results = self.merge_all(flags, &Source::Values(a, b), ctx);
            return results;
        }
        let yes = self.branch_source(yes, facts_yes.size);
        let no = self.branch_source(no, facts_no.size);
        self.merge_all(flags, &Source::Branches(yes, no), ctx)
    }

    /// One flag for all instances.
    fn uniform_conditional(&mut self, flag: Cell, yes: &Expr, no: &Expr, ctx: Ctx) -> Value {
        self.b.enter();
        let a = self.expr(yes, ctx);
        let first = self.b.suspend();
        self.b.enter();
        let b = self.expr(no, ctx);
        let contexts: Vec<Ctx> =
            a.leaves().iter().zip(b.leaves()).map(|((a, _), (b, _))| self.inner(*a, b)).collect();
        let outs = self.leaf_cells(&b, &contexts);
        let no = self.b.leave(outs);
        self.b.resume(first);
        let outs = self.leaf_cells(&a, &contexts);
        let yes = self.b.leave(outs);
        let results = self.b.branch(flag, yes, no);
        self.rebuild(&a, &mut contexts.into_iter(), &mut results.into_iter())
    }

    /// The cells of a value's leaves, each in the context given for it.
    fn leaf_cells(&mut self, value: &Value, contexts: &[Ctx]) -> Vec<Cell> {
        let leaves: Vec<(Ctx, Flat)> =
            value.leaves().into_iter().map(|(ctx, flat)| (ctx, flat.clone())).collect();
        let mut cells = Vec::new();
        for ((from, flat), to) in leaves.into_iter().zip(contexts) {
            cells.extend(self.cells_at(&Value::Leaf(from, flat), *to));
        }
        cells
    }

    fn select(&mut self, flags: Cell, a: &Value, b: &Value, ctx: Ctx) -> Value {
        match (a, b) {
            (Value::Pair(a1, a2), Value::Pair(b1, b2)) => {
                let first = self.select(flags, a1, b1, ctx);
                let second = self.select(flags, a2, b2, ctx);
                Value::pair(first, second)
            }
            (Value::Leaf(from, x), Value::Leaf(other, y)) if from == other && x == y => a.clone(),
            (Value::Leaf(..), Value::Leaf(..)) => {
                let (x, y) = (self.scalar_at(a, ctx), self.scalar_at(b, ctx));
                let kind = self.b.kind(x);
                let out = self.b.op("SELECT", Some(kind), &[flags, x, y]);
                self.leaf(ctx, Flat::Scalar(out))
            }
            _ => Value::Unit,
        }
    }

    /// A branch as it is evaluated twice: as it stands if it is small, else as a function.
    fn branch_source(&mut self, expr: &Rc<Expr>, size: usize) -> Branch {
        let limit = match &**expr {
            Expr::Call(id, ..) if !self.flattener.facts[*id].inlined() => OUTLINE_CALL_SIZE,
            _ => OUTLINE_SIZE,
        };
        if size <= limit {
            return Branch::Inline(Rc::clone(expr));
        }
        Branch::Outlined(Rc::clone(expr))
    }

    fn branch_value(&mut self, branch: &Branch, ctx: Ctx, shape: Option<&Shape>) -> Value {
        match branch {
            Branch::Inline(expr) if matches!(self.contexts[ctx].origin, Origin::Branch(..)) => {
                let before = self.pack_first(expr, ctx);
                let value = self.expr(expr, ctx);
                self.env.extend(before);
                value
            }
            Branch::Inline(expr) => self.expr(expr, ctx),
            Branch::Outlined(expr) => {
                let shape = match shape {
                    Some(shape) => shape.clone(),
                    None => self.shape_of(expr),
                };
                let id = self.flattener.outline(expr, shape, self.function);
                let params = self.flattener.program.functions[id].params.clone();
                let args: Vec<Value> =
                    params.iter().map(|var| self.env.get(var).cloned().unwrap_or(Value::Unit)).collect();
                self.call_function(id, &args, ctx)
            }
        }
    }

    /// Packs the sequences that a branch surely needs packed, so that all of it reads the packed ones. What the
    /// variables stood for before.
    fn pack_first(&mut self, expr: &Expr, ctx: Ctx) -> Vec<(Var, Value)> {
        let mut vars = BTreeSet::new();
        let facts = &self.flattener.facts;
        analysis::moved_whole(expr, &|id| facts[id].inlined(), &mut vars);
        let mut before = Vec::new();
        for var in vars {
            let Some(Value::Leaf(from, flat @ Flat::Seq(..))) = self.env.get(&var) else { continue };
            if *from == ROOT || *from == ctx {
                continue;
            }
            let old = Value::Leaf(*from, flat.clone());
            let packed = self.at(&old, ctx);
            let packed = self.leaf(ctx, packed);
            self.env.insert(var, packed);
            before.push((var, old));
        }
        before
    }

    /// The shape of an expression's value.
    fn shape_of(&self, expr: &Expr) -> Shape {
        analysis::shape_of(expr, &self.flattener.program)
    }

    /// All, none or some of the instances take the first branch.
    fn merge_all(&mut self, flags: Cell, source: &Source, ctx: Ctx) -> Value {
        let count = self.count(ctx);
        let all = self.b.op("AND_REDUCE", Some(Kind::Bool), &[flags, count]);
        self.b.enter();
        let first = source.value(self, true, ctx);
        let outs = self.cells_at(&first, ctx);
        let yes = self.b.leave(outs);
        self.b.enter();
        let some = self.b.op("OR_REDUCE", Some(Kind::Bool), &[flags, count]);
        self.b.enter();
        let outs = self.mixed(flags, source, ctx, count);
        let mixed = self.b.leave(outs);
        self.b.enter();
        let second = source.value(self, false, ctx);
        let outs = self.cells_at(&second, ctx);
        let none = self.b.leave(outs);
        let outs = self.b.branch(some, mixed, none);
        let no = self.b.leave(outs);
        let results = self.b.branch(all, yes, no);
        self.rebuild(&first, &mut std::iter::repeat(ctx), &mut results.into_iter())
    }

    /// Each branch on its part of the instances, and the results in the original order.
    fn mixed(&mut self, flags: Cell, source: &Source, ctx: Ctx, count: Cell) -> Vec<Cell> {
        let others = self.b.op("NOT", Some(Kind::Bool), &[flags]);
        let iota = self.iota(count);
        let (yes_at, yes_count) = self.pack_cell(iota, flags, count);
        let (no_at, no_count) = self.pack_cell(iota, others, count);
        let yes_ctx = self.branch_context(ctx, flags, count, yes_count);
        let no_ctx = self.branch_context(ctx, others, count, no_count);
        let (full_yes, full_no) = source.trivial();
        let yes = source.value(self, true, if full_yes { ctx } else { yes_ctx });
        let no = source.value(self, false, if full_no { ctx } else { no_ctx });
        let mut cells = Vec::new();
        let sides = Sides { yes_ctx, no_ctx, yes_at, no_at, yes_count, no_count, full_yes, full_no };
        self.merge(&yes, &no, &sides, (ctx, count), &mut cells);
        cells
    }

    fn branch_context(&mut self, parent: Ctx, flags: Cell, descriptor: Cell, count: Cell) -> Ctx {
        let depth = self.contexts[parent].depth + 1;
        self.push_context(Context {
            parent,
            depth,
            origin: Origin::Branch(flags, descriptor),
            count: Some(count),
            probe: None,
            nonempty: true,
        })
    }

    fn merge(&mut self, yes: &Value, no: &Value, s: &Sides, to: (Ctx, Cell), cells: &mut Vec<Cell>) {
        let (ctx, count) = to;
        match (yes, no) {
            (Value::Pair(a1, a2), Value::Pair(b1, b2)) => {
                self.merge(a1, b1, s, to, cells);
                self.merge(a2, b2, s, to, cells);
            }
            (Value::Leaf(from, a), Value::Leaf(other, b))
                if from == other && a == b && self.reaches(*from, ctx) =>
            {
                cells.extend(self.cells_at(yes, ctx));
            }
            (Value::Leaf(_, Flat::Scalar(a)), Value::Leaf(..)) => {
                let kind = self.b.kind(*a);
                // A side that is there for all instances is the base that the other is written over.
                let out = if s.full_yes {
                    let base = self.scalar_at(yes, ctx);
                    let other = self.scalar_at(no, s.no_ctx);
                    self.b.op("DPERMUTE", Some(kind), &[other, s.no_at, base, s.no_count, count])
                } else if s.full_no {
                    let base = self.scalar_at(no, ctx);
                    let other = self.scalar_at(yes, s.yes_ctx);
                    self.b.op("DPERMUTE", Some(kind), &[other, s.yes_at, base, s.yes_count, count])
                } else {
                    let yes = self.at(yes, s.yes_ctx);
                    let no = self.at(no, s.no_ctx);
                    let parts = [(yes, s.yes_at, s.yes_count), (no, s.no_at, s.no_count)];
                    let flat = self.scatter(&parts, count);
                    return flat.cells(cells);
                };
                cells.push(out);
            }
            (Value::Leaf(..), Value::Leaf(..)) => {
                let yes = self.at(yes, s.yes_ctx);
                let no = self.at(no, s.no_ctx);
                let parts = [(yes, s.yes_at, s.yes_count), (no, s.no_at, s.no_count)];
                self.scatter(&parts, count).cells(cells);
            }
            _ => {}
        }
    }

    /// Whether `from` is `ctx` or around it.
    fn reaches(&self, from: Ctx, ctx: Ctx) -> bool {
        self.contexts[from].depth <= self.contexts[ctx].depth
    }
}

/// What the merge of two branches needs.
struct Sides {
    yes_ctx: Ctx,
    no_ctx: Ctx,
    yes_at: Cell,
    no_at: Cell,
    yes_count: Cell,
    no_count: Cell,
    full_yes: bool,
    full_no: bool,
}

/// A branch as it is evaluated twice.
enum Branch {
    Inline(Rc<Expr>),
    Outlined(Rc<Expr>),
}

/// Where the results of the two branches come from.
enum Source {
    /// They are computed already, for all instances.
    Values(Value, Value),
    /// They are evaluated where they are needed.
    Branches(Branch, Branch),
}

impl Source {
    fn value(&self, t: &mut Translation<'_>, first: bool, ctx: Ctx) -> Value {
        match self {
            Self::Values(a, b) => if first { a } else { b }.clone(),
            Self::Branches(a, b) => t.branch_value(if first { a } else { b }, ctx, None),
        }
    }

    /// Which sides cost nothing to have for all instances.
    fn trivial(&self) -> (bool, bool) {
        match self {
            Self::Values(..) => (true, false),
            Self::Branches(a, b) => {
                let trivial = |branch: &Branch| match branch {
                    Branch::Inline(expr) => is_trivial(expr),
                    Branch::Outlined(_) => false,
                };
                (trivial(a), trivial(b))
            }
        }
    }
}

/// Whether an expression is made of variables and constants alone.
fn is_trivial(expr: &Expr) -> bool {
    match expr {
        Expr::Var(_) | Expr::Unit | Expr::Int(_) | Expr::Float(_) | Expr::Bool(_) | Expr::Char(_) => true,
        Expr::Pair(a, b) => is_trivial(a) && is_trivial(b),
        _ => false,
    }
}

fn only_scalars(value: &Value) -> bool {
    value.leaves().iter().all(|(_, flat)| matches!(flat, Flat::Scalar(_)))
}
