// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Inferred types: of the worked examples of the language's description and of each rule.

use hadal_front::typed::{ExprKind, Form};
use hadal_front::types::{Class, Scheme, Type};

use crate::common::{checked, errors, type_of};

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(type_of(text), expected, "{text}");
}

#[track_caller]
fn wrong(text: &str, message: &str) {
    assert_eq!(errors(text), [message], "{text}");
}

#[test]
fn constants() {
    check("3;", "int");
    check("3.;", "float");
    check("T;", "bool");
    check("`a;", "char");
    check("\"abc\";", "[char]");
    check("(1, 2.0);", "int, float");
    check("1, (2.0, T);", "int, float, bool");
    check("((1, 2), 3);", "(int, int), int");
    check("[(1, 2.0)];", "[(int, float)]");
    check("[[1.0]];", "[[float]]");
    check("[] int;", "[int]");
    check("[] (int, [char]);", "[(int, [char])]");
    check("-2147483648;", "int");
    wrong("2147483648;", "the number is too large for `int`");
}

#[test]
fn operators() {
    check("1 + 2;", "int");
    check("1.0 * 2.0;", "float");
    check("2.0 ^ 3;", "float");
    check("1 < 2;", "bool");
    check("`a <= `b;", "bool");
    check("5 and 3;", "int");
    check("T or F;", "bool");
    check("#[1, 2];", "int");
    check("@(1, 2);", "[char]");
    check("\"a\" || 3;", "[char]");
    check("[1.0][0];", "float");
    check("[1.0] -> [0, 0];", "[float]");
    check("[1.0] <- [(0, 2.0)];", "[float]");
    check("[1] ++ [2];", "[int]");
    check("[0:10:2];", "[int]");
    check("-1.5;", "float");
}

#[test]
fn worked_examples() {
    check(
        "function quicksort(s) = if (#s < 2) then s else let pivot = s[#s/2]; lesser = {e in s | e < pivot};
         equal = {e in s | e == pivot}; greater = {e in s | e > pivot};
         result = {quicksort(v) : v in [lesser, greater]} in result[0] ++ equal ++ result[1];",
        "[a] -> [a] :: (a in ordinal)",
    );
    check("function factorial(n) = if n == 0 then 1 else n * factorial(n - 1);", "int -> int");
    check("function scale(s, k) = {x * k : x in s};", "([a], a) -> [a] :: (a in number)");
    check("function sums(vv) = {sum(v) : v in vv};", "[[a]] -> [a] :: (a in number)");
    check("function lengths(vv) = {#v : v in vv};", "[[a]] -> [int] :: (a in any)");
    check("function gather(v, is) = {v[i] : i in is};", "([a], [int]) -> [a] :: (a in any)");
    check("function divide(s) = {10 / x : x in s | x /= 0};", "[int] -> [int]");
    check("function dot(a, b) = sum({x * y : x in a; y in b});", "([a], [a]) -> a :: (a in number)");
    check("function fib(n) = if n < 2 then n else let a, b = fib(n - 1), fib(n - 2) in a + b;", "int -> int");
    check(
        "datatype point(float, float); function norm(point(x, y)) = sqrt(x * x + y * y);",
        "point -> float",
    );
    check("datatype point(float, float); point(1.0, 2.0);", "point");
    check("datatype tab([(k, v)]) :: (k in any; v in any); tab([(1, 2.5)]);", "tab(int, float)");
    check(
        "datatype tab([(k, v)]) :: (k in any; v in any); function entries(tab(s)) = s;",
        "tab(a, b) -> [(a, b)] :: (a in any; b in any)",
    );
}

#[test]
fn apply_to_each() {
    check("{x + 1 : x in [1, 2]};", "[int]");
    check("{x, y + 1 : x in [1.0]; y in [2]};", "[(float, int)]");
    check("a = [1]; b = [2.0]; {a; b | b > 0.0};", "[int]");
    check("s = [1]; {a in s | a > 2};", "[int]");
    check("{x + y : (x, y) in zip([1], [2])};", "[int]");
    check("{(x, y) in [(1, T)] | y};", "[(int, bool)]");
    check("datatype p(int, bool); {p(x, y) in [p(1, T)] | y};", "[p]");
    check("a = [1]; {a : a};", "[int]");
    check("{* x : x in [1]};", "[int]");
    check("{{x + y : x in v} : v in [[1]]; y in [2]};", "[[int]]");
    wrong("{x : x in 3};", "an apply-to-each goes over sequences, but this is `int`");
    wrong("{x : x in [1] | x};", "the condition of an apply-to-each must be `bool`, but is `int`");
    wrong("{x : x in [1]; y in {x : z in [2]}};", "`x` is not defined");
}

#[test]
fn classes_narrow() {
    check("function g(x) = x;", "a -> a :: (a in any)");
    check("function g(x, y) = x < y;", "(a, a) -> bool :: (a in ordinal)");
    check("function g(x, y) = if x < y then x + y else y;", "(a, a) -> a :: (a in number)");
    // `int` alone is in both.
    check("function g(x, y) = if x < y then x and y else y;", "(int, int) -> int");
    check("function g(x, y) = (x + y) or y;", "(int, int) -> int");
    check("function g(x) = not(x);", "a -> a :: (a in logical)");
    wrong("T < F;", "`<` takes int, float or char, but this is `bool`");
    wrong("not(1.5);", "the argument of `not` must be int or bool, but is `float`");
    wrong("1 + 2.0;", "both sides of `+` must have one type, but are `int` and `float`");
}

#[test]
fn every_pair_of_classes() {
    for a in Class::ALL {
        for b in Class::ALL {
            let members: Vec<Type> = [Type::Int, Type::Bool, Type::Float, Type::Char, Type::string()]
                .into_iter()
                .filter(|ty| a.has(ty) && b.has(ty))
                .collect();
            match a.intersect(b) {
                Some(class) => assert!(
                    [Type::Int, Type::Bool, Type::Float, Type::Char, Type::string()]
                        .iter()
                        .all(|ty| class.has(ty) == members.contains(ty)),
                    "{a:?} {b:?}"
                ),
                None => assert_eq!(members, [Type::Int], "{a:?} {b:?}"),
            }
        }
    }
}

#[test]
fn top_level_is_general_and_let_is_not() {
    check("function id(x) = x; id(1), id(T);", "int, bool");
    wrong("let id = x => x in id(1), id(T);", "the argument of `id` must be `int`, but is `bool`");
    check("id = x => x;", "a -> a :: (a in any)");
    check("id = x => x; id(1), id(T);", "int, bool");
    check("identity;", "a -> a :: (a in any)");
}

#[test]
fn recursion() {
    // The use inside is of one type.
    wrong(
        "function g(x) = if T then 1 else let a = g(1); b = g(2.0) in 3;",
        "the argument of `g` must be `int`, but is `float`",
    );
    check(
        "function even(n) : int -> bool;
         function odd(n) = if n == 0 then F else even(n - 1);
         function even(n) = if n == 0 then T else odd(n - 1);",
        "int -> bool",
    );
    check(
        "function g(x) : a -> a :: (a in any); function h(x) = g(x), g(1); function g(x) = x; h(T);",
        "bool, int",
    );
    wrong("function g(x) : int -> int;", "the function `g` is declared, but not defined");
    wrong(
        "function g(x) : int -> int; function g(x) : float -> float = x;",
        "`g` was declared with another type",
    );
    check(
        "function g(x) : b -> b :: (b in any); function g(x) : c -> c :: (c in any) = x;",
        "a -> a :: (a in any)",
    );
}

#[test]
fn declared_types() {
    check("function g(x) : int -> int = x;", "int -> int");
    check("function g(x) : a -> a :: (a in number) = x;", "a -> a :: (a in number)");
    check(
        "function g(x, y) : (a, b) -> a :: (a in any; b in scalar) = x;",
        "(a, b) -> a :: (a in any; b in scalar)",
    );
    wrong("function g(x) : a -> a :: (a in any) = x + 1;", "`+` takes int or float, but this is `a`");
    wrong("function g(x) : a -> a :: (a in any) = x + x;", "`+` takes int or float, but this is `a`");
    wrong("function g(x) : a -> b :: (a in any; b in any) = x;", "`g` must return `b`, but its body is `a`");
    wrong("function g(x) : int -> float = x;", "`g` must return `float`, but its body is `int`");
    wrong("function g(x) : int = x;", "the declared type of a function must have an arrow");
    wrong("function g(x) : a -> a = x;", "there is no type `a`");
    wrong("function g(x) : a -> a :: (a in nummer) = x;", "`nummer` is not a type class");
    wrong(
        "function g(x, y) : int -> int = x;",
        "the declared type takes `int`, but the parameters are for `(a, b)`",
    );
}

#[test]
fn functions_as_values() {
    check("map(x => (x, x), [1]);", "[(int, int)]");
    check("function twice(g, x) = g(g(x));", "(a -> a, a) -> a :: (a in any)");
    check(
        "function compose(g, h) = x => g(h(x));",
        "(a -> b, c -> a) -> c -> b :: (a in any; b in any; c in any)",
    );
    check("scan(max, 0, [1, 2]);", "[int], int");
    check("let k = 3; add = x => x + k in {add(x) : x in [1]};", "[int]");
    check("[x => x + 1, x => x];", "[int -> int]");
    wrong("3(4);", "expected an operator or `;`, found `(`");
    wrong("(3)(4);", "expected an operator or `;`, found `(`");
    wrong("x = 3; x(4);", "only a function can be called, but this is `int`");
    wrong("x => x(x);", "the function of this call would have to take itself");
}

#[test]
fn tuples_are_right_nested_pairs() {
    check("a, (b, c) = (1, 2, 3); a + b + c;", "int");
    check("function g(a, p) = p; g(1, 2.0, T);", "float, bool");
    check("function g(a, b, c) = c; p = (2, 3); g(1, p);", "int");
    wrong(
        "function g(a, b) = a + b; g((1, 2), 3);",
        "argument 1 of `g` must be int or float, but is `(int, int)`",
    );
    wrong("(a, b), c = (1, (2, 3));", "the pattern is for `((a, b), c)`, but the value is `(int, int, int)`");
}

#[test]
fn time_gives_value_and_seconds() {
    check("time([1]);", "[int], float");
    check("v, s = time(3); s;", "float");
    check("time(1, 2);", "(int, int), float");
}

#[test]
fn types_print_as_documented() {
    let param = Type::Param;
    let scheme = |params: &[Class], ty: Type| Scheme { params: params.to_vec(), ty }.to_string();
    assert_eq!(
        scheme(&[Class::Number], Type::function(Type::pair(param(0), Type::Int), Type::seq(param(0)))),
        "(a, int) -> [a] :: (a in number)"
    );
    // Letters follow the order of use, not of the parameters.
    assert_eq!(
        scheme(&[Class::Any, Class::Scalar], Type::function(param(1), param(0))),
        "a -> b :: (a in scalar; b in any)"
    );
    assert_eq!(scheme(&[], Type::pair(Type::Int, Type::Float)), "int, float");
    assert_eq!(scheme(&[], Type::seq(Type::pair(Type::Int, Type::Float))), "[(int, float)]");
    let function = Type::function(Type::Int, Type::Int);
    assert_eq!(scheme(&[], Type::function(function.clone(), Type::Int)), "(int -> int) -> int");
    assert_eq!(scheme(&[], Type::function(Type::Int, function.clone())), "int -> int -> int");
    assert_eq!(scheme(&[], Type::function(Type::Int, Type::pair(Type::Int, Type::Int))), "int -> (int, int)");
    assert_eq!(scheme(&[], Type::pair(function, Type::Int)), "int -> int, int");
}

#[test]
fn recursive_calls_have_the_own_parameters_as_instance() {
    fn instances(expr: &hadal_front::typed::Expr, found: &mut Vec<Vec<Type>>) {
        if let ExprKind::Global(id, instance) = &expr.kind
            && id.0 >= 60
        {
            found.push(instance.to_vec());
        }
        expr.children().into_iter().for_each(|child| instances(child, found));
    }
    let forms = checked("function g(x, y) = if T then x else g(x, y); g(1, T);");
    let (Form::Function(function), Form::Value(value)) = (&forms[0], &forms[1]) else { panic!("{forms:?}") };
    let mut own = Vec::new();
    instances(&function.body, &mut own);
    assert_eq!(own, [vec![Type::Param(0), Type::Param(1)]]);
    let mut outer = Vec::new();
    instances(&value.value, &mut outer);
    assert_eq!(outer, [vec![Type::Int, Type::Bool]]);
}

#[test]
fn free_variables() {
    let forms = checked("function g(a, b) = {x * a : x in let c = b in [c]};");
    let Form::Function(function) = &forms[0] else { panic!("{forms:?}") };
    let names = function.pattern.bindings();
    let free: Vec<_> = function.body.free_variables().into_iter().map(|(id, _)| id).collect();
    assert_eq!(free, [names[1].0, names[0].0]);
}

#[test]
fn nothing_unknown_remains() {
    fn known(expr: &hadal_front::typed::Expr) -> bool {
        let instance_known = match &expr.kind {
            ExprKind::Global(_, instance) => instance.iter().all(Type::is_closed),
            _ => true,
        };
        expr.ty.is_closed() && instance_known && expr.children().into_iter().all(known)
    }
    // The element type of the map's function is used nowhere.
    for text in ["let g = x => x in 3;", "#map(identity, [1]);", "error(\"x\");", "@error(\"x\");"] {
        let forms = checked(text);
        let Form::Value(value) = &forms[0] else { panic!("{forms:?}") };
        assert!(known(&value.value), "{:?}", value.value);
    }
}

#[test]
fn types_that_double_end_with_an_error() {
    let mut text = String::from("let x0 = (1, 1)");
    for index in 1..120 {
        text += &format!("; x{index} = (x{}, x{})", index - 1, index - 1);
    }
    assert_eq!(errors(&(text + " in x119;"))[0], "the type is too large");
    let mut text = String::from("x0 = (1, 1);");
    (1..120).for_each(|index| text += &format!("x{index} = (x{}, x{});", index - 1, index - 1));
    assert_eq!(errors(&text), ["the type is too large"]);
    let mut text = String::from("datatype d0(int, int);");
    (1..120).for_each(|index| text += &format!("datatype d{index}(d{}, d{});", index - 1, index - 1));
    assert_eq!(errors(&text), ["the type is too large"]);
    let text = format!("{}[1]{};", "{(x, x) : x in ".repeat(60), "}".repeat(60));
    assert_eq!(errors(&text)[0], "the type is too large");
    let text = format!("function d(x) = (x, x); {}1{};", "d(".repeat(60), ")".repeat(60));
    assert_eq!(errors(&text)[0], "the type is too large");
}

#[test]
fn the_deepest_expressions_are_checked() {
    let nested = format!("{}1{};", "abs(".repeat(60), ")".repeat(60));
    check(&nested, "int");
    check(&format!("1{};", " + 1".repeat(126)), "int");
    check(&format!("{}1{};", "let a = ".repeat(60), " in a".repeat(60)), "int");
    check(&format!("{}1;", "if T then 1 else ".repeat(60)), "int");
    let each = format!("{}x{};", "{".repeat(60), " : x in [1]}".repeat(60));
    assert_eq!(type_of(&format!("x = 3; {each}")).len(), "int".len() + 2 * 60);
    assert_eq!(type_of(&format!("{}1{};", "[".repeat(120), "]".repeat(120))).len(), "int".len() + 2 * 120);
    check(&format!("{}1;", "x => ".repeat(2)), "a -> b -> int :: (a in any; b in any)");
    assert!(type_of(&format!("{}1;", "x => ".repeat(120))).starts_with("a -> b -> "));
    check(&format!("s = [0]; s{};", "[s".repeat(60) + "[0]" + &"]".repeat(60)), "int");
    check(&format!("{}1;", "1, ".repeat(60)), &format!("{}int", "int, ".repeat(60)));
}

#[test]
fn names_after_errors() {
    // A second form that only uses what failed adds no message.
    wrong("function g(x) = x + `a; g(3); h = g(4); h;", "`+` takes int or float, but this is `char`");
    assert_eq!(errors("x = y; x + 1.0; z = 1 + `c;").len(), 2);
}
