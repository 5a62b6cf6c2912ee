// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Lines of generated code: those that are too long go on in the next one, below what they are part of.

/// Lines are not longer than this, if they have a comma to break them at.
const COLUMNS: usize = 100;

/// Writes a line of code.
pub(crate) fn push_line(out: &mut String, line: &str) {
    let mut rest = line.to_string();
    // Directives and comments end with their line.
    while rest.len() > COLUMNS && !rest.starts_with('#') && !rest.trim_start().starts_with("//") {
        let Some((at, column)) = best_break(&rest) else { break };
        let next = format!("{}{}", " ".repeat(column), rest[at..].trim_start());
        out.push_str(rest[..at].trim_end());
        out.push('\n');
        rest = next;
    }
    out.push_str(&rest);
    out.push('\n');
}

/// Where to break a line, and where the rest begins: behind the last comma that fits, of those the outermost.
fn best_break(line: &str) -> Option<(usize, usize)> {
    let bytes = line.as_bytes();
    let start = bytes.iter().position(|&byte| byte != b' ')?;
    // The columns behind the brackets that are open.
    let mut open: Vec<usize> = Vec::new();
    let mut found: Option<(usize, usize, usize)> = None;
    let mut quote = None;
    let mut at = start;
    while at < bytes.len() && at < COLUMNS {
        let byte = bytes[at];
        match quote {
            Some(_) if byte == b'\\' => at += 1,
            Some(mark) if byte == mark => quote = None,
            Some(_) => {}
            None => match byte {
                b'"' | b'\'' => quote = Some(byte),
                b'(' | b'{' | b'[' => open.push(at + 1),
                // With a space in front it is an operator.
                b'<' if at > 0 && bytes[at - 1].is_ascii_alphanumeric() => open.push(at + 1),
                b')' | b'}' | b']' => drop(open.pop()),
                b'>' if at > 0 && !matches!(bytes[at - 1], b' ' | b'-') => drop(open.pop()),
                b',' if bytes.get(at + 1) == Some(&b' ') => {
                    if let Some(&column) = open.last()
                        && column > start
                        && found.is_none_or(|(_, _, depth)| open.len() <= depth)
                    {
                        found = Some((at + 1, column, open.len()));
                    }
                }
                _ => {}
            },
        }
        at += 1;
    }
    // The rest must have become shorter.
    found.map(|(at, column, _)| (at, column)).filter(|&(at, column)| at > column + 1)
}

#[cfg(test)]
mod tests {
    use super::push_line;

    fn laid_out(line: &str) -> String {
        let mut out = String::new();
        push_line(&mut out, line);
        out
    }

    #[test]
    fn long_lines_are_broken_at_their_outermost_commas() {
        let name = "n".repeat(60);
        assert_eq!(
            laid_out(&format!("    f(a, g<int, char>({name}), h(b, c, d, e, ff, gg, hh));")),
            format!("    f(a, g<int, char>({name}),\n      h(b, c, d, e, ff, gg, hh));\n")
        );
        assert_eq!(laid_out("int f(int a, int b) {"), "int f(int a, int b) {\n");
    }

    #[test]
    fn texts_comments_and_directives_stay_whole() {
        for line in [
            format!("f(\"{}\");", "a, (b".repeat(40)),
            format!("// {}", "f(a, b)".repeat(40)),
            format!("#line 1 \"{}\"", "f(a, b)".repeat(40)),
        ] {
            assert_eq!(laid_out(&line), format!("{line}\n"));
        }
    }
}
