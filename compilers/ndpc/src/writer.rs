// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Writes the statements of one function.

use std::collections::{HashMap, HashSet};

use hadal_front::typed::{BindingId, Expr, ExprKind};
use hadal_front::types::Type;
use hadal_front::{Diagnostic, Span};

use crate::ctype::{cpp, declare};
use crate::names::Names;
use crate::unit::Unit;

/// Statements, and what they cost.
#[derive(Default)]
pub(crate) struct Block {
    pub(crate) lines: Vec<String>,
    /// They contain a call, a loop or an allocation.
    pub(crate) heavy: bool,
    /// They may fail.
    pub(crate) fails: bool,
}

impl Block {
    /// Whether the word `name` occurs.
    pub(crate) fn mentions(&self, name: &str) -> bool {
        self.lines.iter().any(|line| mentions(line, name))
    }
}

/// Whether the word `name` occurs in `text`.
pub(crate) fn mentions(text: &str, name: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split(|c| !is_word(c)).any(|word| word == name)
}

/// The expression without the parentheses around all of it.
pub(crate) fn bare(code: &str) -> &str {
    let Some(inner) = code.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) else {
        return code;
    };
    let mut depth = 0i32;
    // A quoted parenthesis would confuse the count: leave such expressions alone.
    if inner.contains('\'') || inner.contains('"') {
        return code;
    }
    for c in inner.chars() {
        depth += i32::from(c == '(') - i32::from(c == ')');
        if depth < 0 {
            return code;
        }
    }
    inner
}

/// The state of writing one function.
pub(crate) struct Writer<'u, 'a> {
    pub(crate) unit: &'u mut Unit<'a>,
    /// The function's name in the source, and in C++.
    pub(crate) function: String,
    pub(crate) cpp_name: String,
    /// The function's number among the instances.
    pub(crate) instance: Option<usize>,
    /// Where variables are.
    pub(crate) places: HashMap<BindingId, String>,
    pub(crate) names: Names,
    pub(crate) block: Block,
    /// Names of numbers and bools that can be seen, and that do not change before the statements around them end: what is a
    /// loop assigns its parameters last.
    constants: Vec<String>,
    /// Variables that are read anywhere.
    used: HashSet<BindingId>,
    /// The function's parameters: name and type, none for those that nobody reads.
    pub(crate) parameters: Vec<Option<(String, Type)>>,
    /// Whether the function calls itself in place of its end, which is a jump to its start.
    pub(crate) is_loop: bool,
    /// How many loops the statements being written are in that look at the stack.
    pub(crate) loops: u32,
    last_line: u32,
    temporaries: u32,
}

impl<'u, 'a> Writer<'u, 'a> {
    pub(crate) fn new(unit: &'u mut Unit<'a>, function: &str, cpp_name: &str, body: &Expr) -> Writer<'u, 'a> {
        let names = unit.names.clone();
        let mut used = HashSet::new();
        collect_used(body, &mut used);
        Writer {
            unit,
            function: function.into(),
            cpp_name: cpp_name.into(),
            instance: None,
            places: HashMap::new(),
            names,
            block: Block::default(),
            constants: Vec::new(),
            used,
            parameters: Vec::new(),
            is_loop: false,
            loops: 0,
            last_line: 0,
            temporaries: 0,
        }
    }

    pub(crate) fn line(&mut self, text: impl Into<String>) {
        self.block.lines.push(text.into());
    }

    /// Declares a number or a bool.
    pub(crate) fn constant_line(&mut self, ty: &Type, name: &str, code: &str) {
        self.line(format!("{} const {name} = {};", cpp(ty), bare(code)));
        self.constants.push(name.into());
    }

    /// The same of a parameter.
    pub(crate) fn constant_parameter(&mut self, name: &str) {
        self.constants.push(name.into());
    }

    /// How a small function object captures what `block` reads. Constants by value: where the loop around it stores
    /// items, compilers cannot know that it leaves alone what is referred to.
    pub(crate) fn captures(&self, block: &Block) -> String {
        let by_value = self.constants.iter().filter(|name| block.mentions(name));
        std::iter::once("&".into()).chain(by_value.cloned()).collect::<Vec<String>>().join(", ")
    }

    pub(crate) fn is_used(&self, id: BindingId) -> bool {
        self.used.contains(&id)
    }

    /// A statement that leaves the function when the operation fails.
    pub(crate) fn try_line(&mut self, operation: &str) {
        self.block.fails = true;
        self.line(format!("NDPC_CHECK({operation});"));
    }

    /// Says where the next statements come from, once for each line.
    pub(crate) fn mark(&mut self, span: Span) {
        let (file, line, _) = self.unit.sources.position(span);
        if line != self.last_line {
            self.last_line = line;
            let text = if self.unit.options.line_directives {
                format!("#line {line} {}", quoted(file.as_bytes()))
            } else {
                format!("// {file}:{line}")
            };
            self.line(text);
        }
    }

    pub(crate) fn site(&mut self, span: Span) -> String {
        self.unit.site(&self.function, &self.cpp_name, span)
    }

    /// A new variable of the type, with its declaration written.
    pub(crate) fn temporary(&mut self, ty: &Type) -> String {
        self.temporaries += 1;
        let name = self.names.fresh(&format!("t{}", self.temporaries));
        self.line(declare(ty, &name));
        name
    }

    /// Writes a block apart: what `write` gives, and the statements.
    pub(crate) fn apart<T>(&mut self, write: impl FnOnce(&mut Self) -> T) -> (T, Block) {
        let around = std::mem::take(&mut self.block);
        let constants = self.constants.len();
        let value = write(self);
        self.constants.truncate(constants);
        (value, std::mem::replace(&mut self.block, around))
    }

    /// Takes over a block's statements, between braces.
    pub(crate) fn nest(&mut self, before: &str, block: Block, after: &str) {
        self.block.heavy |= block.heavy;
        self.block.fails |= block.fails;
        self.line(before);
        // Directives stay in the first column.
        self.block.lines.extend(
            block
                .lines
                .into_iter()
                .map(|line| if line.starts_with('#') { line } else { format!("    {line}") }),
        );
        if !after.is_empty() {
            self.line(after);
        }
    }

    /// The mode that loops are called with.
    pub(crate) fn mode(&self) -> &'static str {
        if self.unit.options.serial { "ndpc::InOrder()" } else { "mode" }
    }

    /// Reports something that the language does not have; gives an expression to go on with.
    pub(crate) fn refuse(&mut self, message: &str, span: Span, help: &str) -> String {
        self.unit.errors.push(Diagnostic::error(message, span, "").help(help));
        "0".into()
    }
}

fn collect_used(expr: &Expr, used: &mut HashSet<BindingId>) {
    if let ExprKind::Local(id) = expr.kind {
        used.insert(id);
    }
    for child in expr.children() {
        collect_used(child, used);
    }
}

/// A string literal of C++.
pub(crate) fn quoted(bytes: &[u8]) -> String {
    let mut text = String::from("\"");
    for &byte in bytes {
        match byte {
            b'"' => text.push_str("\\\""),
            b'\\' => text.push_str("\\\\"),
            b'\n' => text.push_str("\\n"),
            b' '..=b'~' if byte != b'?' => text.push(char::from(byte)),
            // Three digits: what follows is never taken for one more.
            _ => text.push_str(&format!("\\{byte:03o}")),
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parentheses_around_all_go() {
        assert_eq!(bare("(a + b)"), "a + b");
        assert_eq!(bare("((a) + (b))"), "(a) + (b)");
        assert_eq!(bare("(a) + (b)"), "(a) + (b)");
        assert_eq!(bare("f(a)"), "f(a)");
        assert_eq!(bare("(c == ')')"), "(c == ')')");
    }

    #[test]
    fn words_are_found_whole() {
        assert!(mentions("item = s[i] + 1;", "i"));
        assert!(!mentions("item = s[j] + 1;", "i"));
    }

    #[test]
    fn literals_are_escaped() {
        assert_eq!(quoted(b"a\"\\\n\x01?7"), "\"a\\\"\\\\\\n\\001\\0777\"");
    }
}
