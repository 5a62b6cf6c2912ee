// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Bodies of loops: function objects, and the loops over a few elements that stand in the program.

use hadal_front::typed::{ApplyToEach, ExprKind, Pattern, PatternKind};

use crate::call::join;
use crate::ctype::{cpp, is_scalar, parameter};
use crate::writer::{Block, Writer};

/// How a function object ends.
pub(crate) const DONE: &str = "return ndpc::done;";

/// Literals with so many elements are passed to a loop one by one.
const MOST_PARTS: usize = 7;

impl Writer<'_, '_> {
    /// A loop over a few elements that stand in the program, if its body is not small: the body's name and the
    /// elements.
    pub(crate) fn parts(
        &mut self,
        each: &ApplyToEach,
        element: &str,
        write: impl Fn(&mut Self, &str),
    ) -> Option<(String, String)> {
        let [(pattern, source)] = each.sources.as_slice() else { return None };
        let ExprKind::Sequence(elements) = &source.kind else { return None };
        if each.serial || each.filter.is_some() || elements.len() > MOST_PARTS {
            return None;
        }
        // On trial: what this writes is dropped if the body is small.
        let names = self.names.clone();
        let (values, before) =
            self.apart(|writer| elements.iter().map(|part| writer.value(part)).collect::<Vec<_>>());
        let outer = self.names.clone();
        let mut part = None;
        let item = self.names.fresh("item");
        let ((), block) = self.in_loop(true, |writer| {
            part = writer.part(pattern);
            write(writer, &item);
        });
        if !block.heavy {
            self.names = names;
            return None;
        }
        self.names = outer;
        self.block.heavy |= before.heavy;
        self.block.fails |= before.fails;
        self.block.lines.extend(before.lines);
        let ty = &pattern.ty;
        let part = match part {
            Some(name) if is_scalar(ty) => format!("{} const {name}", cpp(ty)),
            Some(name) => parameter(ty, &name),
            None => parameter(ty, "").trim_end().into(),
        };
        let body = self.clones("body", "", &[&part, &format!("{element} &{item}")], block);
        Some((body, join(&values)))
    }

    /// The parameter of a body for an element: its name, if the body reads it.
    pub(crate) fn part(&mut self, pattern: &Pattern) -> Option<String> {
        if let PatternKind::Bind(id, name) = &pattern.kind {
            let name = self.names.fresh(name);
            self.places.insert(*id, name.clone());
            return self.is_used(*id).then_some(name);
        }
        let name = self.names.fresh("part");
        self.destructure(pattern, &name);
        (!self.block.lines.is_empty()).then_some(name)
    }

    /// Writes a block apart that runs inside a loop. One whose elements `may_fork` looks at the stack.
    pub(crate) fn in_loop<T>(&mut self, may_fork: bool, write: impl FnOnce(&mut Self) -> T) -> (T, Block) {
        self.loops += u32::from(may_fork);
        let written = self.apart(write);
        self.loops -= u32::from(may_fork);
        written
    }

    /// A loop: a statement that takes its time.
    pub(crate) fn loop_line(&mut self, operation: &str) {
        self.block.heavy = true;
        self.try_line(operation);
    }

    /// A loop that may be divided.
    pub(crate) fn fork_line(&mut self, operation: &str) {
        if let Some(instance) = self.instance {
            self.unit.instances[instance].has_loop = true;
        }
        self.loop_line(operation);
    }

    /// Writes the function object for the elements of a loop that may be divided, and gives its name: for all modes.
    pub(crate) fn clones(&mut self, name: &str, index: &str, more: &[&str], block: Block) -> String {
        let mode = match (self.unit.options.serial, block.mentions("mode")) {
            (true, _) => "ndpc::InOrder",
            (false, true) => "ndpc::Mode auto mode",
            (false, false) => "ndpc::Mode auto",
        };
        let mut parameters = vec![mode.to_string()];
        parameters.extend(index_parameter(index, &block));
        parameters.extend(more.iter().map(ToString::to_string));
        self.function_object(name, "&", &parameters, block, "int", DONE)
    }

    /// Writes a function object for the elements of a loop, of a few statements, and gives its name.
    pub(crate) fn lambda(
        &mut self,
        name: &str,
        index: &str,
        more: &[&str],
        block: Block,
        result: &str,
        last: &str,
    ) -> String {
        let mut parameters = Vec::from_iter(index_parameter(index, &block));
        parameters.extend(more.iter().map(ToString::to_string));
        let captures = self.captures(&block);
        self.function_object(name, &captures, &parameters, block, result, last)
    }

    fn function_object(
        &mut self,
        name: &str,
        captures: &str,
        parameters: &[String],
        mut block: Block,
        result: &str,
        last: &str,
    ) -> String {
        if !last.is_empty() {
            block.lines.push(last.into());
        }
        let name = self.names.fresh(name);
        // A body that cannot fail does not make what is around it fail.
        let fails = self.block.fails;
        let parameters = parameters.join(", ");
        self.nest(&format!("auto {name} = [{captures}]({parameters}) -> {result} {{"), block, "};");
        self.block.fails = fails;
        name
    }
}

/// The parameter for the number of an element, without a name if the body does not read it. A body that gets the element
/// has none.
fn index_parameter(index: &str, block: &Block) -> Option<String> {
    if index.is_empty() {
        return None;
    }
    Some(if block.mentions(index) { format!("std::int64_t {index}") } else { "std::int64_t".into() })
}
