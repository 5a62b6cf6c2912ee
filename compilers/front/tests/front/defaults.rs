// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Default values and arguments by name.

use hadal_front::typed::{Expr, ExprKind, Form};

use crate::common::{checked, errors, type_of};

/// The arguments of the call that is the last form.
fn arguments(text: &str) -> Vec<String> {
    let forms = checked(text);
    let Some(Form::Value(value)) = forms.last() else { panic!("{forms:?}") };
    let ExprKind::Call(_, argument) = &value.value.kind else { panic!("{:?}", value.value) };
    let mut parts = Vec::new();
    let mut rest: &Expr = argument;
    while let ExprKind::Pair(a, b) = &rest.kind {
        parts.push(a.to_owned());
        rest = b;
    }
    parts.push(Box::new(rest.clone()));
    parts
        .iter()
        .map(|part| match &part.kind {
            ExprKind::Int(value) => value.to_string(),
            ExprKind::Bool(value) => value.to_string(),
            other => format!("{other:?}"),
        })
        .collect()
}

const FUNCTION: &str = "function g(a, b := 2, c := T) = if c then a + b else a; ";

#[test]
fn arguments_are_put_in_place() {
    let call = |call: &str| arguments(&format!("{FUNCTION}{call};"));
    assert_eq!(call("g(1)"), ["1", "2", "true"]);
    assert_eq!(call("g(1, 5)"), ["1", "5", "true"]);
    assert_eq!(call("g(1, 5, F)"), ["1", "5", "false"]);
    assert_eq!(call("g(1, c := F)"), ["1", "2", "false"]);
    assert_eq!(call("g(1, c := F, b := 7)"), ["1", "7", "false"]);
    assert_eq!(call("g(c := F, a := 4)"), ["4", "2", "false"]);
    assert_eq!(call("g 1"), ["1", "2", "true"]);
}

#[test]
fn wrong_arguments() {
    let call = |call: &str| errors(&format!("{FUNCTION}{call};"));
    assert_eq!(call("g(b := 1)"), ["the argument `a` of `g` is missing"]);
    assert_eq!(call("g(1, d := 1)"), ["`g` has no such parameter"]);
    assert_eq!(call("g(1, a := 1)"), ["an argument of `g` is given twice"]);
    assert_eq!(call("g(1, b := T)"), ["argument `b` of `g` must be `int`, but is `bool`"]);
    assert_eq!(
        errors("n := 3;"),
        ["an argument can be passed by name only to a function with default values"]
    );
    assert_eq!(errors("function g(a, b := T) = a + b;").len(), 1);
    assert_eq!(
        errors("function g((a, b := 1), c) = a;"),
        ["only a whole parameter of a function can have a default value"]
    );
    // A default value does not see the parameters.
    assert_eq!(errors("function g(a, b := a) = b;"), ["`a` is not defined"]);
}

#[test]
fn types_of_functions_with_defaults() {
    assert_eq!(type_of("function g(a, b := 2) = a + b;"), "(int, int) -> int");
    assert_eq!(type_of("function g(a, b := 2) = (a, b);"), "(a, int) -> (a, int) :: (a in any)");
    assert_eq!(type_of("function g(a, h := x => x) = h(a); g(T), g(1);"), "bool, int");
    // A function with defaults may call itself, and be passed whole.
    assert_eq!(type_of("function g(a, b := 2) = if a == 0 then b else g(a - 1);"), "(int, int) -> int");
    assert_eq!(type_of("function g(a, b := 2) = a + b; map(g, [(1, 2)]);"), "[int]");
}

#[test]
fn each_call_has_variables_of_its_own() {
    let forms = checked("function g(a, b := let x = 1 in x) = a + b; g(1) + g(2);");
    let Some(Form::Value(value)) = forms.last() else { panic!("{forms:?}") };
    let mut bound = Vec::new();
    fn collect(expr: &Expr, bound: &mut Vec<u32>) {
        if let ExprKind::Let(bindings, _) = &expr.kind {
            for (pattern, _) in bindings {
                bound.extend(pattern.bindings().iter().map(|(id, ..)| id.0));
            }
        }
        expr.children().into_iter().for_each(|child| collect(child, bound));
    }
    collect(&value.value, &mut bound);
    bound.sort();
    bound.dedup();
    assert_eq!(bound.len(), 2, "{:?}", value.value);
}
