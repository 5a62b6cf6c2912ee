// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Characters to tokens.

use hadal_front::SourceMap;
use hadal_front::lexer::lex;
use hadal_front::token::{Keyword, TokenKind};

fn tokens(text: &str) -> Vec<TokenKind> {
    let mut sources = SourceMap::new();
    let file = sources.add("test", text);
    let lexed = lex(sources.file(file));
    assert!(lexed.diagnostics.is_empty(), "{text}: {:?}", lexed.diagnostics);
    let mut kinds: Vec<TokenKind> = lexed.tokens.into_iter().map(|token| token.kind).collect();
    assert_eq!(kinds.pop(), Some(TokenKind::Eof));
    kinds
}

fn error(text: &str) -> String {
    let mut sources = SourceMap::new();
    let file = sources.add("test", text);
    let mut lexed = lex(sources.file(file));
    assert_eq!(lexed.diagnostics.len(), 1, "{text}: {:?}", lexed.diagnostics);
    lexed.diagnostics.remove(0).message.into()
}

fn name(text: &str) -> TokenKind {
    TokenKind::Ident(text.into())
}

fn string(text: &str) -> TokenKind {
    TokenKind::String(text.as_bytes().into())
}

#[test]
fn case_is_ignored_outside_of_literals() {
    assert_eq!(tokens("QuickSort"), [name("quicksort")]);
    assert_eq!(
        tokens("FUNCTION Let iN"),
        [
            TokenKind::Keyword(Keyword::Function),
            TokenKind::Keyword(Keyword::Let),
            TokenKind::Keyword(Keyword::In)
        ]
    );
    assert_eq!(tokens("T f"), [TokenKind::Keyword(Keyword::True), TokenKind::Keyword(Keyword::False)]);
    assert_eq!(tokens("\"AbC\""), [string("AbC")]);
    assert_eq!(tokens("`A"), [TokenKind::Char(b'A')]);
}

#[test]
fn comments_end_at_the_next_percent() {
    assert_eq!(tokens("a % b % c"), [name("a"), name("c")]);
    assert_eq!(tokens("a %% b"), [name("a"), name("b")]);
    assert_eq!(tokens("% one\n two % a"), [name("a")]);
    assert_eq!(tokens("a%x%b"), [name("a"), name("b")]);
    assert_eq!(tokens("\"100%\" a"), [string("100%"), name("a")]);
    assert_eq!(tokens("`% a"), [TokenKind::Char(b'%'), name("a")]);
    assert_eq!(error("a % b"), "comment without an end");
}

#[test]
fn numbers() {
    assert_eq!(tokens("12"), [TokenKind::Int(12)]);
    assert_eq!(tokens("007"), [TokenKind::Int(7)]);
    assert_eq!(tokens("2147483648"), [TokenKind::Int(2147483648)]);
    assert_eq!(tokens("3."), [TokenKind::Float(3.0)]);
    assert_eq!(tokens(".5"), [TokenKind::Float(0.5)]);
    assert_eq!(tokens("1e3"), [TokenKind::Float(1000.0)]);
    assert_eq!(tokens("1.5e-3"), [TokenKind::Float(0.0015)]);
    assert_eq!(tokens("2.E+2"), [TokenKind::Float(200.0)]);
    assert_eq!(tokens("1-2"), [TokenKind::Int(1), TokenKind::Symbol("-"), TokenKind::Int(2)]);
    assert_eq!(tokens("[3.:4]").len(), 5);
    assert_eq!(error("2147483649"), "the number is too large for `int`");
    assert_eq!(error("99999999999999999999"), "the number is too large for `int`");
    assert_eq!(error("1e999"), "the number is too large for `float`");
}

#[test]
fn names() {
    assert_eq!(tokens("a_1 x2y _"), [name("a_1"), name("x2y"), name("_")]);
    assert_eq!(tokens("2nd"), [name("2nd")]);
    assert_eq!(tokens("1e"), [name("1e")]);
    assert_eq!(tokens("tf ft t1"), [name("tf"), name("ft"), name("t1")]);
    assert_eq!(tokens("inner letter"), [name("inner"), name("letter")]);
    assert_eq!(tokens("größe"), [name("größe")]);
}

#[test]
fn characters_and_strings() {
    assert_eq!(tokens("`  "), [TokenKind::Char(b' ')]);
    assert_eq!(tokens("`\n"), [TokenKind::Char(b'\n')]);
    assert_eq!(tokens("`\\"), [TokenKind::Char(b'\\')]);
    assert_eq!(tokens("`\""), [TokenKind::Char(b'"')]);
    assert_eq!(tokens("``"), [TokenKind::Char(b'`')]);
    assert_eq!(tokens(r#""a\"b\\c""#), [string("a\"b\\c")]);
    assert_eq!(tokens(r#""\n""#), [string("n")]);
    assert_eq!(tokens("\"a\nb\""), [string("a\nb")]);
    assert_eq!(tokens("\"\""), [string("")]);
    assert_eq!(tokens("\"é\""), [string("é")]);
    assert_eq!(error("\"abc"), "string without an end");
    assert_eq!(error("\"abc\\\""), "string without an end");
    assert_eq!(error("`"), "a character must follow the backquote");
    assert_eq!(error("`é"), "the character is not one byte");
}

#[test]
fn the_longest_operator_wins() {
    let symbols = ["->", "<-", "=>", "++", "==", "/=", "<=", ">=", ">>", "::", ":=", "||", "|=", "&="];
    for symbol in symbols {
        assert_eq!(tokens(symbol), [TokenKind::Symbol(symbol)]);
        assert_eq!(tokens(&format!("a{symbol}b")), [name("a"), TokenKind::Symbol(symbol), name("b")]);
    }
    assert_eq!(tokens("x<-1")[1], TokenKind::Symbol("<-"));
    assert_eq!(tokens("===").len(), 2);
    assert_eq!(tokens("+++"), [TokenKind::Symbol("++"), TokenKind::Symbol("+")]);
    assert_eq!(tokens("|||"), [TokenKind::Symbol("||"), TokenKind::Symbol("|")]);
    assert_eq!(tokens("a:b"), [name("a"), TokenKind::Symbol(":"), name("b")]);
    for word in ["and", "or", "xor", "nand", "nor"] {
        assert_eq!(tokens(&word.to_uppercase()), [TokenKind::Symbol(word)]);
    }
}

#[test]
fn what_is_no_token() {
    assert_eq!(error("a != b"), "`!=` is not an operator of NESL");
    assert_eq!(error("a && b"), "`&&` is not an operator of NESL");
    assert_eq!(error("a ? b"), "`?` has no meaning here");
    assert_eq!(error("'a"), "`'` has no meaning here");
    assert_eq!(error("a \u{0} b"), "`\\u{0}` has no meaning here");
}
