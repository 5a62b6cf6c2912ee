// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Random trees, printed and read again; and random input, which must never panic.

use std::sync::Arc;

use hadal_front::ast::{
    ApplyToEach, BinaryOp, Binding, Expr, ExprKind, Ident, Name, Over, Pattern, PatternKind, PrefixOp,
    TypeExpr, TypeExprKind,
};
use hadal_front::{Dialect, SourceMap, Span, parse, render_all};
use proptest::prelude::*;

use crate::common::{expression, library};

fn span() -> Span {
    Span::default()
}

fn expr(kind: ExprKind) -> Expr {
    Expr::new(kind, span())
}

fn name() -> impl Strategy<Value = Name> {
    prop::sample::select(vec!["a", "b", "xs", "point", "n_1", "load", "time"]).prop_map(Name::from)
}

fn ident() -> impl Strategy<Value = Ident> {
    name().prop_map(|name| Ident { name, span: span() })
}

fn pattern() -> impl Strategy<Value = Pattern> {
    let leaf = name().prop_map(|name| Pattern { kind: PatternKind::Name(name), span: span() });
    leaf.prop_recursive(3, 6, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| PatternKind::Pair(a.into(), b.into())),
            (ident(), inner).prop_map(|(name, a)| PatternKind::Data(name, a.into())),
        ]
        .prop_map(|kind| Pattern { kind, span: span() })
    })
}

fn ty() -> impl Strategy<Value = TypeExpr> {
    let leaf = name().prop_map(|name| TypeExpr { kind: TypeExprKind::Name(name), span: span() });
    leaf.prop_recursive(3, 8, 2, |inner| {
        prop_oneof![
            inner.clone().prop_map(|a| TypeExprKind::Sequence(a.into())),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| TypeExprKind::Pair(a.into(), b.into())),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| TypeExprKind::Function(a.into(), b.into())),
            (ident(), prop::collection::vec(inner, 1..3))
                .prop_map(|(name, all)| TypeExprKind::Apply(name, all)),
        ]
        .prop_map(|kind| TypeExpr { kind, span: span() })
    })
}

fn leaf() -> impl Strategy<Value = Expr> {
    prop_oneof![
        (0i64..=1 << 31).prop_map(ExprKind::Int),
        (0.0f64..1e300).prop_map(ExprKind::Float),
        any::<bool>().prop_map(ExprKind::Bool),
        (0u8..128).prop_map(ExprKind::Char),
        "[ -~é\n]{0,6}".prop_map(|text| ExprKind::String(Arc::from(text.as_bytes()))),
        name().prop_map(ExprKind::Name),
        ty().prop_map(ExprKind::Empty),
    ]
    .prop_map(expr)
}

/// What may stand in front of an argument.
fn callee() -> impl Strategy<Value = Expr> {
    name().prop_map(|name| expr(ExprKind::Name(name)))
}

fn over(inner: BoxedStrategy<Expr>) -> impl Strategy<Value = Over> {
    prop_oneof![
        (pattern(), inner).prop_map(|(pattern, source)| Over { pattern, source: Some(source) }),
        name().prop_map(|name| Over {
            pattern: Pattern { kind: PatternKind::Name(name), span: span() },
            source: None
        }),
    ]
}

fn tree() -> impl Strategy<Value = Expr> {
    leaf().prop_recursive(6, 40, 4, |inner| {
        let boxed = inner.clone().prop_map(Box::new).boxed();
        let binding = (pattern(), inner.clone()).prop_map(|(pattern, value)| Binding { pattern, value });
        let overs = prop::collection::vec(over(inner.clone().boxed()), 1..3);
        prop_oneof![
            (boxed.clone(), boxed.clone()).prop_map(|(a, b)| ExprKind::Pair(a, b)),
            (callee(), boxed.clone()).prop_map(|(a, b)| ExprKind::Call(a.into(), b)),
            (callee(), boxed.clone(), boxed.clone())
                .prop_map(|(a, b, c)| { ExprKind::Call(expr(ExprKind::Call(a.into(), b)).into(), c) }),
            (prop::sample::select(BinaryOp::ALL.to_vec()), boxed.clone(), boxed.clone())
                .prop_map(|(op, a, b)| ExprKind::Binary(op, span(), a, b)),
            (prop::sample::select(PrefixOp::ALL.to_vec()), boxed.clone())
                .prop_map(|(op, a)| ExprKind::Prefix(op, span(), a)),
            (boxed.clone(), boxed.clone()).prop_map(|(a, b)| ExprKind::Index(a, b)),
            (prop::collection::vec(binding, 1..3), boxed.clone())
                .prop_map(|(all, body)| ExprKind::Let(all, body)),
            (boxed.clone(), boxed.clone(), boxed.clone()).prop_map(|(a, b, c)| ExprKind::If(a, b, c)),
            (pattern(), boxed.clone()).prop_map(|(pattern, body)| ExprKind::Lambda(pattern, body)),
            (ident(), boxed.clone()).prop_map(|(name, value)| ExprKind::Named(name, value)),
            prop::collection::vec(inner.clone(), 1..4).prop_map(ExprKind::Sequence),
            (boxed.clone(), boxed.clone(), prop::option::of(boxed.clone()))
                .prop_map(|(a, b, c)| ExprKind::Range(a, b, c)),
            (any::<bool>(), prop::option::of(inner.clone()), overs, prop::option::of(inner.clone()))
                .prop_map(|(serial, body, sources, filter)| ExprKind::ApplyToEach(
                    ApplyToEach { serial, body, sources, filter }.into()
                )),
        ]
        .prop_map(expr)
    })
}

/// The tree in words, without places.
fn without_places(expr: &Expr) -> String {
    let text = format!("{expr:?}");
    let mut result = String::new();
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once("Span {") {
        result += before;
        rest = after.split_once('}').map_or("", |(_, after)| after);
    }
    result + rest
}

fn never_panics(text: &str, dialect: Dialect) {
    let (mut sources, library) = library();
    let file = sources.add("random", text);
    if let Err(errors) = library.in_dialect(dialect).check_text(sources.file(file), dialect) {
        render_all(&errors, &sources, true);
    }
    for form in parse(sources.file(file), dialect).forms {
        let printed = sources.add("printed", &form.to_string());
        let again = parse(sources.file(printed), dialect);
        let texts: Vec<String> = again.forms.iter().map(ToString::to_string).collect();
        assert!(again.diagnostics.is_empty(), "{text}\n{form}");
        assert_eq!(texts, [form.to_string()], "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    #[test]
    fn a_printed_tree_is_read_again(tree in tree()) {
        let printed = tree.to_string();
        prop_assert_eq!(without_places(&expression(&format!("({printed})"))), without_places(&tree), "{}", printed);
    }

    #[test]
    fn bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut sources = SourceMap::new();
        let file = sources.add_bytes("random", &bytes);
        let text = sources.file(file).text().to_string();
        never_panics(&text, Dialect::Nesl);
        never_panics(&text, Dialect::Ndpc);
    }

    #[test]
    fn words_never_panic(words in prop::collection::vec(prop::sample::select(WORDS.to_vec()), 0..60)) {
        never_panics(&words.join(" "), Dialect::Nesl);
        never_panics(&words.join(" "), Dialect::Library);
        never_panics(&words.join(""), Dialect::Ndpc);
    }

    #[test]
    fn trees_never_panic(tree in tree()) {
        never_panics(&format!("function g(a, b, xs) = {tree}; datatype point(int, float); {tree};"), Dialect::Nesl);
    }
}

const WORDS: [&str; 60] = [
    "function",
    "datatype",
    "let",
    "in",
    "if",
    "then",
    "else",
    "and",
    "or",
    "t",
    "f",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ";",
    "$",
    ":",
    "::",
    ",",
    "=",
    "==",
    "=>",
    ":=",
    "->",
    "<-",
    "++",
    "+",
    "-",
    "*",
    "/",
    "#",
    "@",
    "^",
    "||",
    "|",
    "a",
    "b",
    "sum",
    "dist",
    "int",
    "float",
    "any",
    "number",
    "1",
    "2.5",
    "`x",
    "\"s\"",
    "%",
    "\n",
    "load",
    "time",
    "with",
    "collection<",
    ">",
    "primitive",
    "set",
    "_",
];
