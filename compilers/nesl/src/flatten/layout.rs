// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Moving elements of any shape: replicate, gather, pack, scatter. Scalars take one VCODE operation, pairs go part
//! by part, sequences move their lengths and then the elements of their segments. All work is linear in what moves.

use super::context::{Flat, Translation};
use crate::vcode::{Cell, Kind};
use std::rc::Rc;

impl Translation<'_> {
    /// Exclusive sums of the lengths: where each segment of a descriptor starts.
    pub(super) fn starts(&mut self, descriptor: Cell) -> Cell {
        let lengths = self.b.lengths(descriptor);
        if self.b.has_one_segment(descriptor) {
            return self.b.int(0);
        }
        let count = self.b.count(descriptor);
        self.b.op("+_SCAN", Some(Kind::Int), &[lengths, count])
    }

    /// A value once for each element of the descriptor's segments; scalars that are the root's count as one.
    pub(super) fn dist(&mut self, cell: Cell, descriptor: Cell) -> Cell {
        let kind = self.b.kind(cell);
        self.b.op("DIST", Some(kind), &[cell, descriptor])
    }

    /// An integer constant for each instance.
    pub(super) fn dist_int(&mut self, value: i32, count: Cell) -> Cell {
        let cell = self.b.int(value);
        self.dist(cell, count)
    }

    /// `start, start + 1, ...` in each segment.
    pub(super) fn index_from(&mut self, starts: Cell, descriptor: Cell, count: Cell) -> Cell {
        let one = if self.b.has_one_segment(descriptor) { self.b.int(1) } else { self.dist_int(1, count) };
        self.b.op("INDEX", None, &[starts, one, descriptor])
    }

    /// `0, 1, ...` over all instances.
    pub(super) fn iota(&mut self, count: Cell) -> Cell {
        let (zero, one) = (self.b.int(0), self.b.int(1));
        self.b.op("INDEX", None, &[zero, one, count])
    }

    /// Instance i as often as segment i of the descriptor has elements; `count` is their number.
    pub(super) fn replicate(&mut self, flat: &Flat, descriptor: Cell, count: Cell) -> Flat {
        match flat {
            Flat::Unit => Flat::Unit,
            Flat::Scalar(cell) => {
                let out = self.dist(*cell, descriptor);
                self.b.set_count(out, count);
                Flat::Scalar(out)
            }
            Flat::Pair(a, b) => {
                let a = self.replicate(a, descriptor, count);
                Flat::Pair(Rc::new(a), Rc::new(self.replicate(b, descriptor, count)))
            }
            Flat::Seq(d, elements) => {
                let lengths = self.b.lengths(*d);
                let starts = self.starts(*d);
                let new_lengths = self.dist(lengths, descriptor);
                let new_starts = self.dist(starts, descriptor);
                self.b.set_count(new_lengths, count);
                self.segments(elements, new_starts, new_lengths, count)
            }
        }
    }

    /// The segments of `elements` that start at `starts` and have `lengths`.
    fn segments(&mut self, elements: &Flat, starts: Cell, lengths: Cell, count: Cell) -> Flat {
        let d = self.b.op("MAKE_SEGDES", None, &[lengths]);
        let index = self.index_from(starts, d, count);
        let total = self.b.count(index);
        let elements = self.gather(elements, index, total);
        self.b.set_count(d, count);
        Flat::Seq(d, Rc::new(elements))
    }

    /// The elements at the given positions; `count` is the number of these.
    pub(super) fn gather(&mut self, flat: &Flat, index: Cell, count: Cell) -> Flat {
        match flat {
            Flat::Unit => Flat::Unit,
            Flat::Scalar(cell) => {
                let kind = self.b.kind(*cell);
                let from = self.b.count(*cell);
                Flat::Scalar(self.b.op("BPERMUTE", Some(kind), &[*cell, index, from, count]))
            }
            Flat::Pair(a, b) => {
                let a = self.gather(a, index, count);
                Flat::Pair(Rc::new(a), Rc::new(self.gather(b, index, count)))
            }
            Flat::Seq(d, elements) => {
                let lengths = self.b.lengths(*d);
                let starts = self.starts_of_all(*d);
                let from = self.b.count(*d);
                let new_lengths = self.b.op("BPERMUTE", Some(Kind::Int), &[lengths, index, from, count]);
                let new_starts = self.b.op("BPERMUTE", Some(Kind::Int), &[starts, index, from, count]);
                self.segments(elements, new_starts, new_lengths, count)
            }
        }
    }

    /// As [`Self::starts`], as a vector in every case.
    fn starts_of_all(&mut self, descriptor: Cell) -> Cell {
        let lengths = self.b.lengths(descriptor);
        let count = self.b.count(descriptor);
        self.b.op("+_SCAN", Some(Kind::Int), &[lengths, count])
    }

    /// The instances whose flag is set, and the descriptor of what remains of each segment of `descriptor`, if
    /// there is anything to pack.
    pub(super) fn pack(&mut self, flat: &Flat, flags: Cell, descriptor: Cell) -> (Flat, Option<Cell>) {
        match flat {
            Flat::Unit => (Flat::Unit, None),
            Flat::Scalar(cell) => {
                let (out, remains) = self.pack_cell(*cell, flags, descriptor);
                (Flat::Scalar(out), Some(remains))
            }
            Flat::Pair(a, b) => {
                let (a, first) = self.pack(a, flags, descriptor);
                let (b, second) = self.pack(b, flags, descriptor);
                (Flat::Pair(Rc::new(a), Rc::new(b)), first.or(second))
            }
            Flat::Seq(d, elements) => {
                // The segments that stay are fetched: that costs what they hold, not what all hold.
                let lengths = self.b.lengths(*d);
                let (new_lengths, remains) = self.pack_cell(lengths, flags, descriptor);
                if **elements == Flat::Unit {
                    let new = self.b.op("MAKE_SEGDES", None, &[new_lengths]);
                    return (Flat::Seq(new, Rc::clone(elements)), Some(remains));
                }
                let starts = self.starts_of_all(*d);
                let (new_starts, _) = self.pack_cell(starts, flags, descriptor);
                let count = self.b.count(new_lengths);
                (self.segments(elements, new_starts, new_lengths, count), Some(remains))
            }
        }
    }

    /// `PACK` of one cell.
    pub(super) fn pack_cell(&mut self, cell: Cell, flags: Cell, descriptor: Cell) -> (Cell, Cell) {
        let kind = self.b.kind(cell);
        let out = self.b.op_multi("PACK", Some(kind), &[cell, flags, descriptor], &[kind, Kind::Segdes]);
        (out[0], out[1])
    }

    /// Several representations put together: part i's elements go to the positions given with it. `count` is the
    /// number of all elements; each part comes with its own.
    pub(super) fn scatter(&mut self, parts: &[(Flat, Cell, Cell)], count: Cell) -> Flat {
        match &parts[0].0 {
            Flat::Unit => Flat::Unit,
            Flat::Scalar(first) => {
                let kind = self.b.kind(*first);
                let zero = self.zero(kind);
                let mut out = self.dist(zero, count);
                for (flat, position, own) in parts {
                    if let Flat::Scalar(cell) = flat {
                        out = self.b.op("DPERMUTE", Some(kind), &[*cell, *position, out, *own, count]);
                    }
                }
                Flat::Scalar(out)
            }
            Flat::Pair(..) => {
                let half = |second: bool| -> Vec<(Flat, Cell, Cell)> {
                    parts
                        .iter()
                        .filter_map(|(flat, position, own)| match flat {
                            Flat::Pair(a, b) => {
                                Some(((**if second { b } else { a }).clone(), *position, *own))
                            }
                            _ => None,
                        })
                        .collect()
                };
                let a = self.scatter(&half(false), count);
                Flat::Pair(Rc::new(a), Rc::new(self.scatter(&half(true), count)))
            }
            Flat::Seq(..) => {
                let sequences: Vec<(Cell, Rc<Flat>, Cell, Cell)> = parts
                    .iter()
                    .filter_map(|(flat, position, own)| match flat {
                        Flat::Seq(d, e) => Some((*d, Rc::clone(e), *position, *own)),
                        _ => None,
                    })
                    .collect();
                let mut lengths = Vec::new();
                for (d, _, position, own) in &sequences {
                    lengths.push((Flat::Scalar(self.b.lengths(*d)), *position, *own));
                }
                let Flat::Scalar(lengths) = self.scatter(&lengths, count) else { return Flat::Unit };
                let starts = self.b.op("+_SCAN", Some(Kind::Int), &[lengths, count]);
                let total = self.b.op("+_REDUCE", Some(Kind::Int), &[lengths, count]);
                let total = self.b.op("MAKE_SEGDES", None, &[total]);
                self.b.set_one_segment(total);
                let d = self.b.op("MAKE_SEGDES", None, &[lengths]);
                let mut inner = Vec::new();
                for (own_d, elements, position, own) in sequences {
                    let from = self.b.op("BPERMUTE", Some(Kind::Int), &[starts, position, count, own]);
                    let index = self.index_from(from, own_d, own);
                    let number = self.b.count(index);
                    inner.push(((*elements).clone(), index, number));
                }
                Flat::Seq(d, Rc::new(self.scatter(&inner, total)))
            }
        }
    }
}
