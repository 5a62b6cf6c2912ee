// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Copies with new elements: `d <- ps` and `rep(s, v, i)`.

use super::context::{Ctx, Flat, ROOT, Translation, Value};
use crate::core::PlaceId;
use crate::vcode::{Cell, Kind};
use std::rc::Rc;

const BAD_WRITE: &str = "Index out of bounds for function <-.";

impl Translation<'_> {
    /// A copy of a sequence with new elements at some positions.
    pub(super) fn put(
        &mut self,
        old: &Value,
        new: (Cell, Cell, Flat),
        place: Option<PlaceId>,
        at: Ctx,
    ) -> Value {
        let (d, elements) = self.seq_at(old, at);
        let (new_d, index, new) = new;
        if let Some(place) = place
            && self.flattener.options.checks
        {
            let lengths = self.b.lengths(d);
            let lengths = self.dist(lengths, new_d);
            let count = if at == ROOT { new_d } else { self.b.count(index) };
            let zero = self.dist_int(0, count);
            let under = self.b.op("<", Some(Kind::Int), &[index, zero]);
            let over = self.b.op(">=", Some(Kind::Int), &[index, lengths]);
            let bad = self.b.op("OR", Some(Kind::Bool), &[under, over]);
            let any = self.b.op("OR_REDUCE", Some(Kind::Bool), &[bad, count]);
            self.fail_where(any, BAD_WRITE, place);
        }
        let flat = self.put_part(&elements, &new, index, d, new_d);
        self.leaf(at, Flat::Seq(d, Rc::new(flat)))
    }

    fn put_part(&mut self, old: &Flat, new: &Flat, index: Cell, d: Cell, new_d: Cell) -> Flat {
        match (old, new) {
            (Flat::Pair(a, b), Flat::Pair(x, y)) => {
                let a = self.put_part(a, x, index, d, new_d);
                Flat::Pair(Rc::new(a), Rc::new(self.put_part(b, y, index, d, new_d)))
            }
            (Flat::Scalar(cell), Flat::Scalar(value)) => {
                let kind = self.b.kind(*cell);
                Flat::Scalar(self.b.op("DPERMUTE", Some(kind), &[*value, index, *cell, new_d, d]))
            }
            (Flat::Seq(..), Flat::Seq(..)) => self.put_segments(old, new, index, d, new_d),
            _ => Flat::Unit,
        }
    }

    /// The same for elements that are sequences: scatter where each comes from, then fetch old and new ones.
    fn put_segments(&mut self, old: &Flat, new: &Flat, index: Cell, d: Cell, new_d: Cell) -> Flat {
        let (Some(old_first), Some(new_first)) = (old.first(), new.first()) else { return Flat::Unit };
        let (old_count, new_count) = (self.b.count(old_first), self.b.count(new_first));
        let old_iota = self.iota(old_count);
        let new_iota = self.iota(new_count);
        let shift = self.b.lengths(old_count);
        let shift_new = self.dist(shift, new_count);
        let shifted = self.b.op("+", Some(Kind::Int), &[new_iota, shift_new]);
        let source = self.b.op("DPERMUTE", Some(Kind::Int), &[shifted, index, old_iota, new_d, d]);
        let shift_old = self.dist(shift, old_count);
        let is_new = self.b.op(">=", Some(Kind::Int), &[source, shift_old]);
        let is_old = self.b.op("NOT", Some(Kind::Bool), &[is_new]);
        let relative = self.b.op("-", Some(Kind::Int), &[source, shift_old]);
        let (new_at, count) = self.pack_cell(old_iota, is_new, old_count);
        let (from, _) = self.pack_cell(relative, is_new, old_count);
        let taken = self.gather(new, from, count);
        let (old_at, old_left) = self.pack_cell(old_iota, is_old, old_count);
        let kept = self.pack(old, is_old, old_count).0;
        self.scatter(&[(kept, old_at, old_left), (taken, new_at, count)], old_count)
    }

    pub(super) fn replace(
        &mut self,
        old: &Value,
        index: Cell,
        new: &Flat,
        place: PlaceId,
        at: Ctx,
        ctx: Ctx,
    ) -> Value {
        let count = self.count(at);
        let one = if at == ROOT { self.b.int(1) } else { self.dist_int(1, count) };
        let singles = self.b.op("MAKE_SEGDES", None, &[one]);
        let (d, elements) = self.seq_at(old, at);
        let lengths = self.b.lengths(d);
        let bad = self.out_of_bounds(index, lengths, at);
        self.fail_if(bad, at, ctx, "Index out of bounds for function REP.", place);
        let flat = self.replace_part(&elements, new, index, d, singles);
        self.leaf(at, Flat::Seq(d, Rc::new(flat)))
    }

    fn replace_part(&mut self, old: &Flat, new: &Flat, index: Cell, d: Cell, singles: Cell) -> Flat {
        match (old, new) {
            (Flat::Pair(a, b), Flat::Pair(x, y)) => {
                let a = self.replace_part(a, x, index, d, singles);
                Flat::Pair(Rc::new(a), Rc::new(self.replace_part(b, y, index, d, singles)))
            }
            (Flat::Scalar(cell), Flat::Scalar(value)) => {
                let kind = self.b.kind(*cell);
                Flat::Scalar(self.b.op("REPLACE", Some(kind), &[*cell, index, *value, d]))
            }
            (Flat::Seq(..), Flat::Seq(..)) => self.put_segments(old, new, index, d, singles),
            _ => Flat::Unit,
        }
    }
}
