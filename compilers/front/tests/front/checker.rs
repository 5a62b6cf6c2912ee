// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The checker as an environment: what forms add to it, and what is left after an error.

use hadal_front::typed::{Expr, ExprKind, Form, GlobalId};
use hadal_front::{Checker, Diagnostic, Dialect, parse};

use crate::common::library;

/// A prompt: forms one at a time.
struct Prompt {
    sources: hadal_front::SourceMap,
    checker: Checker,
}

impl Prompt {
    fn new() -> Prompt {
        let (sources, checker) = library();
        Prompt { sources, checker }
    }

    fn enter(&mut self, text: &str) -> Result<Form, Vec<Diagnostic>> {
        let file = self.sources.add("prompt", text);
        let parsed = parse(self.sources.file(file), Dialect::Nesl);
        assert!(parsed.diagnostics.is_empty(), "{text}");
        self.checker.check(&parsed.forms[0])
    }

    fn error(&mut self, text: &str) -> Diagnostic {
        self.enter(text).err().and_then(|mut errors| errors.pop()).unwrap()
    }

    fn ty(&self, name: &str) -> String {
        self.checker.lookup(name).unwrap().scheme.to_string()
    }
}

fn globals(expr: &Expr, found: &mut Vec<GlobalId>) {
    if let ExprKind::Global(id, _) = expr.kind {
        found.push(id);
    }
    expr.children().into_iter().for_each(|child| globals(child, found));
}

#[test]
fn forms_add_names() {
    let mut prompt = Prompt::new();
    prompt.enter("a, b = 1, \"x\";").unwrap();
    assert_eq!((prompt.ty("a"), prompt.ty("b")), ("int".into(), "[char]".into()));
    prompt.enter("3.5;").unwrap();
    assert_eq!(prompt.ty("it"), "float");
    prompt.enter("it + 1.0;").unwrap();
    prompt.enter("p |= [1];").unwrap();
    assert_eq!(prompt.ty("p"), "[int]");
    prompt.enter("dump vcode \"file\" 1 < 2;").unwrap();
    assert_eq!(prompt.ty("it"), "float");
    prompt.enter("datatype point(int, int);").unwrap();
    assert_eq!(prompt.ty("point"), "(int, int) -> point");
    assert!(prompt.checker.names().iter().any(|global| &*global.name == "point"));
}

#[test]
fn a_definition_anew_leaves_users_of_the_old_one_alone() {
    let mut prompt = Prompt::new();
    prompt.enter("function g(x) = x + 1;").unwrap();
    let old = prompt.checker.lookup("g").unwrap().id;
    let Form::Function(user) = prompt.enter("function h(x) = g(x);").unwrap() else { panic!() };
    prompt.enter("function g(x) = \"new\";").unwrap();
    let new = prompt.checker.lookup("g").unwrap().id;
    assert_ne!(old, new);
    let mut used = Vec::new();
    globals(&user.body, &mut used);
    assert_eq!(used, [old]);
    // What an operator means cannot be changed by a program.
    prompt.enter("function max(a, b) = a;").unwrap();
    assert_eq!(prompt.checker.global(old).scheme.to_string(), "int -> int");
}

#[test]
fn a_definition_after_its_declaration_has_its_number() {
    let mut prompt = Prompt::new();
    let Form::Declaration(declared) = prompt.enter("function g(x) : int -> int;").unwrap() else { panic!() };
    assert_eq!(prompt.checker.unresolved().len(), 1);
    let Form::Function(user) = prompt.enter("function h(x) = g(x);").unwrap() else { panic!() };
    let Form::Function(function) = prompt.enter("function g(x) = h(x);").unwrap() else { panic!() };
    assert_eq!(function.id, declared);
    assert!(prompt.checker.unresolved().is_empty());
    let mut used = Vec::new();
    globals(&user.body, &mut used);
    assert_eq!(used, [declared]);
}

#[test]
fn an_error_leaves_the_environment_as_it_was() {
    let mut prompt = Prompt::new();
    prompt.enter("x = 1;").unwrap();
    let before = prompt.checker.clone();
    assert!(!prompt.error("x = 1 + \"a\";").consequence);
    let consequence = prompt.error("x + 1;");
    assert!(consequence.consequence);
    assert_eq!(&*consequence.message, "the definition of `x` has an error");
    // Whoever keeps a copy can forget the failure.
    prompt.checker = before;
    prompt.enter("x + 1;").unwrap();
    // A right definition heals the name, too.
    assert!(!prompt.error("x = 1 + \"a\";").consequence);
    prompt.enter("x = 2;").unwrap();
    prompt.enter("x + 1;").unwrap();
}

#[test]
fn syntax_errors_make_consequences_too() {
    let (mut sources, mut checker) = library();
    let file = sources.add("test", "function g(x) = x +; h = g(1); k = undefined;");
    let errors = checker.check_text(sources.file(file), Dialect::Nesl).unwrap_err();
    let messages: Vec<&str> = errors.iter().map(|error| &*error.message).collect();
    assert_eq!(messages, ["expected an expression, found `;`", "`undefined` is not defined"]);
}
