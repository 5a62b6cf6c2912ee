// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Binding powers: each level against the next, and the examples of the language's description.

use crate::common::{expression, shape};

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(shape(&expression(text)), expected, "{text}");
}

#[test]
fn examples() {
    check("-2^2", "(^ (- 2) 2)");
    check("2^3^2", "(^ (^ 2 3) 2)");
    check("#s-1", "(- (# s) 1)");
    check("a[i]->b", "(-> (index a i) b)");
    check("not(x) or y", "(or (call not x) y)");
    check("if c then 1 else 2, 3", "(if c 1 (, 2 3))");
    check("x => x, y", "(, (=> [x] x) y)");
    check("let a = 1 in a, b", "(let [a 1] (, a b))");
}

#[test]
fn application_binds_tightest() {
    check("g(x)(y)", "(call (call g x) y)");
    check("g x y", "(call (call g x) y)");
    check("g x[i]", "(index (call g x) i)");
    check("s[i][j]", "(index (index s i) j)");
    check("s[i](x)", "(call (index s i) x)");
    check("#g(x)", "(# (call g x))");
    check("-s[0]", "(- (index s 0))");
    check("@g x", "(@ (call g x))");
    check("a -> g x", "(-> a (call g x))");
    check("sqrt 2.0 + 1.0", "(+ (call sqrt 2.0) 1.0)");
}

#[test]
fn prefix_binds_tighter_than_operators() {
    check("#a -> b", "(-> (# a) b)");
    check("-a <- b", "(<- (- a) b)");
    check("@x ++ y", "(++ (@ x) y)");
    check("a * -b", "(* a (- b))");
    check("a - -b", "(- a (- b))");
    check("- - a", "(- (- a))");
    check("-#a", "(- (# a))");
    check("@-a", "(@ (- a))");
}

#[test]
fn neighbouring_levels() {
    check("a -> b <- c", "(<- (-> a b) c)");
    check("a <- b -> c", "(<- a (-> b c))");
    check("a <- b ^ c", "(^ (<- a b) c)");
    check("a ^ b <- c", "(^ a (<- b c))");
    check("a * b ^ c", "(* a (^ b c))");
    check("a ^ b * c", "(* (^ a b) c)");
    check("a + b * c", "(+ a (* b c))");
    check("a * b + c", "(+ (* a b) c)");
    check("a ++ b || c", "(++ a (|| b c))");
    check("a == b + c", "(== a (+ b c))");
    check("a + b == c", "(== (+ a b) c)");
    check("a and b == c", "(and a (== b c))");
    check("a == b nand c", "(nand (== a b) c)");
    check("a or b and c", "(or a (and b c))");
    check("a and b or c", "(or (and a b) c)");
    check("x => a or b", "(=> [x] (or a b))");
    check("n := a xor b", "(:= n (xor a b))");
    check("a, n := b", "(, a (:= n b))");
    check("n := a, b", "(, (:= n a) b)");
}

#[test]
fn associativity() {
    check("a -> b -> c", "(-> a (-> b c))");
    check("a <- b <- c", "(<- (<- a b) c)");
    check("a - b - c", "(- (- a b) c)");
    check("a / b * c", "(* (/ a b) c)");
    check("a - b + c", "(+ (- a b) c)");
    check("a ++ b ++ c", "(++ (++ a b) c)");
    check("a < b == c", "(== (< a b) c)");
    check("a nand b and c", "(and (nand a b) c)");
    check("a nor b xor c or d", "(or (xor (nor a b) c) d)");
    check("a, b, c", "(, a (, b c))");
    check("(a, b), c", "(, (, a b) c)");
    check("x => y => x", "(=> [x] (=> [y] x))");
}

#[test]
fn every_comparison_is_one_level() {
    for op in ["==", "/=", "<", ">", "<=", ">="] {
        check(&format!("a {op} b < c"), &format!("(< ({op} a b) c)"));
        check(&format!("a {op} b + c"), &format!("({op} a (+ b c))"));
    }
}

#[test]
fn let_and_if_reach_to_the_right() {
    check("1 + if a then b else c + d", "(+ 1 (if a b (+ c d)))");
    check("let a = 1, 2; b = 3 in a + b", "(let [a (, 1 2)] [b 3] (+ a b))");
    check("let a = 1; in a", "(let [a 1] a)");
    check("if a then b, c else d", "(if a (, b c) d)");
    check("(if a then b else c) + d", "(+ (if a b c) d)");
    check("if a then if b then c else d else e", "(if a (if b c d) e)");
    check("let a = let b = 1 in b; c = 2 in c", "(let [a (let [b 1] b)] [c 2] c)");
    check("-if a then b else c", "(- (if a b c))");
}

#[test]
fn elements_stop_at_commas() {
    check("[a + 1, b]", "(seq (+ a 1) b)");
    check("[x => x, y]", "(seq (=> [x] x) y)");
    check("[(a, b), c]", "(seq (, a b) c)");
}
