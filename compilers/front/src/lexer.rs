// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Characters to tokens.

use crate::diagnostic::Diagnostic;
use crate::source::{SourceFile, Span};
use crate::token::{Keyword, SYMBOLS, Token, TokenKind};

/// The tokens of a text, with [`TokenKind::Eof`] at the end, and what is wrong with it.
#[derive(Clone, Debug, Default)]
pub struct Lexed {
    /// The tokens.
    pub tokens: Vec<Token>,
    /// What could not be read as a token.
    pub diagnostics: Vec<Diagnostic>,
    /// Whether the text ends inside a string, a character or a comment.
    pub unfinished: bool,
}

/// Splits a text into tokens. What is not a token is reported and skipped.
pub fn lex(file: &SourceFile) -> Lexed {
    let mut lexer = Lexer { file, text: file.text(), at: 0, starts_line: true, lexed: Lexed::default() };
    while lexer.skip_blanks() {
        lexer.token();
        lexer.starts_line = false;
    }
    let end = lexer.text.len();
    lexer.push(TokenKind::Eof, end);
    lexer.lexed
}

struct Lexer<'a> {
    file: &'a SourceFile,
    text: &'a str,
    at: usize,
    starts_line: bool,
    lexed: Lexed,
}

/// Whether `c` may be part of a name.
fn is_name_char(c: char) -> bool {
    !c.is_whitespace() && !c.is_control() && !"%-+#&'()*,/:;<=>@[\\]^`{?|}!$.\"".contains(c)
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn span(&self, start: usize) -> Span {
        Span::new(self.file.id(), start, self.at)
    }

    fn push(&mut self, kind: TokenKind, start: usize) {
        let span = self.span(start);
        let at_margin = start == 0 || self.text.as_bytes().get(start - 1) == Some(&b'\n');
        self.lexed.tokens.push(Token { kind, span, starts_line: self.starts_line, at_margin });
    }

    /// Goes to the next token; false at the end.
    fn skip_blanks(&mut self) -> bool {
        loop {
            match self.rest().chars().next() {
                None => return false,
                Some(c) if c.is_whitespace() => {
                    self.starts_line |= c == '\n';
                    self.at += c.len_utf8();
                }
                Some('%') => match self.rest()[1..].find('%') {
                    Some(length) => {
                        self.starts_line |= self.rest()[..length + 1].contains('\n');
                        self.at += length + 2;
                    }
                    None => {
                        let start = self.at;
                        self.at = start + 1;
                        self.lexed.diagnostics.push(
                            Diagnostic::error(
                                "comment without an end",
                                self.span(start),
                                "no `%` ends this comment",
                            )
                            .help("a comment reaches from one `%` to the next `%`, over lines"),
                        );
                        self.lexed.unfinished = true;
                        self.at = self.text.len();
                        return false;
                    }
                },
                Some(_) => return true,
            }
        }
    }

    fn token(&mut self) {
        let start = self.at;
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return };
        let second = rest[first.len_utf8()..].chars().next();
        match first {
            '"' => self.string(),
            '`' => self.character(),
            '0'..='9' => self.number(),
            '.' if second.is_some_and(|c| c.is_ascii_digit()) => self.number(),
            '$' => {
                self.at += 1;
                self.push(TokenKind::Symbol("$"), start);
            }
            c if is_name_char(c) => self.name(),
            _ => match SYMBOLS.into_iter().find(|symbol| rest.starts_with(symbol)) {
                Some(symbol) => {
                    self.at += symbol.len();
                    self.push(TokenKind::Symbol(symbol), start);
                }
                None => self.unknown(first, second),
            },
        }
    }

    fn unknown(&mut self, first: char, second: Option<char>) {
        let start = self.at;
        self.at += first.len_utf8();
        let here = self.span(start);
        let shown = if first.is_control() { first.escape_default().to_string() } else { first.to_string() };
        let mut diagnostic =
            Diagnostic::error(format!("`{shown}` has no meaning here"), here, "unexpected character");
        match (first, second) {
            ('!', Some('=')) => {
                self.at += 1;
                diagnostic.labels[0].span = self.span(start);
                diagnostic.message = "`!=` is not an operator of NESL".into();
                diagnostic.labels[0].text = "no operator".into();
                diagnostic =
                    diagnostic.suggest("\"not equal\" is `/=`", vec![(self.span(start), "/=".into())]);
                self.push(TokenKind::Symbol("/="), start);
            }
            ('!', _) => diagnostic = diagnostic.help("the negation of a condition is `not(...)`"),
            ('&', Some('&')) => {
                self.at += 1;
                diagnostic.labels[0].span = self.span(start);
                diagnostic.message = "`&&` is not an operator of NESL".into();
                diagnostic.labels[0].text = "no operator".into();
                diagnostic =
                    diagnostic.suggest("the conjunction is `and`", vec![(self.span(start), "and".into())]);
                self.push(TokenKind::Symbol("and"), start);
            }
            ('\'', Some(c)) if c.is_ascii() && self.rest()[1..].starts_with('\'') => {
                self.at += 2;
                diagnostic.labels[0].span = self.span(start);
                diagnostic.message = "a character is not written in quotes".into();
                diagnostic.labels[0].text = "no character literal".into();
                diagnostic = diagnostic
                    .suggest("a backquote stands in front of it", vec![(self.span(start), format!("`{c}"))]);
                self.push(TokenKind::Char(c as u8), start);
            }
            _ => {}
        }
        self.lexed.diagnostics.push(diagnostic);
    }

    fn name(&mut self) {
        let start = self.at;
        let length = self.rest().find(|c| !is_name_char(c)).unwrap_or(self.rest().len());
        self.at += length;
        let name = self.text[start..self.at].to_lowercase();
        let kind = match name.as_str() {
            "and" => TokenKind::Symbol("and"),
            "or" => TokenKind::Symbol("or"),
            "xor" => TokenKind::Symbol("xor"),
            "nand" => TokenKind::Symbol("nand"),
            "nor" => TokenKind::Symbol("nor"),
            name => match Keyword::named(name) {
                Some(keyword) => TokenKind::Keyword(keyword),
                None => TokenKind::Ident(name.into()),
            },
        };
        self.push(kind, start);
    }

    /// Number of bytes of digits at `offset` of the rest.
    fn digits(&self, offset: usize) -> usize {
        self.rest()[offset..].bytes().take_while(u8::is_ascii_digit).count()
    }

    fn number(&mut self) {
        let start = self.at;
        let rest = self.rest();
        let bytes = rest.as_bytes();
        let mut length = self.digits(0);
        let dot = bytes.get(length) == Some(&b'.');
        if dot {
            length += 1;
            length += self.digits(length);
        }
        let mut is_float = dot;
        if matches!(bytes.get(length), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(length + 1), Some(b'+' | b'-')));
            let digits = self.digits(length + 1 + sign);
            if digits > 0 {
                length += 1 + sign + digits;
                is_float = true;
            }
        }
        if !dot
            && rest[length..].chars().next().is_some_and(is_name_char)
            && rest[..length].bytes().all(is_plain)
        {
            // A name may begin with a digit: `2nd`.
            return self.name();
        }
        self.at += length;
        let text = &rest[..length];
        let kind = if is_float {
            let value = text.parse::<f64>().unwrap_or(f64::INFINITY);
            if value.is_infinite() {
                self.out_of_range(start, "float", "the largest is about 1.8e308");
            }
            TokenKind::Float(if value.is_finite() { value } else { 0.0 })
        } else {
            match text.parse::<i64>() {
                Ok(value) if value <= 1 << 31 => TokenKind::Int(value),
                _ => {
                    self.out_of_range(start, "int", "an int has 32 bits: from -2147483648 to 2147483647");
                    TokenKind::Int(0)
                }
            }
        };
        self.push(kind, start);
    }

    fn out_of_range(&mut self, start: usize, ty: &str, note: &str) {
        let message = format!("the number is too large for `{ty}`");
        let diagnostic = Diagnostic::error(message, self.span(start), "out of range").note(note);
        self.lexed.diagnostics.push(diagnostic);
    }

    fn character(&mut self) {
        let start = self.at;
        self.at += 1;
        let Some(c) = self.rest().chars().next() else {
            self.lexed.diagnostics.push(Diagnostic::error(
                "a character must follow the backquote",
                self.span(start),
                "the text ends here",
            ));
            self.lexed.unfinished = true;
            return;
        };
        self.at += c.len_utf8();
        if !c.is_ascii() {
            let diagnostic =
                Diagnostic::error("the character is not one byte", self.span(start), "not ASCII")
                    .help("write it as a string, which may hold any text");
            self.lexed.diagnostics.push(diagnostic);
        }
        self.push(TokenKind::Char(if c.is_ascii() { c as u8 } else { b'?' }), start);
    }

    fn string(&mut self) {
        let start = self.at;
        let mut value = Vec::new();
        let mut bytes = self.rest().bytes().enumerate().skip(1);
        while let Some((offset, byte)) = bytes.next() {
            match byte {
                b'"' => {
                    self.at += offset + 1;
                    return self.push(TokenKind::String(value.into()), start);
                }
                b'\\' => value.extend(bytes.next().map(|(_, byte)| byte)),
                _ => value.push(byte),
            }
        }
        self.at += 1;
        let diagnostic =
            Diagnostic::error("string without an end", self.span(start), "no `\"` ends this string")
                .help("write `\\\"` for a quote inside a string");
        self.lexed.diagnostics.push(diagnostic);
        self.lexed.unfinished = true;
        self.at = self.text.len();
    }
}

/// Whether a byte of a number makes it readable as (the start of) a name as well.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}
