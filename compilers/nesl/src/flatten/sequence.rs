// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Primitives on sequences. A descriptor has one segment per instance, so that VCODE's segmented operations are
//! the lifted ones; reading a sequence of an outer context is a gather on its one copy.

use super::context::{Ctx, Flat, ROOT, Translation, Value};
use crate::core::prim::Combine;
use crate::core::{PlaceId, Prim};
use crate::vcode::{Cell, Constant, Kind};
use std::rc::Rc;

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
