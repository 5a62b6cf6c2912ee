// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Values as flattening sees them: trees of cells.

use super::context::{Ctx, ROOT};
use crate::core::Shape;
use crate::vcode::Cell;
use std::rc::Rc;

/// Cells of one vector representation: a scalar per instance, or a segment per instance.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Flat {
    /// No cells.
    Unit,
    /// One element per instance.
    Scalar(Cell),
    /// Both parts.
    Pair(Rc<Flat>, Rc<Flat>),
    /// One segment per instance, and the elements of all segments.
    Seq(Cell, Rc<Flat>),
}

impl Flat {
    /// The cells, deepest first.
    pub(super) fn cells(&self, out: &mut Vec<Cell>) {
        match self {
            Self::Unit => {}
            Self::Scalar(cell) => out.push(*cell),
            Self::Pair(a, b) => {
                a.cells(out);
                b.cells(out);
            }
            Self::Seq(d, e) => {
                out.push(*d);
                e.cells(out);
            }
        }
    }

    /// The first cell whose length is the number of elements.
    pub(super) fn first(&self) -> Option<Cell> {
        match self {
            Self::Unit => None,
            Self::Scalar(cell) | Self::Seq(cell, _) => Some(*cell),
            Self::Pair(a, b) => a.first().or_else(|| b.first()),
        }
    }
}

/// A value: its pairs taken apart, each leaf in a context of its own.
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// No cells.
    Unit,
    /// A scalar or a sequence.
    Leaf(Ctx, Flat),
    /// Two values.
    Pair(Rc<Value>, Rc<Value>),
}

impl Value {
    /// A pair.
    pub(super) fn pair(a: Self, b: Self) -> Self {
        Self::Pair(Rc::new(a), Rc::new(b))
    }

    /// The leaves, left to right.
    pub(super) fn leaves(&self) -> Vec<(Ctx, &Flat)> {
        match self {
            Self::Unit => Vec::new(),
            Self::Leaf(ctx, flat) => vec![(*ctx, flat)],
            Self::Pair(a, b) => {
                let mut all = a.leaves();
                all.extend(b.leaves());
                all
            }
        }
    }

    /// Whether all of it is the same for all instances.
    pub(super) fn is_uniform(&self) -> bool {
        self.leaves().iter().all(|(ctx, _)| *ctx == ROOT)
    }

    /// The parts of a pair.
    pub(super) fn split(&self) -> (Value, Value) {
        match self {
            Self::Pair(a, b) => ((**a).clone(), (**b).clone()),
            _ => unreachable!("elaboration gives pairs where pairs are read"),
        }
    }
}

/// A representation of this shape of the given cells.
pub(super) fn flat_from_cells(shape: &Shape, cells: &mut dyn Iterator<Item = Cell>) -> Flat {
    let mut next = || cells.next().expect("as many cells as the shape has");
    match shape {
        Shape::Unit => Flat::Unit,
        Shape::Pair(a, b) => {
            let a = flat_from_cells(a, cells);
            Flat::Pair(Rc::new(a), Rc::new(flat_from_cells(b, cells)))
        }
        Shape::Seq(t) => {
            let d = next();
            Flat::Seq(d, Rc::new(flat_from_cells(t, cells)))
        }
        Shape::Int | Shape::Float | Shape::Bool | Shape::Char => Flat::Scalar(next()),
    }
}

/// A representation like `model` of the given cells.
pub(super) fn flat_like(model: &Flat, cells: &mut dyn Iterator<Item = Cell>) -> Flat {
    let mut next = || cells.next().expect("as many cells as the model has");
    match model {
        Flat::Unit => Flat::Unit,
        Flat::Scalar(_) => Flat::Scalar(next()),
        Flat::Pair(a, b) => {
            let a = flat_like(a, cells);
            Flat::Pair(Rc::new(a), Rc::new(flat_like(b, cells)))
        }
        Flat::Seq(_, e) => {
            let d = next();
            Flat::Seq(d, Rc::new(flat_like(e, cells)))
        }
    }
}
