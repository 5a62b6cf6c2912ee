// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Apply-to-each.

use hadal_front::typed::{ApplyToEach, Expr, ExprKind, Pattern};
use hadal_front::types::Type;

use crate::body::DONE;
use crate::call::{element_type, join};
use crate::ctype::{cpp, is_scalar};
use crate::names::Names;
use crate::primitive::How;
use crate::writer::{Block, Writer, bare, mentions};

/// What an apply-to-each goes over.
pub(crate) enum Source<'e> {
    /// A sequence at a place.
    Place(&'e Pattern, String),
    /// A literal: an array of scalars, or of pointers to what else there is.
    Literal(&'e Pattern, String),
    /// `first`, `first + stride`, ... without a sequence.
    Range(&'e Pattern, String, String),
}

/// The loop around a body.
pub(crate) struct Loop<'e> {
    sources: Vec<Source<'e>>,
    pub(crate) count: String,
    pub(crate) index: String,
    /// The names before those of the body, which end with it.
    pub(crate) names: Names,
}

/// Longer literals are sequences.
pub(crate) const LONGEST_ARRAY: usize = 64;

/// A body of a loop, and what its item is called.
pub(crate) struct Body {
    pub(crate) block: Block,
    pub(crate) item: String,
    pub(crate) element: String,
}

impl Writer<'_, '_> {
    /// `{body : sources | filter}`
    pub(crate) fn each_into(&mut self, each: &ApplyToEach, expr: &Expr, place: &str) {
        self.mark(expr.span);
        let element = element_type(&expr.ty);
        if let Some((body, parts)) =
            self.parts(each, &element, |writer, item| writer.write_into(&each.body, item))
        {
            let site = self.site(expr.span);
            let mode = self.mode();
            self.fork_line(&format!("ndpc::each_of({mode}, {place}, {site}, {body}, {parts})"));
            return;
        }
        let looped = self.sources(each, expr);
        let item = self.names.fresh("item");
        let ((), block) = self.in_loop(!each.serial, |writer| {
            let names = writer.elements(&looped);
            writer.write_into(&each.body, &item);
            writer.drop_unread(names, "");
        });
        let body = Body { block, item, element };
        let site = self.site(expr.span);
        match &each.filter {
            Some(filter) => {
                let keep = self.keep(&looped, filter);
                self.filter_into(&looped, keep, body, &site, place);
            }
            None => {
                self.names = looped.names;
                self.each_line(&looped.index, body, &looped.count, &site, place, each.serial);
            }
        }
    }

    /// The loop that gives a sequence.
    pub(crate) fn each_line(
        &mut self,
        index: &str,
        body: Body,
        count: &str,
        site: &str,
        place: &str,
        is_serial: bool,
    ) {
        let parameter = format!("{} &{}", body.element, body.item);
        if !body.block.heavy {
            let body = self.lambda("body", index, &[&parameter], body.block, "int", DONE);
            self.loop_line(&format!("ndpc::fill({place}, {count}, {site}, {body})"));
            return;
        }
        let mode = self.mode();
        let body = self.clones("body", index, &[&parameter], body.block);
        let function = if is_serial { "each_serial" } else { "each" };
        self.fork_line(&format!("ndpc::{function}({mode}, {place}, {count}, {site}, {body})"));
    }

    /// The condition of a filter, and the statements before it.
    pub(crate) fn keep(&mut self, looped: &Loop<'_>, filter: &Expr) -> (String, Block) {
        self.in_loop(true, |writer| {
            let names = writer.elements(looped);
            let condition = writer.value(filter);
            writer.drop_unread(names, &condition);
            condition
        })
    }

    pub(crate) fn filter_into(
        &mut self,
        looped: &Loop<'_>,
        (condition, mut keep): (String, Block),
        body: Body,
        site: &str,
        place: &str,
    ) {
        let (index, count) = (&looped.index, &looped.count);
        let inner = std::mem::replace(&mut self.names, looped.names.clone());
        if !(keep.heavy || keep.fails || body.block.heavy || body.block.fails) {
            keep.lines.push(format!("return {};", bare(&condition)));
            let keep = self.lambda("keep", index, &[], keep, "bool", "");
            let parameter = format!("{} &{}", body.element, body.item);
            let body = self.lambda("body", index, &[&parameter], body.block, "void", "");
            self.loop_line(&format!("ndpc::filter_small({place}, {count}, {site}, {keep}, {body})"));
            return;
        }
        // The parameters that follow must differ from what is in the bodies.
        let outer = std::mem::replace(&mut self.names, inner);
        let (wanted, place_in_kept) = (self.names.fresh("wanted"), self.names.fresh("k"));
        self.names = outer;
        keep.lines.push(format!("{wanted} = {};", bare(&condition)));
        let keep = self.clones("keep", index, &[&format!("bool &{wanted}")], keep);
        let kept = self.names.fresh("kept");
        self.line(format!("ndpc::Seq<int> {kept};"));
        let mode = self.mode();
        self.fork_line(&format!("ndpc::select({mode}, {kept}, {count}, {site}, {keep})"));
        let Body { block, item, element } = body;
        let mut whole = Block { lines: Vec::new(), heavy: block.heavy, fails: block.fails };
        if block.mentions(index) {
            whole.lines.push(format!("std::int64_t const {index} = {kept}[{place_in_kept}];"));
        }
        whole.lines.extend(block.lines);
        let body = Body { block: whole, item, element };
        self.each_line(&place_in_kept, body, &format!("{kept}.count()"), site, place, false);
    }

    /// Evaluates the sources and checks their lengths.
    pub(crate) fn sources<'e>(&mut self, each: &'e ApplyToEach, expr: &Expr) -> Loop<'e> {
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
    pub(crate) fn array(&mut self, elements: &[Expr]) -> String {
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
    pub(crate) fn elements(&mut self, looped: &Loop<'_>) -> usize {
        let index = &looped.index;
        for source in &looped.sources {
            match source {
                Source::Place(pattern, place) if matches!(pattern.ty, Type::Seq(_)) => {
                    self.destructure(pattern, &format!("ndpc::row({place}, {index})"));
                }
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
    pub(crate) fn drop_unread(&mut self, count: usize, last: &str) {
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
}
