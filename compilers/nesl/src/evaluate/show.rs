// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Values as the top level prints them (rules 3.8).

use super::Value;
use crate::elaborate::statics::Static;

/// Lines longer than this break before the value and before the type.
const WIDTH: usize = 120;

/// `name = value : type`
#[must_use]
pub fn answer(name: &str, value: &Value, known: &Static, ty: &str, print_length: usize) -> String {
    let mut text = String::new();
    show(value, known, print_length, &mut text);
    let line = format!("{name} = {text} : {ty}");
    if line.len() <= WIDTH { format!("{line}\n") } else { format!("{name} =\n{text}\n: {ty}\n") }
}

fn show(value: &Value, known: &Static, limit: usize, out: &mut String) {
    match (known, value) {
        (Static::Function(_), _) => out.push_str("fn"),
        (Static::Data(name, content), value) => {
            out.push_str(name);
            match (&**content, value) {
                (Static::Pair(..), Value::Pair(..)) => show(value, content, limit, out),
                _ => {
                    out.push('(');
                    show(value, content, limit, out);
                    out.push(')');
                }
            }
        }
        (Static::Pair(a, b), Value::Pair(x, y)) => {
            out.push('(');
            show(x, a, limit, out);
            let (mut known, mut value) = (b, y);
            loop {
                out.push_str(", ");
                match (&**known, &**value) {
                    (Static::Pair(a, b), Value::Pair(x, y)) => {
                        show(x, a, limit, out);
                        (known, value) = (b, y);
                    }
                    (known, value) => break show(value, known, limit, out),
                }
            }
            out.push(')');
        }
        (Static::Seq(element), Value::Seq(values)) if **element == Static::Char => {
            out.push('"');
            for value in values.iter() {
                let code = char::from(value.int().to_le_bytes()[0]);
                if matches!(code, '"' | '\\') {
                    out.push('\\');
                }
                out.push(code);
            }
            out.push('"');
        }
        (Static::Seq(element), Value::Seq(values)) => {
            out.push('[');
            for (index, value) in values.iter().take(limit).enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                show(value, element, limit, out);
            }
            out.push_str(if values.len() > limit { ",...]" } else { "]" });
        }
        (_, Value::Int(value)) => out.push_str(&value.to_string()),
        (_, Value::Float(value)) => out.push_str(&float_text(*value)),
        (_, Value::Bool(value)) => out.push_str(if *value { "T" } else { "F" }),
        (_, Value::Char(code)) => {
            out.push('`');
            out.push(char::from(*code));
        }
        _ => {}
    }
}

/// A float after its passage through fifteen digits, with the fewest that identify it.
#[must_use]
pub fn float_text(value: f64) -> String {
    let value: f64 = format!("{value:.14e}").parse().unwrap_or(value);
    let size = value.abs();
    if value == 0.0 || (1e-3..1e7).contains(&size) {
        return format!("{value:?}");
    }
    let text = format!("{value:e}");
    match text.split_once('e') {
        Some((mantissa, exponent)) if mantissa.contains('.') => format!("{mantissa}E{exponent}"),
        Some((mantissa, exponent)) => format!("{mantissa}.0E{exponent}"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_print_by_their_size() {
        assert_eq!(float_text(0.001), "0.001");
        assert_eq!(float_text(1e-4), "1.0E-4");
        assert_eq!(float_text(1e7), "1.0E7");
        assert_eq!(float_text(1.0 / 3.0), "0.333333333333333");
        assert_eq!(float_text(2.0), "2.0");
    }
}
