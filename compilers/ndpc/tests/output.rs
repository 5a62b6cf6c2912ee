// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The form of what comes out: names, signatures, the header, places in the source.

use hadal_ndpc::{Options, Output, translate};
use proptest::prelude::*;

fn translated(text: &str) -> Output {
    translate("x.ndpc", text, &Options::default()).expect("a program without mistakes")
}

#[test]
fn a_function_keeps_name_and_parameters() {
    let output = translated("function area(width, height) : (float, float) -> float = width * height;");
    assert!(output.cpp.contains("int area(double &result, double width, double height) {"), "{}", output.cpp);
    assert!(output.cpp.contains("result = width * height;"), "{}", output.cpp);
    assert!(!output.cpp.contains("int main"), "{}", output.cpp);
}

#[test]
fn the_header_serves_c_and_cpp() {
    let output = translated(
        "function lengths(vv) : [[int]] -> [int] = {#v : v in vv};
         function total(s) : [float] -> float = sum(s);",
    );
    let header = output.header;
    assert!(header.contains("int lengths(ndpc::Seq<int> &result, ndpc::Seq<ndpc::Seq<int>> const &vv);"));
    assert!(header.contains("/* lengths: only for C++ */"));
    assert!(header.contains("int ndpc_total(double *result, ndpc_floats s);"));
    assert!(header.contains("inline int total(double &result, ndpc::Collection<double> const &s)"));
}

#[test]
fn an_instance_for_each_type() {
    let output = translated("function square(x) = x * x; square(2); square(1.5);");
    assert!(output.cpp.contains("int square(int &result, int x)"));
    assert!(output.cpp.contains("int square_2(double &result, double x)"));
}

#[test]
fn failures_know_their_place() {
    let output = translated("function h(s) : [int] -> int =\n  s[3];");
    assert!(output.cpp.contains("{\"h\", \"x.ndpc:2:3\"}"), "{}", output.cpp);
}

#[test]
fn only_recursive_functions_look_at_the_stack() {
    let once = translated("function h(x) : int -> int = x + 1;");
    assert!(!once.cpp.contains("is_stack_low"));
    let often = translated("function h(x) : int -> int = if x == 0 then 0 else 1 + h(x - 1);");
    assert!(often.cpp.contains("is_stack_low"));
    let forks = translated("function h(x) : int -> int = if x == 0 then 0 else sum({h(y) : y in [x - 1]});");
    assert!(!forks.cpp.contains("is_stack_low"), "a loop looks at the stack: {}", forks.cpp);
    let both =
        translated("function h(x) : int -> int = if x < 2 then 1 + h(x) else sum({h(y) : y in [x - 1]});");
    assert!(both.cpp.contains("is_stack_low"), "{}", both.cpp);
    let loops = translated("function h(x) : int -> int = if x == 0 then 0 else h(x - 1);");
    assert!(loops.cpp.contains("for (;;)") && !loops.cpp.contains("is_stack_low"), "{}", loops.cpp);
}

#[test]
fn lines_are_comments_or_directives() {
    let text = "function h(x) : int -> int =\n let y = x + 1\n in y * y;";
    assert!(translated(text).cpp.contains("// x.ndpc:2"));
    let options = Options { line_directives: true, ..Options::default() };
    let output = translate("x.ndpc", text, &options).expect("a program without mistakes");
    assert!(output.cpp.contains("\n#line 2 \"x.ndpc\"\n"), "{}", output.cpp);
}

#[test]
fn small_bodies_are_told_from_others() {
    let output = translated(
        "function g(x) : int -> int = x + 1;
         function a(s) : [int] -> [int] = {2 * x : x in s};
         function b(s) : [int] -> [int] = {g(x) : x in s};",
    );
    assert_eq!(output.cpp.matches("ndpc::fill(").count(), 1, "{}", output.cpp);
    assert_eq!(output.cpp.matches("ndpc::each(mode, ").count(), 1, "{}", output.cpp);
}

#[test]
fn what_can_fail_does_not_end_at_an_item_that_decides() {
    let output = translated(
        "function a(s) : [int] -> bool = all({x > 3 : x in s});
         function b(s) : [int] -> bool = any({10 / x > 3 : x in s});
         function c(s) : [int] -> int = all({x : x in s});",
    );
    for expected in ["ndpc::decide<ndpc::And<bool>>(", "ndpc::reduce_small<ndpc::Or<bool>>("] {
        assert!(output.cpp.contains(expected), "{expected}: {}", output.cpp);
    }
    assert_eq!(output.cpp.matches("ndpc::decide").count(), 1, "{}", output.cpp);
}

#[test]
fn what_forks_has_clones() {
    let output = translated(
        "function leaf(x) : int -> int = x + 1;
         function tree(n) : int -> int = if n == 0 then leaf(n) else sum({tree(m) : m in [n - 1, n - 2]});
         function caller(n) : int -> int = 1 + tree(n);",
    );
    for expected in [
        "static inline int leaf(int x) {",
        "int leaf(int &result, int x) {\n    return ndpc::call([&](ndpc::Mode auto) -> int {\n        result = leaf(x);",
        "static inline int tree(ndpc::Mode auto mode, int n) {",
        "item = tree(mode, m);",
        "static inline int caller(ndpc::Mode auto mode, int n) {",
        "return ndpc::call([&](ndpc::Mode auto mode) -> int {\n        result = caller(mode, n);",
        "result = leaf(n);",
    ] {
        assert!(output.cpp.contains(expected), "{expected}: {}", output.cpp);
    }
    assert!(output.header.contains("int caller(int &result, int n);"), "{}", output.header);
}

#[test]
fn the_serial_elision_has_no_clones() {
    let options = Options { serial: true, ..Options::default() };
    let text = "function tree(n) : int -> int = if n == 0 then 1 else sum({tree(m) : m in [n - 1, n - 2]});
                {tree(mode) : mode in [1:4]};";
    let output = translate("x.ndpc", text, &options).expect("a program without mistakes");
    assert!(!output.cpp.contains("mode, ") && !output.cpp.contains("auto mode"), "{}", output.cpp);
    assert!(output.cpp.contains("static inline int tree(int n) {"), "{}", output.cpp);
    assert!(output.cpp.contains("ndpc::InOrder()"), "{}", output.cpp);
}

#[test]
fn what_comes_from_the_library_is_nobody_elses() {
    let output = translated("gcd(12, 18); rotate([1, 2, 3], 1);");
    assert!(output.cpp.contains("static inline int gcd(int a, int b) {"), "{}", output.cpp);
    assert!(!output.cpp.contains("int gcd(int &result"), "{}", output.cpp);
    assert!(!output.cpp.contains("ndpc_gcd"), "{}", output.cpp);
}

#[test]
fn deep_nesting_is_a_message() {
    for text in
        [format!("{}1{};", "(".repeat(100_000), ")".repeat(100_000)), format!("1{};", " + 1".repeat(100_000))]
    {
        assert!(translate("x.ndpc", &text, &Options::default()).is_err());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Whatever the text is, there is an answer.
    #[test]
    fn any_text_is_answered(
        words in prop::collection::vec(
            prop::sample::select(vec![
                "function", "f", "(", ")", "[", "]", "{", "}", ":", ";", "x", "in", "let", "if", "then", "else", "=",
                "+", "1", "2.5", "#", "|", ",", "t", "sum", "with", "datatype", "int", "->", "<-", "++", "\"a\"", "`b",
            ]),
            0..40,
        )
    ) {
        let _ = translate("x.ndpc", &words.join(" "), &Options::default());
    }
}
