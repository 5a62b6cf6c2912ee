// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `a ++ b ++ ...`: the operands of all appends move once. If they are all elements of one sequence, as in
//! `r[0] ++ x ++ r[1]`, these move together from where they lie in it.

use super::context::{Ctx, Flat, ROOT, Translation, Value};
use crate::core::{Expr, Prim, Var};
use crate::vcode::{Cell, Kind};
use std::rc::Rc;

/// An operand.
enum Part {
    /// A sequence.
    Whole(Value),
    /// An element of one of the groups: the group, and the position in it.
    Element(usize, usize),
}

/// Which group an operand is of, and its position there.
type Place = (usize, usize);

/// A sequence of sequences, each of which is an operand.
struct Group {
    /// How many there are for each instance.
    number: usize,
    /// Their descriptor.
    inner: Cell,
    /// Their elements.
    elements: Rc<Flat>,
    /// Where the operands start in the result, by position.
    starts: Vec<Cell>,
}

impl Translation<'_> {
    pub(super) fn append_all(&mut self, args: &[Expr], ctx: Ctx) -> Value {
        let mut exprs = Vec::new();
        operands(args, &mut exprs);
        let (groups, places) = self.groups(&exprs);
        let mut parts = Vec::new();
        let mut at = groups.first().map_or(ROOT, |(ctx, _)| *ctx);
        for (expr, place) in exprs.iter().zip(&places) {
            match place {
                Some((group, position)) => parts.push(Part::Element(*group, *position)),
                None => {
                    let value = self.expr(expr, ctx);
                    let own = self.context_of(&value);
                    at = self.inner(at, own);
                    parts.push(Part::Whole(value));
                }
            }
        }
        if groups.iter().any(|(own, _)| *own != at) {
            let values: Vec<Value> = exprs.iter().map(|expr| self.expr(expr, ctx)).collect();
            let at = self.common(&values);
            return self.append(values.into_iter().map(Part::Whole).collect(), Vec::new(), at);
        }
        self.append(parts, groups.into_iter().map(|(_, group)| group).collect(), at)
    }

    /// The sequences of known length of which every element is an operand, once; and the operands that are such.
    fn groups(&self, exprs: &[&Expr]) -> (Vec<(Ctx, Group)>, Vec<Option<Place>>) {
        let mut groups = Vec::new();
        let mut places = vec![None; exprs.len()];
        let mut done: Vec<Var> = Vec::new();
        for expr in exprs {
            let Some((var, _)) = element(expr) else { continue };
            if done.contains(&var) {
                continue;
            }
            done.push(var);
            let Some(Value::Leaf(ctx, Flat::Seq(outer, nested))) = self.env.get(&var) else { continue };
            let Flat::Seq(inner, elements) = &**nested else { continue };
            let length = self.b.known_length(*outer).and_then(|length| usize::try_from(length).ok());
            let mine: Vec<(usize, usize)> = exprs
                .iter()
                .enumerate()
                .filter_map(|(index, expr)| element(expr).filter(|(v, _)| *v == var).map(|(_, k)| (index, k)))
                .collect();
            let each_once = (0..mine.len()).all(|k| mine.iter().filter(|(_, own)| *own == k).count() == 1);
            if length != Some(mine.len()) || mine.len() < 2 || !each_once {
                continue;
            }
            for (index, position) in &mine {
                places[*index] = Some((groups.len(), *position));
            }
            let starts = vec![*inner; mine.len()];
            let group = Group { number: mine.len(), inner: *inner, elements: Rc::clone(elements), starts };
            groups.push((*ctx, group));
        }
        (groups, places)
    }

    fn append(&mut self, parts: Vec<Part>, mut groups: Vec<Group>, at: Ctx) -> Value {
        let count = self.count(at);
        let mut whole: Vec<Option<(Cell, Flat)>> = Vec::new();
        let mut own_lengths = Vec::new();
        for part in &parts {
            match part {
                Part::Whole(value) => {
                    let (d, elements) = self.seq_at(value, at);
                    own_lengths.push(self.b.lengths(d));
                    whole.push(Some((d, elements)));
                }
                Part::Element(group, position) => {
                    let group = &groups[*group];
                    let (inner, number) = (group.inner, group.number);
                    let lengths = self.b.lengths(inner);
                    let from = self.b.count(inner);
                    let index = self.every(*position, number, at, count);
                    own_lengths.push(self.b.op("BPERMUTE", Some(Kind::Int), &[lengths, index, from, count]));
                    whole.push(None);
                }
            }
        }
        let mut lengths = own_lengths[0];
        for own in &own_lengths[1..] {
            lengths = self.b.op("+", Some(Kind::Int), &[lengths, *own]);
        }
        let d = self.b.op("MAKE_SEGDES", None, &[lengths]);
        let (mut start, total) = if at == ROOT {
            self.b.set_one_segment(d);
            (self.b.int(0), d)
        } else {
            let starts = self.b.op("+_SCAN", Some(Kind::Int), &[lengths, count]);
            (starts, self.total(at, d))
        };
        let mut placed = Vec::new();
        for (index, (part, whole)) in parts.into_iter().zip(whole).enumerate() {
            if index > 0 {
                start = self.b.op("+", Some(Kind::Int), &[start, own_lengths[index - 1]]);
            }
            match (part, whole) {
                (Part::Element(group, position), _) => groups[group].starts[position] = start,
                (Part::Whole(_), Some((own, elements))) => {
                    let position = self.index_from(start, own, count);
                    let number = self.b.count(position);
                    placed.push((elements, position, number));
                }
                (Part::Whole(_), None) => {}
            }
        }
        for group in groups {
            let segments = self.b.count(group.inner);
            let zero = self.b.int(0);
            let mut starts = self.dist(zero, segments);
            for (position, start) in group.starts.iter().enumerate() {
                let index = self.every(position, group.number, at, count);
                starts = self.b.op("DPERMUTE", Some(Kind::Int), &[*start, index, starts, count, segments]);
            }
            let position = self.index_from(starts, group.inner, segments);
            let number = self.b.count(position);
            placed.push(((*group.elements).clone(), position, number));
        }
        let elements = self.scatter(&placed, total);
        self.leaf(at, Flat::Seq(d, Rc::new(elements)))
    }

    /// `position`, `position + number`, ... for all instances.
    fn every(&mut self, position: usize, number: usize, at: Ctx, count: Cell) -> Cell {
        let first = self.b.int(i32::try_from(position).unwrap_or(i32::MAX));
        if at == ROOT {
            return first;
        }
        let step = self.b.int(i32::try_from(number).unwrap_or(i32::MAX));
        self.b.op("INDEX", None, &[first, step, count])
    }
}

/// The variable and the position of an operand like `r[1]`.
fn element(expr: &Expr) -> Option<(Var, usize)> {
    match expr {
        Expr::Prim(Prim::Elt, args, _) => match &args[..] {
            [Expr::Var(var), Expr::Int(position)] => Some((*var, usize::try_from(*position).ok()?)),
            _ => None,
        },
        _ => None,
    }
}

/// The operands of appends of appends, in order.
fn operands<'e>(args: &'e [Expr], out: &mut Vec<&'e Expr>) {
    for arg in args {
        match arg {
            Expr::Prim(Prim::Append, inner, _) => operands(inner, out),
            other => out.push(other),
        }
    }
}
