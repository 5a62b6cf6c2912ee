// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reductions of what an apply-to-each would give, without the sequence in between.

use hadal_front::typed::{Expr, ExprKind};

use crate::body::DONE;
use crate::call::element_type;
use crate::ctype::cpp;
use crate::each::Body;
use crate::primitive::How;
use crate::writer::{Block, Writer, bare};

impl Writer<'_, '_> {
    /// `sum(s)` and the like.
    pub(crate) fn reduce_into(&mut self, expr: &Expr, how: How, argument: &Expr, place: &str) {
        let operator = match how {
            How::Reduce(operator) => operator,
            _ => "Plus",
        };
        let combine = format!("ndpc::{operator}<{}>", cpp(&expr.ty));
        let is_count = how == How::Count;
        if let ExprKind::ApplyToEach(each) = &argument.kind
            && !each.serial
            && !(is_count && each.filter.is_some())
        {
            self.mark(argument.span);
            let result = cpp(&expr.ty);
            let write = |writer: &mut Self, item: &str| {
                if is_count {
                    let flag = writer.value(&each.body);
                    writer.line(format!("{item} = static_cast<int>({});", bare(&flag)));
                } else {
                    writer.write_into(&each.body, item);
                }
            };
            if let Some((body, parts)) = self.parts(each, &result, write) {
                let (mode, site) = (self.mode(), self.site(expr.span));
                self.fork_line(&format!(
                    "ndpc::reduce_of<{combine}>({mode}, {place}, {site}, {body}, {parts})"
                ));
                return;
            }
            let looped = self.sources(each, argument);
            let item = self.names.fresh("item");
            let ((), block) = self.in_loop(true, |writer| {
                let names = writer.elements(&looped);
                write(writer, &item);
                writer.drop_unread(names, "");
            });
            let site = self.site(expr.span);
            let whole = match &each.filter {
                None => block,
                Some(filter) => {
                    let keep = self.keep(&looped, filter);
                    if keep.1.heavy || keep.1.fails || block.heavy || block.fails {
                        let element = element_type(&argument.ty);
                        let items = self.temporary(&argument.ty);
                        self.filter_into(&looped, keep, Body { block, item, element }, &site, &items);
                        self.loop_line(&format!("ndpc::reduce<{combine}>({place}, {items}, {site})"));
                        return;
                    }
                    filtered(keep, block, &item, &combine)
                }
            };
            self.names = looped.names;
            let parameter = format!("{result} &{item}");
            let (index, count) = (&looped.index, &looped.count);
            if whole.heavy {
                let mode = self.mode();
                let body = self.clones("body", index, &[&parameter], whole);
                self.fork_line(&format!(
                    "ndpc::reduce_each<{combine}>({mode}, {place}, {count}, {site}, {body})"
                ));
            } else {
                // Where nothing can fail, what follows an item that decides need not be computed.
                let decides =
                    !whole.fails && matches!(combine.as_str(), "ndpc::And<bool>" | "ndpc::Or<bool>");
                let reduction = if decides { "decide" } else { "reduce_small" };
                let body = self.lambda("body", index, &[&parameter], whole, "int", DONE);
                self.loop_line(&format!("ndpc::{reduction}<{combine}>({place}, {count}, {site}, {body})"));
            }
            return;
        }
        let items = self.value(argument);
        let site = self.site(expr.span);
        if is_count {
            self.loop_line(&format!("ndpc::count_true({place}, {items}, {site})"));
        } else {
            self.loop_line(&format!("ndpc::reduce<{combine}>({place}, {items}, {site})"));
        }
    }
}

/// The body with the filter in front: what is not wanted counts as the identity.
fn filtered((condition, keep): (String, Block), body: Block, item: &str, combine: &str) -> Block {
    let mut lines = keep.lines;
    let is_name = condition.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let condition = if is_name { condition } else { format!("({})", bare(&condition)) };
    lines.push(format!("if (!{condition}) {{"));
    lines.push(format!("    {item} = {combine}::identity;"));
    lines.push("    return ndpc::done;".into());
    lines.push("}".into());
    lines.extend(body.lines);
    Block { lines, heavy: false, fails: false }
}
