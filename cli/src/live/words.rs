// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Text of other processes, made safe for a terminal.

/// Most characters of a command line.
const COMMAND_CHARS: usize = 100;

/// A command line on one line: words with anything but plain characters are quoted, control characters escaped.
pub(super) fn command(words: &[String]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| self::word(word)).collect();
    let line = quoted.join(" ");
    match line.char_indices().nth(COMMAND_CHARS) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}

/// One word.
pub(super) fn word(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%^~#".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) { word.to_owned() } else { format!("{word:?}") }
}

/// Lines of text, in which nothing but the ends of lines is a control character.
pub(super) fn lines(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => safe.push(c),
            c if c.is_control() => safe.extend(c.escape_default()),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(words: &[&str]) -> String {
        command(&words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn odd_words_are_quoted() {
        assert_eq!(line(&["./heat", "500", "--file=a,b"]), "./heat 500 --file=a,b");
        assert_eq!(line(&["./a b", "", "x\ny", "\u{1b}[31m", "é"]), r#""./a b" "" "x\ny" "\u{1b}[31m" é"#);
        // An override of the direction of text would show another name.
        assert_eq!(line(&["a\u{202e}b"]), r#""a\u{202e}b""#);
        assert_eq!(line(&["'", "$HOME", "\u{fffd}"]), "\"'\" \"$HOME\" \"\u{fffd}\"");
    }

    #[test]
    fn long_lines_are_cut() {
        let cut = line(&[&"é".repeat(200)]);
        assert_eq!((cut.chars().count(), cut.ends_with("é...")), (COMMAND_CHARS + 3, true));
    }

    #[test]
    fn lines_keep_their_ends_only() {
        assert_eq!(lines("a\n\u{1b}]0;x\u{7}\r\tb\n"), "a\n\\u{1b}]0;x\\u{7}\\r\\tb\n");
    }
}
