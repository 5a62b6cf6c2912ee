// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `items <- changes`. What an apply-to-each or `zip` would give is made where it is needed, without the sequence in between.

use hadal_front::typed::{ApplyToEach, Expr, ExprKind};
use hadal_front::types::Type;

use crate::call::{element_type, join};
use crate::ctype::is_scalar;
use crate::each::Body;
use crate::primitive::How;
use crate::writer::{Block, Writer};

impl Writer<'_, '_> {
    pub(crate) fn scatter_into(&mut self, expr: &Expr, argument: &Expr, place: &str) {
        let of_scalars = matches!(&expr.ty, Type::Seq(item) if is_scalar(item));
        if let ExprKind::Pair(items, changes) = &argument.kind
            && of_scalars
        {
            match &changes.kind {
                ExprKind::ApplyToEach(each) if is_simple(each) => {
                    let items = self.value(items);
                    self.scatter_each(expr, &items, each, changes, place);
                    return;
                }
                ExprKind::Call(function, pair)
                    if matches!(self.primitive(function), Some((How::Sequence("zip"), _))) =>
                {
                    let items = self.value(items);
                    self.scatter_zip(expr, &items, changes, pair, place);
                    return;
                }
                _ => {}
            }
        }
        let arguments = self.arguments(argument, 2);
        let site = self.site(expr.span);
        self.loop_line(&format!("ndpc::scatter({place}, {}, {site})", join(&arguments)));
    }

    fn scatter_each(&mut self, expr: &Expr, items: &str, each: &ApplyToEach, changes: &Expr, place: &str) {
        self.mark(changes.span);
        let looped = self.sources(each, changes);
        let item = self.names.fresh("item");
        let ((), block) = self.in_loop(true, |writer| {
            let names = writer.elements(&looped);
            writer.write_into(&each.body, &item);
            writer.drop_unread(names, "");
        });
        self.names = looped.names;
        let element = element_type(&changes.ty);
        if block.heavy || block.fails {
            let made = self.temporary(&changes.ty);
            let site = self.site(changes.span);
            let body = Body { block, item, element };
            self.each_line(&looped.index, body, &looped.count, &site, &made, false);
            let site = self.site(expr.span);
            self.loop_line(&format!("ndpc::scatter({place}, {items}, {made}, {site})"));
            return;
        }
        self.scatter_line(expr, items, &looped.index, Body { block, item, element }, &looped.count, place);
    }

    fn scatter_zip(&mut self, expr: &Expr, items: &str, changes: &Expr, pair: &Expr, place: &str) {
        let arguments = self.arguments(pair, 2);
        let (places, values) = (&arguments[0], &arguments[1]);
        let site = self.site(changes.span);
        self.try_line(&format!("ndpc::zip_length({places}.count(), {values}.count(), {site})"));
        let (index, item) = (self.names.fresh("i"), self.names.fresh("item"));
        let lines = vec![format!("{item} = {{{places}[{index}], {values}[{index}]}};")];
        let block = Block { lines, heavy: false, fails: false };
        let body = Body { block, item, element: element_type(&changes.ty) };
        self.scatter_line(expr, items, &index, body, &format!("{places}.count()"), place);
    }

    /// Body gives change number `index` of `count`.
    fn scatter_line(&mut self, expr: &Expr, items: &str, index: &str, body: Body, count: &str, place: &str) {
        let parameter = format!("{} &{}", body.element, body.item);
        let body = self.lambda("change", index, &[&parameter], body.block, "void", "");
        let site = self.site(expr.span);
        self.loop_line(&format!("ndpc::scatter_small({place}, {items}, {count}, {site}, {body})"));
    }
}

/// Whether there is a loop over sequences that gives each of its items.
fn is_simple(each: &ApplyToEach) -> bool {
    !each.serial
        && each.filter.is_none()
        && each.sources.iter().all(|(_, source)| !matches!(source.kind, ExprKind::Sequence(_)))
}
