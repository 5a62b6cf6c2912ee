// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Apply-to-each: the body is evaluated in a context with one instance per element. A filter comes first, so that
//! the body sees only the elements that pass.

use super::context::{Context, Ctx, Flat, Origin, ROOT, Translation, Value};
use crate::core::{Each, Expr, analysis};
use crate::vcode::{Cell, Kind};
use std::rc::Rc;

impl Translation<'_> {
    pub(super) fn apply_to_each(&mut self, each: &Rc<Each>, ctx: Ctx) -> Value {
        let values: Vec<Value> = each.sources.iter().map(|(_, source)| self.expr(source, ctx)).collect();
        let parent = self.parent_of(each, &values, ctx);
        let sources: Vec<(Cell, Flat)> = values.iter().map(|value| self.seq_at(value, parent)).collect();
        let descriptor = sources[0].0;
        for (other, _) in &sources[1..] {
            if *other != descriptor {
                let (a, b) = (self.b.lengths(descriptor), self.b.lengths(*other));
                let bad = self.b.op("!=", Some(Kind::Int), &[a, b]);
                self.fail_if(bad, parent, ctx, "Length mismatch in an apply-to-each.", each.place);
            }
        }
        let count = self.elements_count(parent, descriptor, &sources);
        let inside = self.element_context(parent, descriptor, count);
        for ((pattern, _), (_, elements)) in each.sources.iter().zip(&sources) {
            self.note_count(elements, count);
            let value = self.value(inside, elements);
            self.bind(pattern, &value);
        }
        let Some(filter) = &each.filter else {
            let body = self.expr(&each.body, inside);
            let elements = self.at(&body, inside);
            return self.leaf(parent, Flat::Seq(descriptor, Rc::new(elements)));
        };
        let flags = self.expr(filter, inside);
        let flags = self.scalar_at(&flags, inside);
        let remaining = self.push_context(Context {
            parent: inside,
            depth: self.contexts[inside].depth + 1,
            origin: Origin::Branch(flags, descriptor),
            count: None,
            probe: self.probe(&each.body, inside),
            nonempty: false,
        });
        let body = self.expr(&each.body, remaining);
        let elements = self.at(&body, remaining);
        let (_, remains) = self.remains(remaining, flags, descriptor);
        self.leaf(parent, Flat::Seq(remains, Rc::new(elements)))
    }

    /// The context that the elements are instances in: the one of the sources and free variables if nothing can go
    /// wrong in instances that are not asked for, else the current one.
    fn parent_of(&mut self, each: &Rc<Each>, sources: &[Value], ctx: Ctx) -> Ctx {
        if ctx == ROOT || sources.len() > 1 {
            return ctx;
        }
        let body_total = each.filter.iter().chain([&each.body]).all(|inner| {
            let facts = self.facts(inner);
            facts.total && !facts.impure
        });
        if !body_total {
            return ctx;
        }
        let mut parent = self.context_of(&sources[0]);
        for var in analysis::free_in_each(each) {
            if let Some(value) = self.env.get(&var) {
                let own = self.context_of(value);
                parent = self.inner(parent, own);
            }
        }
        parent
    }

    /// A one-segment descriptor of the number of elements.
    fn elements_count(&mut self, parent: Ctx, descriptor: Cell, sources: &[(Cell, Flat)]) -> Cell {
        if parent == ROOT {
            return descriptor;
        }
        if let Some(first) = sources.iter().find_map(|(_, elements)| elements.first()) {
            return self.b.count(first);
        }
        self.total(parent, descriptor)
    }

    /// A one-segment descriptor of the sum of a descriptor's lengths.
    pub(super) fn total(&mut self, ctx: Ctx, descriptor: Cell) -> Cell {
        let lengths = self.b.lengths(descriptor);
        let outer = self.count(ctx);
        let total = self.b.op("+_REDUCE", Some(Kind::Int), &[lengths, outer]);
        let total = self.b.op("MAKE_SEGDES", None, &[total]);
        self.b.set_one_segment(total);
        total
    }

    /// A scalar of this context that the body reads: packing it gives the new descriptor without extra work.
    fn probe(&self, body: &Expr, inside: Ctx) -> Option<Cell> {
        analysis::free_variables(body).iter().find_map(|var| {
            self.env.get(var)?.leaves().into_iter().find_map(|(ctx, flat)| match flat {
                Flat::Scalar(cell) if ctx == inside => Some(*cell),
                _ => None,
            })
        })
    }
}
