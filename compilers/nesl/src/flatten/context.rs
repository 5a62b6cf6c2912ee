// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Contexts and values.
//!
//! A context says how many instances of an expression are evaluated at once: one at the root; one per element in
//! an apply-to-each; in a branch, those for which its condition holds. Contexts form a chain. Each leaf of a value
//! is kept in the context where it was computed, and [`Translation::at`] moves it inward when it must.

use super::Flattener;
pub(super) use super::value::{Flat, Value};
use super::value::{flat_from_cells, flat_like};
use crate::core::{FunctionId, PlaceId, Shape, Var};
use crate::vcode::builder::Builder;
use crate::vcode::{Cell, Constant, Kind};
use std::collections::HashMap;
use std::rc::Rc;

/// A context's place in [`Translation::contexts`].
pub(super) type Ctx = usize;
/// The serial context.
pub(super) const ROOT: Ctx = 0;

/// How the instances of a context come from those of the one around it.
#[derive(Clone, Debug)]
pub(super) enum Origin {
    /// There is none around it.
    Root,
    /// Instance i becomes as many as segment i of this descriptor has elements.
    Each(Cell),
    /// Those remain whose flag is set; scalars are packed under this descriptor.
    Branch(Cell, Cell),
}

/// A context.
#[derive(Clone, Debug)]
pub(super) struct Context {
    pub(super) parent: Ctx,
    pub(super) depth: usize,
    pub(super) origin: Origin,
    /// A one-segment descriptor of the number of instances; none at the root, and none after a filter, where the
    /// first thing packed gives it.
    pub(super) count: Option<Cell>,
    /// What to pack to get the count if nothing is packed yet.
    pub(super) probe: Option<Cell>,
    /// Whether there is certainly an instance.
    pub(super) nonempty: bool,
}

impl Context {
    /// The context of an apply-to-each.
    pub(super) fn each(parent: Ctx, depth: usize, descriptor: Cell, count: Cell, nonempty: bool) -> Self {
        Self { parent, depth, origin: Origin::Each(descriptor), count: Some(count), probe: None, nonempty }
    }
}

/// The translation of one function.
pub(super) struct Translation<'f> {
    pub(super) flattener: &'f mut Flattener,
    pub(super) b: Builder,
    pub(super) contexts: Vec<Context>,
    pub(super) env: HashMap<Var, Value>,
    /// The innermost call outside the library whose callee is being written out.
    pub(super) caller: Option<PlaceId>,
    /// The function being translated.
    pub(super) function: FunctionId,
}

impl<'f> Translation<'f> {
    pub(super) fn new(flattener: &'f mut Flattener, function: FunctionId) -> Self {
        let root = Context {
            parent: ROOT,
            depth: 0,
            origin: Origin::Root,
            count: None,
            probe: None,
            nonempty: true,
        };
        Self {
            flattener,
            b: Builder::new(),
            contexts: vec![root],
            env: HashMap::new(),
            caller: None,
            function,
        }
    }

    pub(super) fn push_context(&mut self, context: Context) -> Ctx {
        self.contexts.push(context);
        self.contexts.len() - 1
    }

    /// A one-segment descriptor of the number of instances.
    pub(super) fn count(&mut self, ctx: Ctx) -> Cell {
        let context = &self.contexts[ctx];
        match (context.count, &context.origin) {
            (Some(count), _) => count,
            (None, Origin::Branch(flags, descriptor)) => {
                let (flags, descriptor) = (*flags, *descriptor);
                let (packed, remains) = self.remains(ctx, flags, descriptor);
                if self.b.has_one_segment(remains) { remains } else { self.b.count(packed) }
            }
            (None, _) => {
                let one = self.b.int(1);
                self.b.op("MAKE_SEGDES", None, &[one])
            }
        }
    }

    /// Something packed by a filter, and the descriptor of what remains.
    pub(super) fn remains(&mut self, ctx: Ctx, flags: Cell, descriptor: Cell) -> (Cell, Cell) {
        match self.b.known_pack(flags, descriptor) {
            Some(known) => known,
            None => {
                let probe = self.contexts[ctx].probe.unwrap_or(flags);
                self.pack_cell(probe, flags, descriptor)
            }
        }
    }

    /// The inner one of two contexts of one chain.
    pub(super) fn inner(&self, a: Ctx, b: Ctx) -> Ctx {
        if self.contexts[a].depth >= self.contexts[b].depth { a } else { b }
    }

    /// The innermost context of a value's leaves.
    pub(super) fn context_of(&self, value: &Value) -> Ctx {
        value.leaves().iter().fold(ROOT, |ctx, (leaf, _)| self.inner(ctx, *leaf))
    }

    /// A leaf, with what its context tells about lengths.
    pub(super) fn leaf(&mut self, ctx: Ctx, flat: Flat) -> Value {
        match (&flat, self.contexts[ctx].count) {
            (Flat::Seq(d, elements), None) if ctx == ROOT => {
                self.b.set_one_segment(*d);
                let d = *d;
                self.note_count(elements, d);
            }
            (_, Some(count)) => self.note_count(&flat.clone(), count),
            _ => {}
        }
        Value::Leaf(ctx, flat)
    }

    /// Notes the number of elements of a representation.
    pub(super) fn note_count(&mut self, flat: &Flat, count: Cell) {
        match flat {
            Flat::Unit => {}
            Flat::Scalar(cell) | Flat::Seq(cell, _) => self.b.set_count(*cell, count),
            Flat::Pair(a, b) => {
                self.note_count(a, count);
                self.note_count(b, count);
            }
        }
    }

    /// The value whose cells, all in this context, are these.
    pub(super) fn value(&mut self, ctx: Ctx, flat: &Flat) -> Value {
        match flat {
            Flat::Unit => Value::Unit,
            Flat::Pair(a, b) => {
                let a = self.value(ctx, a);
                let b = self.value(ctx, b);
                Value::pair(a, b)
            }
            _ => self.leaf(ctx, flat.clone()),
        }
    }

    /// The representation of a value in a context.
    pub(super) fn at(&mut self, value: &Value, ctx: Ctx) -> Flat {
        match value {
            Value::Unit => Flat::Unit,
            Value::Pair(a, b) => {
                let a = self.at(a, ctx);
                Flat::Pair(Rc::new(a), Rc::new(self.at(b, ctx)))
            }
            Value::Leaf(from, flat) => self.move_in(*from, flat, ctx),
        }
    }

    /// The cells of a value in a context, deepest first.
    pub(super) fn cells_at(&mut self, value: &Value, ctx: Ctx) -> Vec<Cell> {
        let mut cells = Vec::new();
        self.at(value, ctx).cells(&mut cells);
        cells
    }

    /// The cell of a scalar in a context.
    pub(super) fn scalar_at(&mut self, value: &Value, ctx: Ctx) -> Cell {
        match self.at(value, ctx) {
            Flat::Scalar(cell) => cell,
            _ => unreachable!("elaboration gives scalars where scalars are read"),
        }
    }

    /// Descriptor and elements of a sequence in a context.
    pub(super) fn seq_at(&mut self, value: &Value, ctx: Ctx) -> (Cell, Flat) {
        match self.at(value, ctx) {
            Flat::Seq(d, elements) => (d, (*elements).clone()),
            _ => unreachable!("elaboration gives sequences where sequences are read"),
        }
    }

    /// Moves a representation from a context to one inside it.
    fn move_in(&mut self, from: Ctx, flat: &Flat, to: Ctx) -> Flat {
        if from == to {
            return flat.clone();
        }
        let context = self.contexts[to].clone();
        if from == ROOT {
            // From the root, the way does not matter: all instances get the same.
            let count = self.count(to);
            return self.replicate(flat, count, count);
        }
        debug_assert!(context.depth > self.contexts[from].depth, "values only move inward");
        let outer = self.move_in(from, flat, context.parent);
        match context.origin {
            Origin::Each(descriptor) => {
                let count = self.count(to);
                self.replicate(&outer, descriptor, count)
            }
            Origin::Branch(flags, descriptor) => self.pack(&outer, flags, descriptor).0,
            Origin::Root => outer,
        }
    }

    /// A vector without elements.
    pub(super) fn empty_cell(&mut self, kind: Kind) -> Cell {
        match kind {
            Kind::Int => self.b.constant(Constant::Int(Vec::new())),
            Kind::Bool => self.b.constant(Constant::Bool(Vec::new())),
            Kind::Float => self.b.constant(Constant::Float(Vec::new())),
            Kind::Segdes => {
                let none = self.b.constant(Constant::Int(Vec::new()));
                self.b.op("MAKE_SEGDES", None, &[none])
            }
        }
    }

    /// Zero, false, or the descriptor of one empty segment: some value where none is asked for.
    pub(super) fn default_cells(&mut self, flat: &Flat, out: &mut Vec<Cell>) {
        match flat {
            Flat::Unit => {}
            Flat::Scalar(cell) => {
                let zero = self.zero(self.b.kind(*cell));
                out.push(zero);
            }
            Flat::Pair(a, b) => {
                self.default_cells(a, out);
                self.default_cells(b, out);
            }
            Flat::Seq(_, elements) => {
                let zero = self.b.int(0);
                let d = self.b.op("MAKE_SEGDES", None, &[zero]);
                out.push(d);
                let mut inner = Vec::new();
                elements.cells(&mut inner);
                for cell in inner {
                    let empty = self.empty_cell(self.b.kind(cell));
                    out.push(empty);
                }
            }
        }
    }

    /// Zero or false, length 1.
    pub(super) fn zero(&mut self, kind: Kind) -> Cell {
        match kind {
            Kind::Float => self.b.constant(Constant::Float(vec![0.0])),
            Kind::Bool => self.b.constant(Constant::Bool(vec![false])),
            _ => self.b.int(0),
        }
    }

    /// The value of this shape whose cells are given.
    pub(super) fn value_of_cells(
        &mut self,
        shape: &Shape,
        ctx: Ctx,
        cells: &mut dyn Iterator<Item = Cell>,
    ) -> Value {
        let flat = flat_from_cells(shape, cells);
        self.value(ctx, &flat)
    }

    /// The value like `model` whose leaves are in `contexts` and whose cells are given.
    pub(super) fn rebuild(
        &mut self,
        model: &Value,
        contexts: &mut dyn Iterator<Item = Ctx>,
        cells: &mut dyn Iterator<Item = Cell>,
    ) -> Value {
        match model {
            Value::Unit => Value::Unit,
            Value::Pair(a, b) => {
                let a = self.rebuild(a, contexts, cells);
                let b = self.rebuild(b, contexts, cells);
                Value::pair(a, b)
            }
            Value::Leaf(_, flat) => {
                let ctx = contexts.next().unwrap_or(ROOT);
                let flat = flat_like(flat, cells);
                self.leaf(ctx, flat)
            }
        }
    }

    /// A scalar value of this shape's kind.
    pub(super) fn constant(&mut self, constant: Constant) -> Value {
        let cell = self.b.constant(constant);
        Value::Leaf(ROOT, Flat::Scalar(cell))
    }
}
