// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The end of a function. A function that calls itself there goes back to its start, so that what other languages write as
//! a loop needs no stack.

use hadal_front::typed::{Expr, ExprKind};

use crate::call::parameters;
use crate::ctype::{cpp, is_scalar};
use crate::writer::{Writer, bare};

impl Writer<'_, '_> {
    /// Writes the function's result, by statements behind which the function ends.
    pub(crate) fn write_tail(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Let(bindings, body) => {
                for (pattern, value) in bindings {
                    self.bind(pattern, value);
                }
                self.write_tail(body);
            }
            ExprKind::If(condition, yes, no) => {
                let condition = self.value(condition);
                let ((), yes) = self.apart(|writer| writer.write_tail(yes));
                let ((), no) = self.apart(|writer| writer.write_tail(no));
                self.nest(&format!("if ({}) {{", bare(&condition)), yes, "");
                self.nest("} else {", no, "}");
            }
            ExprKind::Call(function, argument) if self.is_self(function, expr) => {
                if !self.jump(argument) {
                    self.write_into(expr, "result");
                }
            }
            _ => self.write_into(expr, "result"),
        }
    }

    /// Whether it is the function being written.
    fn is_self(&mut self, function: &Expr, expr: &Expr) -> bool {
        let ExprKind::Global(id, types) = &function.kind else { return false };
        self.unit.functions.contains_key(id)
            && self.instance.is_some()
            && self.unit.instance(*id, types, expr.span) == self.instance
    }

    /// Back to the start with other arguments; false: only scalars can be replaced, and others are not the same.
    fn jump(&mut self, argument: &Expr) -> bool {
        let Some(instance) = self.instance else { return false };
        let id = self.unit.instances[instance].function;
        let count = parameters(&self.unit.functions[&id].pattern).len();
        // On trial: what this writes is dropped if it is no use.
        let names = self.names.clone();
        let (arguments, block) = self.apart(|writer| writer.arguments(argument, count));
        let targets = self.parameters.clone();
        let pairs: Vec<_> = targets.into_iter().zip(arguments).collect();
        let is_same =
            |target: &Option<(String, _)>, code: &str| target.as_ref().is_none_or(|(name, _)| name == code);
        if pairs.iter().any(|(target, code)| {
            !is_same(target, code) && !target.as_ref().is_some_and(|(_, ty)| is_scalar(ty))
        }) {
            self.names = names;
            return false;
        }
        self.block.heavy |= block.heavy;
        self.block.fails |= block.fails;
        self.block.lines.extend(block.lines);
        let mut assignments = Vec::new();
        for (target, code) in &pairs {
            if let (Some((name, ty)), false) = (target, is_same(target, code)) {
                let next = self.names.fresh(&format!("next_{name}"));
                self.line(format!("{} const {next} = {};", cpp(ty), bare(code)));
                assignments.push(format!("{name} = {next};"));
            }
        }
        self.block.lines.extend(assignments);
        self.line("continue;");
        self.is_loop = true;
        true
    }
}
