// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the run-time provides, and how a use of it looks in C++.

use hadal_front::types::Type;

/// How a primitive is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum How {
    /// An expression that cannot fail and takes no time to speak of; `{0}` is the first argument.
    Value(&'static str),
    /// The same, with a loop behind it.
    Slow(&'static str),
    /// `function(result, arguments..., site)`, a few instructions.
    Checked(&'static str),
    /// `function(result, arguments..., site)`, which allocates or runs a loop.
    Sequence(&'static str),
    /// A reduction with an operator.
    Reduce(&'static str),
    /// A scan with an operator.
    Scan(&'static str),
    /// `s[i]`
    Index,
    /// `a ++ b`
    Append,
    /// `count`, a reduction of other elements than its result.
    Count,
}

/// How the primitive `name` is written for the first type of its instance, and how many arguments it has.
pub(crate) fn how(name: &str, instance: Option<&Type>) -> Option<(How, usize)> {
    use How::{Checked, Reduce, Scan, Sequence, Slow, Value};
    let is = |ty: Type| instance == Some(&ty);
    let infix = |int: &'static str, other: &'static str| Value(if is(Type::Int) { int } else { other });
    let order = |plain: &'static str, char: &'static str| Value(if is(Type::Char) { char } else { plain });
    Some(match name {
        "+" => (infix("ndpc::add({0}, {1})", "({0} + {1})"), 2),
        "-" => (infix("ndpc::subtract({0}, {1})", "({0} - {1})"), 2),
        "*" => (infix("ndpc::multiply({0}, {1})", "({0} * {1})"), 2),
        "/" => (Checked("divide"), 2),
        "^" => (Checked("power"), 2),
        "prefix -" | "negate" => (Value("ndpc::negate({0})"), 1),
        "==" => (Value("({0} == {1})"), 2),
        "/=" => (Value("({0} != {1})"), 2),
        "<" => (order("({0} < {1})", "(ndpc::code({0}) < ndpc::code({1}))"), 2),
        ">" => (order("({0} > {1})", "(ndpc::code({0}) > ndpc::code({1}))"), 2),
        "<=" => (order("({0} <= {1})", "(ndpc::code({0}) <= ndpc::code({1}))"), 2),
        ">=" => (order("({0} >= {1})", "(ndpc::code({0}) >= ndpc::code({1}))"), 2),
        "and" => (infix("({0} & {1})", "({0} && {1})"), 2),
        "or" => (infix("({0} | {1})", "({0} || {1})"), 2),
        "xor" => (infix("({0} ^ {1})", "({0} != {1})"), 2),
        "nand" => (infix("(~({0} & {1}))", "(!({0} && {1}))"), 2),
        "nor" => (infix("(~({0} | {1}))", "(!({0} || {1}))"), 2),
        "not" => (infix("(~{0})", "(!{0})"), 1),
        "#" => (Value("ndpc::length({0})"), 1),
        "[]" => (How::Index, 2),
        "[:]" => (Sequence("range"), 3),
        "->" => (Sequence("gather"), 2),
        "<-" => (Sequence("scatter"), 2),
        "++" => (How::Append, 2),
        "@" => (Sequence("text_of"), 1),
        "||" => (Sequence("pad"), 2),
        "plusp" => (Value("({0} > 0)"), 1),
        "minusp" => (Value("({0} < 0)"), 1),
        "zerop" => (Value("({0} == 0)"), 1),
        "oddp" => (Value("(({0} & 1) != 0)"), 1),
        "evenp" => (Value("(({0} & 1) == 0)"), 1),
        "abs" => (Value("ndpc::absolute({0})"), 1),
        "diff" => (Value("ndpc::difference({0}, {1})"), 2),
        "max" => (Value("ndpc::larger({0}, {1})"), 2),
        "min" => (Value("ndpc::smaller({0}, {1})"), 2),
        "rem" => (Checked("rem"), 2),
        "mod" => (Checked("mod"), 2),
        "lshift" => (Value("ndpc::shift_left({0}, {1})"), 2),
        "rshift" => (Value("ndpc::shift_right({0}, {1})"), 2),
        "sqrt" => (Checked("square_root"), 1),
        "isqrt" => (Checked("integer_root"), 1),
        "ln" => (Checked("natural_log"), 1),
        "exp" => (Value("std::exp({0})"), 1),
        "expt" => (Value("std::pow({0}, {1})"), 2),
        "sin" => (Value("std::sin({0})"), 1),
        "cos" => (Value("std::cos({0})"), 1),
        "tan" => (Value("std::tan({0})"), 1),
        "asin" => (Value("std::asin({0})"), 1),
        "acos" => (Value("std::acos({0})"), 1),
        "atan" => (Value("std::atan({0})"), 1),
        "sinh" => (Value("std::sinh({0})"), 1),
        "cosh" => (Value("std::cosh({0})"), 1),
        "tanh" => (Value("std::tanh({0})"), 1),
        "btoi" => (Value("static_cast<int>({0})"), 1),
        "code_char" => (Value("static_cast<char>({0})"), 1),
        "char_code" => (Value("ndpc::code({0})"), 1),
        "float" => (Value("static_cast<double>({0})"), 1),
        "floor" => (Value("ndpc::floor_int({0})"), 1),
        "ceil" => (Value("ndpc::ceil_int({0})"), 1),
        "trunc" => (Value("ndpc::trunc_int({0})"), 1),
        "round" => (Value("ndpc::round_int({0})"), 1),
        "pi" => (Value("3.141592653589793"), 0),
        "max_int" => (Value("2147483647"), 0),
        "min_int" => (Value("(-2147483647 - 1)"), 0),
        "newline" => (Value("'\\n'"), 0),
        "space" => (Value("' '"), 0),
        "tab" => (Value("'\\t'"), 0),
        "eql" => (Slow("ndpc::equal({0}, {1})"), 2),
        "dist" => (Sequence("dist"), 2),
        "index" => (Sequence("index"), 1),
        "rep" => (Sequence("replace"), 3),
        "zip" => (Sequence("zip"), 2),
        "plus_scan" => (Scan("Plus"), 1),
        "mult_scan" => (Scan("Times"), 1),
        "max_scan" => (Scan("Maximum"), 1),
        "min_scan" => (Scan("Minimum"), 1),
        "or_scan" => (Scan("Or"), 1),
        "and_scan" => (Scan("And"), 1),
        "xor_scan" => (Scan("Xor"), 1),
        "sum" => (Reduce("Plus"), 1),
        "product" => (Reduce("Times"), 1),
        "max_val" => (Reduce("Maximum"), 1),
        "min_val" => (Reduce("Minimum"), 1),
        "any" => (Reduce("Or"), 1),
        "all" => (Reduce("And"), 1),
        "parity" => (Reduce("Xor"), 1),
        "count" => (How::Count, 1),
        "reverse" => (Sequence("reverse"), 1),
        "subseq" => (Sequence("subseq"), 3),
        "take" => (Sequence("take"), 2),
        "drop" => (Sequence("drop"), 2),
        "partition" => (Sequence("partition"), 2),
        "flatten" => (Sequence("flatten"), 1),
        _ => return None,
    })
}
