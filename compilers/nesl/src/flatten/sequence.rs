// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Primitives on sequences. A descriptor has one segment per instance, so that VCODE's segmented operations are
//! the lifted ones; reading a sequence of an outer context is a gather on its one copy.

use super::context::{Ctx, Flat, ROOT, Translation, Value};
use crate::core::prim::Combine;
use crate::core::{PlaceId, Prim};
use crate::vcode::{Cell, Constant, Kind};
use std::rc::Rc;

const BAD_INDEX: &str = "Sequence reference (a[i]) out of bounds.";
const BAD_READ: &str = "Index out of bounds for function ->.";
const BAD_WRITE: &str = "Index out of bounds for function <-.";

impl Translation<'_> {
    pub(super) fn sequence_prim(&mut self, prim: &Prim, values: &[Value], place: PlaceId, ctx: Ctx) -> Value {
        match prim {
            Prim::Elt => self.elt(&values[0], &values[1], place, ctx),
            Prim::Get => self.get(&values[0], &values[1], Some(place), ctx),
            Prim::GetUnchecked => self.get(&values[0], &values[1], None, ctx),
            Prim::Put | Prim::PutUnchecked => {
                let at = self.checked_context(values, ctx);
                let place = (*prim == Prim::Put).then_some(place);
                let (pairs_d, pairs) = self.seq_at(&values[1], at);
                let Flat::Pair(index, new) = pairs else { unreachable!("<- takes pairs") };
                let Flat::Scalar(index) = *index else { unreachable!("<- takes indices") };
                self.put(&values[0], (pairs_d, index, (*new).clone()), place, at)
            }
            Prim::Replace => {
                let at = self.checked_context(values, ctx);
                let index = self.scalar_at(&values[1], at);
                let new = self.at(&values[2], at);
                self.replace(&values[0], index, &new, place, at, ctx)
            }
            Prim::Dist => {
                let at = self.common(values);
                let lengths = self.scalar_at(&values[1], at);
                let d = self.b.op("MAKE_SEGDES", None, &[lengths]);
                if at == ROOT {
                    self.b.set_one_segment(d);
                }
                let total = if at == ROOT { d } else { self.total(at, d) };
                let from = self.context_of(&values[0]);
                let flat = self.at(&values[0], if from == ROOT { ROOT } else { at });
                let way = if from == ROOT { total } else { d };
                let elements = self.replicate(&flat, way, total);
                self.leaf(at, Flat::Seq(d, Rc::new(elements)))
            }
            Prim::Iseq => {
                let at = self.common(values);
                let cells: Vec<Cell> = values.iter().map(|value| self.scalar_at(value, at)).collect();
                let d = self.b.op("MAKE_SEGDES", None, &[cells[2]]);
                if at == ROOT {
                    self.b.set_one_segment(d);
                }
                let data = self.b.op("INDEX", None, &[cells[0], cells[1], d]);
                self.leaf(at, Flat::Seq(d, Rc::new(Flat::Scalar(data))))
            }
            Prim::Zip(message) => {
                let at = self.common(values);
                let (a_d, a) = self.seq_at(&values[0], at);
                let (b_d, b) = self.seq_at(&values[1], at);
                if a_d != b_d {
                    let (x, y) = (self.b.lengths(a_d), self.b.lengths(b_d));
                    let bad = self.b.op("!=", Some(Kind::Int), &[x, y]);
                    self.fail_if(bad, at, ctx, message, place);
                }
                self.leaf(at, Flat::Seq(a_d, Rc::new(Flat::Pair(Rc::new(a), Rc::new(b)))))
            }
            Prim::Partition => self.partition(values, place, ctx),
            _ => self.segmented(prim, values),
        }
    }

    /// Primitives that take one sequence and cannot fail.
    fn segmented(&mut self, prim: &Prim, values: &[Value]) -> Value {
        let at = self.context_of(&values[0]);
        let (d, elements) = self.seq_at(&values[0], at);
        match (prim, elements) {
            (Prim::Length, _) => {
                let lengths = self.b.lengths(d);
                self.leaf(at, Flat::Scalar(lengths))
            }
            (Prim::Pack, Flat::Pair(value, flags)) => {
                let Flat::Scalar(flags) = *flags else { unreachable!("pack takes flags") };
                let (elements, remains) = self.pack(&value, flags, d);
                let remains = remains.unwrap_or_else(|| self.pack_cell(flags, flags, d).1);
                self.leaf(at, Flat::Seq(remains, Rc::new(elements)))
            }
            (Prim::Flatten, Flat::Seq(inner, elements)) => {
                let new = match elements.first() {
                    Some(first) if at == ROOT => self.b.count(first),
                    _ => {
                        let lengths = self.b.lengths(inner);
                        let sums = self.b.op("+_REDUCE", Some(Kind::Int), &[lengths, d]);
                        self.b.op("MAKE_SEGDES", None, &[sums])
                    }
                };
                self.leaf(at, Flat::Seq(new, elements))
            }
            (Prim::Lengths, Flat::Seq(inner, _)) => {
                let lengths = self.b.lengths(inner);
                self.leaf(at, Flat::Seq(d, Rc::new(Flat::Scalar(lengths))))
            }
            (Prim::Unzip, Flat::Pair(a, b)) => {
                let first = self.leaf(at, Flat::Seq(d, a));
                let second = self.leaf(at, Flat::Seq(d, b));
                Value::pair(first, second)
            }
            (Prim::Scan(combine, kind), Flat::Scalar(cell)) => {
                let out = self.b.op(scan_name(*combine), Some(*kind), &[cell, d]);
                self.leaf(at, Flat::Seq(d, Rc::new(Flat::Scalar(out))))
            }
            (Prim::Reduce(combine, kind), Flat::Scalar(cell)) => {
                let out = self.b.op(reduce_name(*combine), Some(*kind), &[cell, d]);
                self.leaf(at, Flat::Scalar(out))
            }
            (Prim::Rank(up, kind), Flat::Scalar(cell)) => {
                let name = if *up { "RANK_UP" } else { "RANK_DOWN" };
                let out = self.b.op(name, Some(*kind), &[cell, d]);
                self.leaf(at, Flat::Seq(d, Rc::new(Flat::Scalar(out))))
            }
            (other, elements) => unreachable!("{other:?} of {elements:?}"),
        }
    }

    /// Whether an index is outside its sequence.
    fn out_of_bounds(&mut self, index: Cell, lengths: Cell, at: Ctx) -> Cell {
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
    fn elt(&mut self, sequence: &Value, index: &Value, place: PlaceId, ctx: Ctx) -> Value {
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
    fn get(&mut self, sequence: &Value, indices: &Value, place: Option<PlaceId>, ctx: Ctx) -> Value {
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

    /// A copy of a sequence with new elements at some positions.
    fn put(&mut self, old: &Value, new: (Cell, Cell, Flat), place: Option<PlaceId>, at: Ctx) -> Value {
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

    fn replace(&mut self, old: &Value, index: Cell, new: &Flat, place: PlaceId, at: Ctx, ctx: Ctx) -> Value {
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

    /// `partition(v, lengths)`
    fn partition(&mut self, values: &[Value], place: PlaceId, ctx: Ctx) -> Value {
        let at = self.checked_context(values, ctx);
        let (d, elements) = self.seq_at(&values[0], at);
        let (outer, lengths) = self.seq_at(&values[1], at);
        let Flat::Scalar(lengths) = lengths else { unreachable!("partition takes lengths") };
        if self.flattener.options.checks {
            let own = self.b.lengths(d);
            let sums = self.b.op("+_REDUCE", Some(Kind::Int), &[lengths, outer]);
            let least = self.b.op("MIN_REDUCE", Some(Kind::Int), &[lengths, outer]);
            let differs = self.b.op("!=", Some(Kind::Int), &[own, sums]);
            let zero = self.constant_at(Constant::Int(vec![0]), at);
            let negative = self.b.op("<", Some(Kind::Int), &[least, zero]);
            let bad = self.b.op("OR", Some(Kind::Bool), &[differs, negative]);
            self.fail_if(bad, at, ctx, "Length mismatch in function PARTITION.", place);
        }
        let inner = self.b.op("MAKE_SEGDES", None, &[lengths]);
        self.leaf(at, Flat::Seq(outer, Rc::new(Flat::Seq(inner, Rc::new(elements)))))
    }
}

fn scan_name(combine: Combine) -> &'static str {
    match combine {
        Combine::Add => "+_SCAN",
        Combine::Multiply => "*_SCAN",
        Combine::Max => "MAX_SCAN",
        Combine::Min => "MIN_SCAN",
        Combine::And => "AND_SCAN",
        Combine::Or => "OR_SCAN",
        Combine::Xor => "XOR_SCAN",
    }
}

fn reduce_name(combine: Combine) -> &'static str {
    match combine {
        Combine::Add => "+_REDUCE",
        Combine::Multiply => "*_REDUCE",
        Combine::Max => "MAX_REDUCE",
        Combine::Min => "MIN_REDUCE",
        Combine::And => "AND_REDUCE",
        Combine::Or => "OR_REDUCE",
        Combine::Xor => "XOR_REDUCE",
    }
}
