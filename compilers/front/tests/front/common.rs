// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the tests share: a small library, and ways to ask for one thing.

use std::sync::LazyLock;

use hadal_front::ast::{Expr, ExprKind, Form, FormKind};
use hadal_front::{Checker, Diagnostic, Dialect, Parsed, SourceMap, parse, render_all, typed};

/// A checker that knows the operators and some functions, and the sources it came from.
static LIBRARY: LazyLock<(SourceMap, Checker)> = LazyLock::new(|| {
    let mut sources = SourceMap::new();
    let file = sources.add("prelude.nesl", include_str!("../prelude.nesl"));
    let mut checker = Checker::new(Dialect::Nesl);
    if let Err(errors) = checker.check_text(sources.file(file), Dialect::Library) {
        panic!("{}", render_all(&errors, &sources, false));
    }
    (sources, checker)
});

/// The library.
pub(crate) fn library() -> (SourceMap, Checker) {
    LIBRARY.clone()
}

/// A parsed text.
pub(crate) fn parsed(text: &str, dialect: Dialect) -> Parsed {
    let mut sources = SourceMap::new();
    let file = sources.add("test.nesl", text);
    parse(sources.file(file), dialect)
}

/// The forms of a text that must be right.
pub(crate) fn forms(text: &str) -> Vec<Form> {
    let parsed = parsed(text, Dialect::Nesl);
    assert!(parsed.diagnostics.is_empty(), "{text}: {:?}", parsed.diagnostics);
    parsed.forms
}

/// The expression of a text that is one.
pub(crate) fn expression(text: &str) -> Expr {
    match forms(&format!("{text};")).pop().map(|form| form.kind) {
        Some(FormKind::Expression(expr)) => expr,
        other => panic!("{text}: {other:?}"),
    }
}

/// All messages about a text.
pub(crate) fn diagnostics(text: &str) -> (Vec<Diagnostic>, SourceMap) {
    let (mut sources, mut checker) = library();
    let file = sources.add("test.nesl", text);
    let all = checker.check_text(sources.file(file), Dialect::Nesl).err().unwrap_or_default();
    (all, sources)
}

/// The first line of each message about a text.
pub(crate) fn errors(text: &str) -> Vec<String> {
    diagnostics(text).0.into_iter().map(|diagnostic| diagnostic.message.into()).collect()
}

/// The checked forms of a text that must be right.
pub(crate) fn checked(text: &str) -> Vec<typed::Form> {
    let (mut sources, mut checker) = library();
    let file = sources.add("test.nesl", text);
    match checker.check_text(sources.file(file), Dialect::Nesl) {
        Ok(forms) => forms,
        Err(errors) => panic!("{}", render_all(&errors, &sources, false)),
    }
}

/// The type of the last form of a text.
pub(crate) fn type_of(text: &str) -> String {
    match checked(text).pop() {
        Some(typed::Form::Value(value)) => value.scheme.to_string(),
        Some(typed::Form::Function(function)) => function.scheme.to_string(),
        other => panic!("{text}: {other:?}"),
    }
}

/// An expression with all its parentheses, in the notation of Lisp.
pub(crate) fn shape(expr: &Expr) -> String {
    let all = |name: &str, parts: &[&Expr]| {
        let parts: Vec<String> = parts.iter().map(|part| shape(part)).collect();
        format!("({name} {})", parts.join(" "))
    };
    match &expr.kind {
        ExprKind::Pair(a, b) => all(",", &[a, b]),
        ExprKind::Call(a, b) => all("call", &[a, b]),
        ExprKind::Index(a, b) => all("index", &[a, b]),
        ExprKind::Binary(op, _, a, b) => all(op.symbol(), &[a, b]),
        ExprKind::Prefix(op, _, a) => all(op.symbol(), &[a]),
        ExprKind::If(a, b, c) => all("if", &[a, b, c]),
        ExprKind::Let(bindings, body) => {
            let bindings: Vec<String> = bindings
                .iter()
                .map(|binding| format!("[{} {}]", binding.pattern, shape(&binding.value)))
                .collect();
            format!("(let {} {})", bindings.join(" "), shape(body))
        }
        ExprKind::Lambda(pattern, body) => format!("(=> [{pattern}] {})", shape(body)),
        ExprKind::Named(name, value) => format!("(:= {} {})", name.name, shape(value)),
        ExprKind::Sequence(elements) => all("seq", &elements.iter().collect::<Vec<_>>()),
        _ => expr.to_string(),
    }
}
