// SPDX-License-Identifier: Apache-2.0 OR MIT
//! VCODE as text.

use super::stack::{Line, lower};
use super::{Constant, Function};
use std::fmt::Write as _;

/// The text of a function.
#[must_use]
pub fn function_text(function: &Function) -> String {
    let mut out = format!("FUNC {}\n", function.name);
    let mut indent = 1;
    for line in lower(function) {
        if matches!(line, Line::Else | Line::Endif) {
            indent -= 1;
        }
        out.push_str(&"  ".repeat(indent));
        write_line(&mut out, &line);
        out.push('\n');
        if matches!(line, Line::If | Line::Else) {
            indent += 1;
        }
    }
    out.push_str("RET\n");
    out
}

fn write_line(out: &mut String, line: &Line) {
    let result = match line {
        Line::Const(constant) => {
            out.push_str("CONST ");
            write_constant(out, constant);
            Ok(())
        }
        Line::Copy(n, i) => write!(out, "COPY {n} {i}"),
        Line::Pop(n, i) => write!(out, "POP {n} {i}"),
        Line::Cpop(n, i) => write!(out, "CPOP {n} {i}"),
        Line::Op(name, None) => write!(out, "{name}"),
        Line::Op(name, Some(kind)) => write!(out, "{name} {}", kind.name()),
        Line::Call(name) => write!(out, "CALL {name}"),
        Line::If => write!(out, "IF"),
        Line::Else => write!(out, "ELSE"),
        Line::Endif => write!(out, "ENDIF"),
        Line::Exit => write!(out, "EXIT"),
    };
    debug_assert!(result.is_ok(), "writing to a string does not fail");
}

fn write_constant(out: &mut String, constant: &Constant) {
    match constant {
        Constant::Int(values) => list(out, "INT", values.iter().map(ToString::to_string).collect()),
        Constant::Float(values) => list(out, "FLOAT", values.iter().map(|&v| float_text(v)).collect()),
        Constant::Bool(values) => {
            list(out, "BOOL", values.iter().map(|&v| if v { "T" } else { "F" }.to_owned()).collect());
        }
        Constant::Chars(bytes) => {
            if bytes.iter().all(|&b| b != b'"' && (b == b'\n' || (b' '..=b'~').contains(&b))) {
                out.push_str("CHAR \"");
                out.extend(bytes.iter().map(|&b| char::from(b)));
                out.push('"');
            } else {
                let codes: Vec<String> = bytes.iter().map(ToString::to_string).collect();
                out.push_str("INT (");
                out.push_str(&codes.join(" "));
                out.push(')');
            }
        }
    }
}

fn list(out: &mut String, kind: &str, values: Vec<String>) {
    out.push_str(kind);
    if values.len() == 1 {
        out.push(' ');
        out.push_str(&values[0]);
    } else {
        out.push_str(" (");
        out.push_str(&values.join(" "));
        out.push(')');
    }
}

/// A float as VCODE's lexer reads it: always with a dot.
#[must_use]
pub fn float_text(value: f64) -> String {
    let text = format!("{value:?}");
    match text.split_once('e') {
        Some((mantissa, exponent)) if !mantissa.contains('.') => format!("{mantissa}.0e{exponent}"),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_always_have_a_dot() {
        assert_eq!(float_text(1e300), "1.0e300");
        assert_eq!(float_text(2.0), "2.0");
        assert_eq!(float_text(-0.125), "-0.125");
    }

    #[test]
    fn a_string_with_a_quote_becomes_codes() {
        let mut out = String::new();
        write_constant(&mut out, &Constant::Chars(b"a\"".to_vec()));
        assert_eq!(out, "INT (97 34)");
    }
}
