// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reading elements: `s[i]` and `s -> is`. A sequence of an outer context is read where it lies.

use super::context::{Ctx, Flat, ROOT, Translation, Value};
use crate::core::PlaceId;
use crate::vcode::{Cell, Constant, Kind};
use std::rc::Rc;

const BAD_INDEX: &str = "Sequence reference (a[i]) out of bounds.";
const BAD_READ: &str = "Index out of bounds for function ->.";

impl Translation<'_> {
    /// Whether an index is outside its sequence.
    pub(super) fn out_of_bounds(&mut self, index: Cell, lengths: Cell, at: Ctx) -> Cell {
        if let (Some(i), Some(length)) = (self.b.known_int(index), self.b.known_int(lengths)) {
            return self.constant_at(Constant::Bool(vec![i < 0 || i >= length]), at);
        }
        let over = self.b.op(">=", Some(Kind::Int), &[index, lengths]);
        if self.b.known_int(index).is_some_and(|i| i >= 0) {
            return over;
        }
        let zero = self.constant_at(Constant::Int(vec![0]), at);
        let under = self.b.op("<", Some(Kind::Int), &[index, zero]);
        self.b.op("OR", Some(Kind::Bool), &[under, over])
    }

    /// `s[i]`
    pub(super) fn elt(&mut self, sequence: &Value, index: &Value, place: PlaceId, ctx: Ctx) -> Value {
        let at = self.checked_context(&[sequence.clone(), index.clone()], ctx);
        let own = self.context_of(sequence);
        let (d, elements) = self.seq_at(sequence, own);
        let index = self.scalar_at(index, at);
        let lengths = self.b.lengths(d);
        let lengths = self.leaf(own, Flat::Scalar(lengths));
        let lengths_here = self.scalar_at(&lengths, at);
        let bad = self.out_of_bounds(index, lengths_here, at);
        self.fail_if(bad, at, ctx, BAD_INDEX, place);
        let mut position = None;
        let flat = self.elt_part(&elements, (own, d), index, at, &mut position);
        self.value(at, &flat)
    }

    fn elt_part(
        &mut self,
        elements: &Flat,
        from: (Ctx, Cell),
        index: Cell,
        at: Ctx,
        position: &mut Option<Cell>,
    ) -> Flat {
        match elements {
            Flat::Unit => Flat::Unit,
            Flat::Pair(a, b) => {
                let a = self.elt_part(a, from, index, at, position);
                Flat::Pair(Rc::new(a), Rc::new(self.elt_part(b, from, index, at, position)))
            }
            Flat::Scalar(cell) if from.0 == at => {
                let kind = self.b.kind(*cell);
                Flat::Scalar(self.b.op("EXTRACT", Some(kind), &[*cell, index, from.1]))
            }
            _ => {
                let place = match *position {
                    Some(place) => place,
                    None => self.flat_position(from, index, at),
                };
                *position = Some(place);
                let count = self.count(at);
                self.gather(elements, place, count)
            }
        }
    }

    /// Where an index into a sequence of context `from.0` lies among all its elements.
    fn flat_position(&mut self, from: (Ctx, Cell), index: Cell, at: Ctx) -> Cell {
        if from.0 == ROOT {
            return index;
        }
        let starts = self.starts(from.1);
        let starts = self.leaf(from.0, Flat::Scalar(starts));
        let starts = self.scalar_at(&starts, at);
        self.b.op("+", Some(Kind::Int), &[starts, index])
    }

    /// `s -> is`
    pub(super) fn get(
        &mut self,
        sequence: &Value,
        indices: &Value,
        place: Option<PlaceId>,
        ctx: Ctx,
    ) -> Value {
        let both = [sequence.clone(), indices.clone()];
        let at = if place.is_some() { self.checked_context(&both, ctx) } else { self.common(&both) };
        let own = self.context_of(sequence);
        let (d, elements) = self.seq_at(sequence, own);
        let (index_d, index) = self.seq_at(indices, at);
        let Flat::Scalar(index) = index else { unreachable!("-> takes indices") };
        let count = if at == ROOT { index_d } else { self.b.count(index) };
        if let Some(place) = place
            && self.flattener.options.checks
        {
            let lengths = self.b.lengths(d);
            let lengths = if own == ROOT {
                self.dist(lengths, count)
            } else {
                let lengths = self.leaf(own, Flat::Scalar(lengths));
                let lengths = self.scalar_at(&lengths, at);
                self.dist(lengths, index_d)
            };
            let zero = self.dist_int(0, count);
            let under = self.b.op("<", Some(Kind::Int), &[index, zero]);
            let over = self.b.op(">=", Some(Kind::Int), &[index, lengths]);
            let bad = self.b.op("OR", Some(Kind::Bool), &[under, over]);
            let any = self.b.op("OR_REDUCE", Some(Kind::Bool), &[bad, count]);
            self.fail_where(any, BAD_READ, place);
        }
        let mut position = None;
        let flat = self.get_part(&elements, (own, d), (index, index_d, count), at, &mut position);
        self.leaf(at, Flat::Seq(index_d, Rc::new(flat)))
    }

    fn get_part(
        &mut self,
        elements: &Flat,
        from: (Ctx, Cell),
        index: (Cell, Cell, Cell),
        at: Ctx,
        position: &mut Option<Cell>,
    ) -> Flat {
        match elements {
            Flat::Unit => Flat::Unit,
            Flat::Pair(a, b) => {
                let a = self.get_part(a, from, index, at, position);
                Flat::Pair(Rc::new(a), Rc::new(self.get_part(b, from, index, at, position)))
            }
            Flat::Scalar(cell) if from.0 == at => {
                let kind = self.b.kind(*cell);
                let out = self.b.op("BPERMUTE", Some(kind), &[*cell, index.0, from.1, index.1]);
                self.b.set_count(out, index.2);
                Flat::Scalar(out)
            }
            _ => {
                let place = match *position {
                    Some(place) => place,
                    None if from.0 == ROOT => index.0,
                    None => {
                        let starts = self.starts(from.1);
                        let starts = self.leaf(from.0, Flat::Scalar(starts));
                        let starts = self.scalar_at(&starts, at);
                        let starts = self.dist(starts, index.1);
                        self.b.op("+", Some(Kind::Int), &[starts, index.0])
                    }
                };
                *position = Some(place);
                self.gather(elements, place, index.2)
            }
        }
    }
}
