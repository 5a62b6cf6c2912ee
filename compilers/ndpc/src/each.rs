// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Apply-to-each, and reductions of what it would give without the sequence in between.

use hadal_front::typed::{ApplyToEach, Expr, ExprKind, Pattern};

use crate::call::{element_type, join};
use crate::ctype::{cpp, is_scalar};
use crate::names::Names;
use crate::primitive::How;
use crate::writer::{Block, Writer, bare, mentions};

/// What an apply-to-each goes over.
enum Source<'e> {
    /// A sequence at a place.
    Place(&'e Pattern, String),
    /// A literal: an array of scalars, or of pointers to what else there is.
    Literal(&'e Pattern, String),
    /// `first`, `first + stride`, ... without a sequence.
    Range(&'e Pattern, String, String),
}

/// The loop around a body.
struct Loop<'e> {
    sources: Vec<Source<'e>>,
    count: String,
    index: String,
    /// The names before those of the body, which end with it.
    names: Names,
}

/// Longer literals are sequences.
const LONGEST_ARRAY: usize = 64;

const SMALL: &str = "<ndpc::Size::small>";

impl Writer<'_, '_> {
    /// `{body : sources | filter}`
    pub(crate) fn each_into(&mut self, each: &ApplyToEach, expr: &Expr, place: &str) {
        self.mark(expr.span);
        let looped = self.sources(each, expr);
        let item = self.names.fresh("item");
        let ((), body) = self.apart(|writer| {
            let names = writer.elements(&looped);
            writer.write_into(&each.body, &item);
            writer.drop_unread(names, "");
        });
        let element = element_type(&expr.ty);
        let site = self.site(expr.span);
        match &each.filter {
            Some(filter) => {
                let keep = self.keep(&looped, filter);
                self.filter_into(&looped, keep, (body, item, element), &site, place);
            }
            None => {
                let function = if each.serial { "each_serial" } else { "each" };
                let size = if body.heavy || each.serial { "" } else { SMALL };
                self.names = looped.names;
                let name =
                    self.body(&looped.index, &format!("{element} &{item}"), body, "return ndpc::done;");
                self.loop_line(&format!("ndpc::{function}{size}({place}, {}, {site}, {name})", looped.count));
            }
        }
    }

    /// The condition of a filter, and the statements before it.
    fn keep(&mut self, looped: &Loop<'_>, filter: &Expr) -> (String, Block) {
        self.apart(|writer| {
            let names = writer.elements(looped);
            let condition = writer.value(filter);
            writer.drop_unread(names, &condition);
            condition
        })
    }

    /// `body` is the statements, the item that they set, and its type.
    fn filter_into(
        &mut self,
        looped: &Loop<'_>,
        (condition, mut keep): (String, Block),
        (body, item, element): (Block, String, String),
        site: &str,
        place: &str,
    ) {
        let (index, count) = (&looped.index, &looped.count);
        let inner = std::mem::replace(&mut self.names, looped.names.clone());
        if !(keep.heavy || keep.fails || body.heavy || body.fails) {
            keep.lines.push(format!("return {};", bare(&condition)));
            let keep = self.lambda("keep", index, "", keep, "bool", "");
            let body = self.lambda("body", index, &format!(", {element} &{item}"), body, "void", "");
            self.loop_line(&format!("ndpc::filter_small({place}, {count}, {site}, {keep}, {body})"));
            return;
        }
        // The parameters that follow must differ from what is in the bodies.
        let outer = std::mem::replace(&mut self.names, inner);
        let (wanted, place_in_kept) = (self.names.fresh("wanted"), self.names.fresh("k"));
        self.names = outer;
        keep.lines.push(format!("{wanted} = {};", bare(&condition)));
        let keep =
            self.lambda("keep", index, &format!(", bool &{wanted}"), keep, "int", "return ndpc::done;");
        let kept = self.names.fresh("kept");
        self.line(format!("ndpc::Seq<int> {kept};"));
        self.loop_line(&format!("ndpc::select({kept}, {count}, {site}, {keep})"));
        let size = if body.heavy { "" } else { SMALL };
        let mut whole = Block { lines: Vec::new(), heavy: body.heavy, fails: body.fails };
        if body.mentions(index) {
            whole.lines.push(format!("std::int64_t const {index} = {kept}[{place_in_kept}];"));
        }
        whole.lines.extend(body.lines);
        let name = self.body(&place_in_kept, &format!("{element} &{item}"), whole, "return ndpc::done;");
        self.loop_line(&format!("ndpc::each{size}({place}, {kept}.count(), {site}, {name})"));
    }

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
            let looped = self.sources(each, argument);
            let item = self.names.fresh("item");
            let ((), body) = self.apart(|writer| {
                let names = writer.elements(&looped);
                if is_count {
                    let flag = writer.value(&each.body);
                    writer.line(format!("{item} = static_cast<int>({});", bare(&flag)));
                } else {
                    writer.write_into(&each.body, &item);
                }
                writer.drop_unread(names, "");
            });
            let site = self.site(expr.span);
            let whole = match &each.filter {
                None => body,
                Some(filter) => {
                    let keep = self.keep(&looped, filter);
                    if keep.1.heavy || keep.1.fails || body.heavy || body.fails {
                        let element = element_type(&argument.ty);
                        let items = self.temporary(&argument.ty);
                        self.filter_into(&looped, keep, (body, item, element), &site, &items);
                        self.loop_line(&format!("ndpc::reduce<{combine}>({place}, {items}, {site})"));
                        return;
                    }
                    filtered(keep, body, &item, &combine)
                }
            };
            let size = if whole.heavy { "any" } else { "small" };
            self.names = looped.names;
            let parameter = format!("{} &{item}", cpp(&expr.ty));
            let name = self.body(&looped.index, &parameter, whole, "return ndpc::done;");
            self.loop_line(&format!(
                "ndpc::reduce_each<{combine}, ndpc::Size::{size}>({place}, {}, {site}, {name})",
                looped.count
            ));
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

    /// Evaluates the sources and checks their lengths.
    fn sources<'e>(&mut self, each: &'e ApplyToEach, expr: &Expr) -> Loop<'e> {
        let mut sources = Vec::new();
        let mut counts: Vec<String> = Vec::new();
        for (pattern, source) in &each.sources {
            if let Some((first, stride, count)) = self.range(source) {
                counts.push(count);
                sources.push(Source::Range(pattern, first, stride));
            } else if let ExprKind::Sequence(elements) = &source.kind
                && elements.len() <= LONGEST_ARRAY
            {
                counts.push(elements.len().to_string());
                if pattern.bindings().iter().any(|(id, ..)| self.is_used(*id)) {
                    let array = self.array(elements);
                    sources.push(Source::Literal(pattern, array));
                } else {
                    // Only what may fail on the way is left of it.
                    elements.iter().for_each(|element| {
                        self.value(element);
                    });
                }
            } else {
                let place = self.value(source);
                counts.push(format!("{place}.count()"));
                sources.push(Source::Place(pattern, place));
            }
        }
        let count = counts[0].clone();
        let site = self.site(expr.span);
        for other in &counts[1..] {
            self.try_line(&format!("ndpc::same_length({count}, {other}, {site})"));
        }
        let names = self.names.clone();
        Loop { sources, count, index: self.names.fresh("i"), names }
    }

    /// An array with the elements of a literal, which nobody but the loop sees.
    fn array(&mut self, elements: &[Expr]) -> String {
        let ty = &elements[0].ty;
        let values: Vec<String> = elements.iter().map(|element| self.value(element)).collect();
        let name = self.names.fresh("parts");
        if is_scalar(ty) {
            self.line(format!("{} const {name}[] = {{{}}};", cpp(ty), join(&values)));
        } else {
            let pointers: Vec<String> = values.iter().map(|value| format!("&{value}")).collect();
            self.line(format!("{} const *const {name}[] = {{{}}};", cpp(ty), pointers.join(", ")));
        }
        name
    }

    /// First, stride and count of a source that is a range.
    fn range(&mut self, source: &Expr) -> Option<(String, String, String)> {
        let ExprKind::Call(function, argument) = &source.kind else { return None };
        let (how, count) = self.primitive(function)?;
        let numbers = match how {
            How::Sequence("range") => self.arguments(argument, count),
            How::Sequence("index") => {
                let mut all = vec!["0".to_string()];
                all.extend(self.arguments(argument, 1));
                all.push("1".into());
                all
            }
            _ => return None,
        };
        let mut first = numbers[0].clone();
        if !first.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            let name = self.names.fresh("first");
            self.line(format!("int const {name} = {};", bare(&first)));
            first = name;
        }
        let mut stride = numbers[2].clone();
        if !stride.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            let name = self.names.fresh("stride");
            self.line(format!("int const {name} = {};", bare(&stride)));
            stride = name;
        }
        let site = self.site(source.span);
        let length = self.names.fresh("n");
        self.line(format!("std::int64_t {length} = 0;"));
        let arguments = join(&[first.clone(), numbers[1].clone(), stride.clone()]);
        let check = if how == How::Sequence("index") { "index_length" } else { "range_length" };
        self.try_line(&format!("ndpc::{check}({length}, {arguments}, {site})"));
        Some((first, stride, length))
    }

    /// The variables of the sources for the current index: the first statements of a block. Gives how many those are.
    fn elements(&mut self, looped: &Loop<'_>) -> usize {
        let index = &looped.index;
        for source in &looped.sources {
            match source {
                Source::Place(pattern, place) => self.destructure(pattern, &format!("{place}[{index}]")),
                Source::Literal(pattern, array) if is_scalar(&pattern.ty) => {
                    self.destructure(pattern, &format!("{array}[{index}]"));
                }
                Source::Literal(pattern, array) => {
                    self.destructure(pattern, &format!("(*{array}[{index}])"));
                }
                Source::Range(pattern, first, stride) => {
                    let number = match (first.as_str(), stride.as_str()) {
                        ("0", "1") => format!("static_cast<int>({index})"),
                        (_, "1") => format!("static_cast<int>({first} + {index})"),
                        _ => format!("static_cast<int>({first} + {index} * {stride})"),
                    };
                    self.destructure(pattern, &number);
                }
            }
        }
        self.block.lines.len()
    }

    /// Drops those of the first `count` statements whose variables are not read in the rest of the block or `last`:
    /// what a filter reads the body may not, and the other way round.
    fn drop_unread(&mut self, count: usize, last: &str) {
        for number in (0..count).rev() {
            let line = &self.block.lines[number];
            // `type const name = place;`
            let name = line.split(" = ").next().and_then(|left| left.rsplit([' ', '&']).next()).unwrap_or("");
            let name = name.to_string();
            let is_read = mentions(last, &name)
                || self.block.lines[number + 1..].iter().any(|line| mentions(line, &name));
            if !is_read {
                self.block.lines.remove(number);
            }
        }
    }

    /// A loop: a statement that takes its time.
    fn loop_line(&mut self, operation: &str) {
        self.block.heavy = true;
        self.try_line(operation);
    }

    fn body(&mut self, index: &str, item: &str, block: Block, last: &str) -> String {
        self.lambda("body", index, &format!(", {item}"), block, "int", last)
    }

    /// Writes a function object and gives its name.
    fn lambda(
        &mut self,
        name: &str,
        index: &str,
        more: &str,
        mut block: Block,
        result: &str,
        last: &str,
    ) -> String {
        if !last.is_empty() {
            block.lines.push(last.into());
        }
        let name = self.names.fresh(name);
        let index = if block.mentions(index) { format!(" {index}") } else { String::new() };
        // A body that cannot fail does not make what is around it fail.
        let fails = self.block.fails;
        self.nest(&format!("auto {name} = [&](std::int64_t{index}{more}) -> {result} {{"), block, "};");
        self.block.fails = fails;
        name
    }
}

/// The body with the filter in front: what is not wanted counts as the identity.
fn filtered((condition, keep): (String, Block), body: Block, item: &str, combine: &str) -> Block {
    let mut lines = keep.lines;
    lines.push(format!("if (!({})) {{", bare(&condition)));
    lines.push(format!("    {item} = {combine}::identity;"));
    lines.push("    return ndpc::done;".into());
    lines.push("}".into());
    lines.extend(body.lines);
    Block { lines, heavy: false, fails: false }
}
