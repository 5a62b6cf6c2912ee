// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Each rule of the grammar: what is read, and what is not.

use hadal_front::Dialect;
use hadal_front::ast::{Command, ExprKind, FormKind, PatternKind};

use crate::common::{errors, expression, forms, parsed, shape};

/// The printed forms of a text.
fn printed(text: &str) -> Vec<String> {
    forms(text).iter().map(ToString::to_string).collect()
}

#[track_caller]
fn same(text: &str, expected: &str) {
    assert_eq!(printed(text), [expected], "{text}");
}

#[track_caller]
fn wrong(text: &str, message: &str) {
    let parsed = parsed(text, Dialect::Nesl);
    let messages: Vec<String> = parsed.diagnostics.iter().map(|one| one.message.to_string()).collect();
    assert_eq!(messages, [message], "{text}");
}

#[test]
fn functions() {
    same("function g(x) = x;", "function g(x) = x;");
    same("function g x = x$", "function g(x) = x;");
    same("function _g(x) = x;", "function _g(x) = x;");
    same("function 2nd(x) = x;", "function 2nd(x) = x;");
    same("function g(a, (b, c)) = a;", "function g(a, b, c) = a;");
    same("function g((a, b), c) = a;", "function g((a, b), c) = a;");
    same("FUNCTION G(X) : INT -> INT = X;", "function g(x) : int -> int = x;");
    same("function g(x) : a -> a :: (a in any) = x;", "function g(x) : a -> a :: (a in any) = x;");
    same("function g(x) : a -> a :: a in any = x;", "function g(x) : a -> a :: (a in any) = x;");
    same(
        "function g(x) : (a, b) -> a :: a in any; b in number = x;",
        "function g(x) : (a, b) -> a :: (a in any; b in number) = x;",
    );
    same("function g(x) \"says\" = x;", "function g(x) \"says\" = x;");
    same("function g(x) : int -> int \"says\" = x;", "function g(x) : int -> int \"says\" = x;");
    same("function g(point(x, y)) = x;", "function g(point(x, y)) = x;");
    same("function g(o, ((x1, y1), (x2, y2))) = o;", "function g(o, (x1, y1), x2, y2) = o;");
    same("function g(x, n := 3 + 4) = x;", "function g(x, n := 3 + 4) = x;");
    wrong("function (x) = x;", "expected the name of the function, found `(`");
    wrong("function g = 3;", "expected the parameters of the function");
    wrong("function g() = 3;", "expected the parameters of the function");
    wrong("function g(x) x;", "expected `:` and a type, or `=` and the body, found `x`");
    wrong("function g(x + 1) = x;", "expected `)`, found `+`");
    wrong("function g(3) = x;", "expected a pattern, found a number");
    wrong("function t(x) = x;", "`t` cannot be a name");
}

#[test]
fn forward_declarations() {
    same("function g(x) : int -> int;", "function g(x) : int -> int;");
    assert_eq!(
        printed("function g(x) : a -> a :: a in any; 3;"),
        ["function g(x) : a -> a :: (a in any);", "3;"]
    );
}

#[test]
fn datatypes() {
    same("datatype point(float, float);", "datatype point(float, float);");
    same("datatype tab([(k,v)]) :: (k in any; v in any);", "datatype tab([k, v]) :: (k in any; v in any);");
    same("datatype name [char];", "datatype name([char]);");
    same("datatype wrap(a -> b) :: (a in any; b in any);", "datatype wrap(a -> b) :: (a in any; b in any);");
    wrong("datatype point;", "expected a type, found `;`");
    wrong("datatype point = (int, int);", "expected a type, found `=`");
    wrong("datatype p(a) :: (a any);", "expected `in`, found `any`");
}

#[test]
fn assignments_and_expressions() {
    same("x = 3;", "x = 3;");
    same("odd, even = b[0],b[1];", "odd, even = b[0], b[1];");
    same("(a, b), c = x$", "(a, b), c = x;");
    same("point(x, y) = p;", "point(x, y) = p;");
    same("3 + 4;", "3 + 4;");
    assert_eq!(printed("1; 2$ 3 ;; $ 4;"), ["1;", "2;", "3;", "4;"]);
    assert!(forms("").is_empty());
    assert!(forms(" % nothing % ;").is_empty());
    wrong("1 = 2;", "expected a pattern in front of `=`");
    wrong("g(x) + 1 = 2;", "expected a pattern in front of `=`");
    wrong("T = 3;", "`t` cannot be a name");
    wrong("a = b = c;", "expected an operator or `;`, found `=`");
    wrong("f(3) + 1;", "`f` cannot be a name");
    wrong("3 4;", "expected an operator or `;`, found a number");
    wrong("1)", "`)` closes no bracket");
}

#[test]
fn a_form_needs_its_end() {
    wrong("3", "the form has no end");
    wrong("function g(x) = x", "the form has no end");
    wrong("x = 3\ny = 4;", "expected `;` before `y`");
    wrong("g(3)\nx = g(4);", "expected `;`, found `=`");
    wrong("x = y\nz = 4;", "expected `;`, found `=`");
    wrong("x = 3\nfunction g(x) = x;", "expected `;` before `function`");
}

#[test]
fn what_is_incomplete() {
    let incomplete = |text: &str| parsed(text, Dialect::Nesl).incomplete;
    for text in
        ["3", "g(", "{x in", "let a = 1;", "if a then", "\"abc", "% abc", "function g(x)", "[1,", "1 +", "`"]
    {
        assert!(incomplete(text), "{text}");
    }
    for text in ["3;", "", "g(]", "1 2;", "% a %", "\"a\";", ")"] {
        assert!(!incomplete(text), "{text}");
    }
    // The first error counts.
    assert!(!incomplete("1 2; g("));
}

#[test]
fn let_and_if() {
    same("let a = 1 in a;", "let a = 1 in a;");
    same("let a = 1; b = 2; in a;", "let a = 1; b = 2 in a;");
    same("let (a, b) = x; p(c) = y in a;", "let a, b = x; p(c) = y in a;");
    same("if a then b else c;", "if a then b else c;");
    wrong("let a = 1 a;", "expected an operator, `;` or `in`, found `a`");
    wrong("let a = 1; b in a;", "expected `=`, found `in`");
    wrong("let a == 1 in a;", "expected `=`, found `==`");
    wrong("let f = 1 in f;", "`f` cannot be a name");
    wrong("if a then b;", "expected an operator or `else`, found `;`");
    wrong("if a b else c;", "expected an operator or `then`, found `else`");
    wrong("if a = b then c else d;", "expected an operator or `then`, found `=`");
}

#[test]
fn anonymous_functions() {
    same("x => x + 1;", "x => x + 1;");
    same("(x, y) => x;", "(x, y) => x;");
    same("map(x => x, s);", "map(x => x, s);");
    same("p(x) => x;", "p(x) => x;");
    wrong("x + 1 => x;", "expected a pattern in front of `=>`");
}

#[test]
fn brackets() {
    same("[1, 2, 3];", "[1, 2, 3];");
    same("[(1, 2), 3];", "[(1, 2), 3];");
    same("[0:10];", "[0 : 10];");
    same("[0:#s:2];", "[0 : #s : 2];");
    same("[] int;", "[] int;");
    same("[](int, float);", "[] (int, float);");
    same("[][[char]];", "[] [[char]];");
    same("[] tab(int, [float]);", "[] tab(int, [float]);");
    same("(1);", "1;");
    wrong("[];", "an empty sequence needs the type of its elements");
    wrong("[1 2];", "expected `]`, found a number");
    wrong("[1, 2;", "expected `]`, found `;`");
    wrong("[1:];", "expected an expression, found `]`");
    wrong("();", "expected an expression between the parentheses");
    wrong("(1, 2", "`(` is never closed");
    wrong("(1, 2];", "expected `)`, found `]`");
    wrong("g(;", "expected an expression, found `;`");
}

#[test]
fn apply_to_each() {
    same("{x + 1 : x in s};", "{x + 1 : x in s};");
    same("{x in s};", "{x in s};");
    same("{a in s | a > 2};", "{a in s | a > 2};");
    same("{a; b | b > 0};", "{a; b | b > 0};");
    same("{a; b};", "{a; b};");
    same("{s};", "{s};");
    same("{x, y+1 : x in a; y in b};", "{x, y + 1 : x in a; y in b};");
    same("{x + y : (x, y) in zip(a, b)};", "{x + y : x, y in zip(a, b)};");
    same("{a : a; b in c};", "{a : a; b in c};");
    same("{sqrt(x) : p(x, y) in s | y > 0.0};", "{sqrt(x) : p(x, y) in s | y > 0.0};");
    same("{* g(x) : x in s};", "{* g(x) : x in s};");
    same("{{x : x in v} : v in vv};", "{{x : x in v} : v in vv};");
    wrong("{};", "expected an expression, found `}`");
    wrong("{x + 1};", "expected an operator, `in` or `:`, found `}`");
    wrong("{x : x + 1};", "expected an operator, `in` or `:`, found `}`");
    wrong("{x : 3 in s};", "expected a pattern in front of `in`");
    wrong("{x : x in s | x > 0, };", "expected an expression, found `}`");
    wrong("{x : x in s", "`{` is never closed");
}

#[test]
fn application() {
    assert_eq!(shape(&expression("g(1)")), "(call g 1)");
    assert_eq!(shape(&expression("g(1, 2)")), "(call g (, 1 2))");
    assert_eq!(shape(&expression("g \"x\"")), "(call g \"x\")");
    assert_eq!(shape(&expression("g {x in s}")), "(call g {x in s})");
    assert_eq!(shape(&expression("g T")), "(call g t)");
    assert_eq!(shape(&expression("g(x, n := 2)")), "(call g (, x (:= n 2)))");
    assert_eq!(shape(&expression("(x => x)(3)")), "(call (=> [x] x) 3)");
    // What stands in brackets behind an expression is an index.
    assert!(matches!(expression("g [1]").kind, ExprKind::Index(..)));
}

#[test]
fn patterns() {
    let forms = forms("(a, (b, c)) = x; a, b, c = x; p(a) = x;");
    let kind = |index: usize| match &forms[index].kind {
        FormKind::Assign { pattern, .. } => pattern.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(kind(0).to_string(), kind(1).to_string());
    assert!(matches!(kind(2).kind, PatternKind::Data(..)));
}

#[test]
fn types() {
    let same = |ty: &str, expected: &str| {
        assert_eq!(printed(&format!("function g(x) : {ty};")), [format!("function g(x) : {expected};")]);
    };
    same("int -> int", "int -> int");
    same("(int, float) -> [char]", "(int, float) -> [char]");
    same("int, float -> char", "int, float -> char");
    same("a -> b -> c", "a -> b -> c");
    same("(a -> b) -> c", "(a -> b) -> c");
    same("((int, int), int) -> int", "((int, int), int) -> int");
    same("(int, (int, int)) -> int", "(int, int, int) -> int");
    same("[(int, [tab(int, [char])])] -> p", "[int, [tab(int, [char])]] -> p");
    wrong("function g(x) : -> int;", "expected a type, found `->`");
    wrong("function g(x) : [int -> int;", "expected `]`, found `;`");
    wrong("function g(x) : 3;", "expected a type, found a number");
}

#[test]
fn commands() {
    let command = |text: &str| match forms(text).pop().map(|form| form.kind) {
        Some(FormKind::Command(command)) => command,
        other => panic!("{text}: {other:?}"),
    };
    assert!(matches!(command("help;"), Command::Help));
    assert!(matches!(command("EXIT$"), Command::Exit));
    assert!(matches!(command("load \"a.nesl\";"), Command::Load(file) if &*file == b"a.nesl"));
    assert!(matches!(command("describe Sum;"), Command::Describe(name) if &*name.name == "sum"));
    assert!(matches!(command("apropos scan;"), Command::Apropos(_)));
    assert!(matches!(command("show code sum;"), Command::ShowCode(_)));
    assert!(matches!(command("show status;"), Command::Show(_)));
    assert!(matches!(command("set arg_check off;"), Command::SetSwitch(_, false)));
    assert!(matches!(command("set verbose on;"), Command::SetSwitch(_, true)));
    assert!(matches!(command("set print_length 7;"), Command::SetNumber(_, 7)));
    assert!(matches!(command("set trace g 2;"), Command::Trace(_, 2)));
    assert!(matches!(command("set profile g on;"), Command::Profile(_, true)));
    assert!(matches!(command("dump vcode \"x\" 1 + 2;"), Command::DumpVcode(..)));
    assert!(matches!(command("dump world;"), Command::DumpWorld(None)));
    assert!(matches!(command("dump world \"w\";"), Command::DumpWorld(Some(_))));
    assert!(matches!(command("p |= 3;"), Command::FileVariable(..)));
    assert!(matches!(command("n &= 3;"), Command::Background(..)));
    wrong("set verbose 3;", "expected `on` or `off`, found a number");
    wrong(
        "set speed on;",
        "expected `arg_check`, `verbose`, `print_length`, `memory_size`, `trace` or `profile`, found `speed`",
    );
    wrong("show me;", "expected `code`, `status`, `bugs` or `config`, found `me`");
    // Their words are ordinary names elsewhere.
    same("help = 3;", "help = 3;");
    same("load(3);", "load(3);");
    same("set + show;", "set + show;");
}

#[test]
fn primitives_are_for_libraries() {
    let library =
        parsed("primitive \"+\" : (a, a) -> a :: (a in number); primitive pi : float;", Dialect::Library);
    assert!(library.diagnostics.is_empty());
    let texts: Vec<String> = library.forms.iter().map(ToString::to_string).collect();
    assert_eq!(texts, ["primitive \"+\" : (a, a) -> a :: (a in number);", "primitive pi : float;"]);
    let library = parsed("function \"^\"(x, n) = x;", Dialect::Library);
    assert!(library.diagnostics.is_empty());
    wrong("function \"^\"(x, n) = x;", "expected the name of the function, found a string");
}

#[test]
fn all_errors_of_a_text_are_found() {
    let text = "x = ;\ny = 1;\nfunction g(a = a;\nz = (1;\nlet a = 1; b = in b;\nw = 2;\n[1; 2];\nv = 3;";
    let parsed = parsed(text, Dialect::Nesl);
    assert_eq!(parsed.diagnostics.len(), 5, "{:?}", parsed.diagnostics);
    let texts: Vec<String> = parsed.forms.iter().map(ToString::to_string).collect();
    assert_eq!(texts, ["y = 1;", "w = 2;", "v = 3;"]);
}

#[test]
fn deep_nesting_is_an_error() {
    let deep = |open: &str, middle: &str, close: &str| {
        let text = format!("{}{middle}{};", open.repeat(10_000), close.repeat(10_000));
        let parsed = parsed(&text, Dialect::Nesl);
        assert_eq!(
            parsed.diagnostics[0].message.as_ref(),
            "the nesting is too deep",
            "{open}{middle}{close}"
        );
    };
    deep("(", "1", ")");
    deep("[", "1", "]");
    deep("{", "x in s", "}");
    deep("-", "1", "");
    deep("1 + ", "1", "");
    deep("1, ", "1", "");
    deep("x => ", "1", "");
    deep("let a = ", "1", " in a");
    deep("if a then b else ", "1", "");
    deep("g(", "1", ")");
    deep("", "g", "(x)");
    deep("", "g", "[x]");
    deep("s -> ", "s", "");
    deep("", "function h(x) : int", " -> int");
    let brackets = format!("[] {}int{};", "[".repeat(10_000), "]".repeat(10_000));
    assert_eq!(parsed(&brackets, Dialect::Nesl).diagnostics[0].message.as_ref(), "the nesting is too deep");
}

#[test]
fn long_lists_are_not_deep() {
    let long = |separator: &str| vec!["x"; 10_000].join(separator);
    assert_eq!(forms(&format!("[{}];", long(", "))).len(), 1);
    assert_eq!(forms(&format!("let {} in x;", vec!["x = 1"; 10_000].join("; "))).len(), 1);
    assert_eq!(forms(&format!("{{1 : {}}};", long("; "))).len(), 1);
    assert_eq!(forms(&long(";\n").replace("x", "x;")).len(), 10_000);
}

#[test]
fn time_is_syntax() {
    assert_eq!(errors("time(1 + 2);"), [""; 0]);
    assert_eq!(errors("function time(x) = x + 1; time(2);"), [""; 0]);
}
