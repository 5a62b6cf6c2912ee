// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Printed lines compared with those that a page shows, in which some places vary:
//!
//! - a line `...` stands for any number of lines, `...` within a line for any text;
//! - a time (a number before ns, us, ms, s or min) stands for any time;
//! - where numbers are examples, a number stands for any number of the same form, and blanks for any number of blanks.

use std::fmt::Write as _;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// A number without sign, perhaps with a fraction, or with commas between thousands. A unit of memory may follow.
const NUMBER: &str = r"[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?";
const TIME_UNITS: &str = "(?:ns|us|µs|ms|s|min)";

/// Finds what varies in a shown line.
static VARYING: LazyLock<Regex> = LazyLock::new(|| {
    let alternatives = [
        r"(?<dots>\.\.\.)".to_owned(),
        format!(r"(?<time> *\b{NUMBER} ?{TIME_UNITS}\b)"),
        r"(?<hex>\b0x[0-9a-f]+\b)".to_owned(),
        format!(r"(?<number>\b{NUMBER}[KMG]?\b)"),
        r"(?<digits>\b[0-9a-f]*[0-9][0-9a-f]*\b)".to_owned(),
        "(?<blanks> +)".to_owned(),
    ];
    regex(&alternatives.join("|"))
});

fn regex(text: &str) -> Regex {
    Regex::new(text).expect("the parts of the expression are escaped or constant")
}

/// Compares output with the lines that a page shows; `numbers` says that they are examples. The error shows where the
/// output departs from the page.
pub fn compare(shown: &[String], numbers: bool, output: &str) -> Result<(), String> {
    let output = plain(output);
    let shown: Vec<&str> = shown.iter().map(|line| line.trim_end()).collect();
    // Blank lines at the end of a block are for the reader's eye.
    let length = shown.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
    let lines: Vec<String> = shown[..length].iter().map(|line| line_pattern(line, numbers)).collect();
    let prefix = |count: usize| regex(&format!(r"\A(?:{})", lines[..count].concat()));
    if regex(&format!(r"\A{}\z", lines.concat())).is_match(&output) {
        return Ok(());
    }
    let fitting = (0..=length).rev().find_map(|count| Some((count, prefix(count).find(&output)?.end())));
    let (count, end) = fitting.unwrap_or_default();
    let mut report = String::new();
    let _ = match shown[..length].get(count) {
        Some(line) => writeln!(report, "the page shows:  {line}"),
        None => writeln!(report, "the page shows nothing more"),
    };
    let _ = match output[end..].lines().next() {
        Some(line) => writeln!(report, "printed instead: {line}"),
        None => writeln!(report, "nothing more was printed"),
    };
    let _ = write!(report, "the whole output:\n{output}");
    Err(report)
}

/// Output with no blanks at the ends of its lines, and no empty lines at its end.
fn plain(output: &str) -> String {
    let mut text = String::new();
    for line in output.trim_end().lines() {
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// An expression for one line with its end.
fn line_pattern(shown: &str, numbers: bool) -> String {
    if shown.trim() == "..." {
        return "(?:.*\n)*?".to_owned();
    }
    let mut pattern = String::new();
    let mut end = 0;
    for found in VARYING.captures_iter(shown) {
        let Some(whole) = found.get(0) else { continue };
        pattern.push_str(&regex::escape(&shown[end..whole.start()]));
        pattern.push_str(&varying_pattern(&found, whole.as_str(), numbers, whole.start() == 0));
        end = whole.end();
    }
    pattern.push_str(&regex::escape(&shown[end..]));
    pattern.push('\n');
    pattern
}

fn varying_pattern(found: &Captures<'_>, text: &str, numbers: bool, at_start: bool) -> String {
    if found.name("dots").is_some() {
        return ".*".to_owned();
    }
    if found.name("time").is_some() {
        let blanks = if text.starts_with(' ') { " *" } else { "" };
        return format!("{blanks}{NUMBER} ?{TIME_UNITS}");
    }
    if !numbers {
        return regex::escape(text);
    }
    if found.name("hex").is_some() {
        return "0x[0-9a-f]+".to_owned();
    }
    if found.name("blanks").is_some() {
        // A number at the start of a line may be longer than the shown one.
        return if at_start { " *".to_owned() } else { " +".to_owned() };
    }
    // Words of hexadecimal digits, some of which happen to have decimal digits only.
    if found.name("digits").is_some() || (text.len() >= 8 && text.starts_with('0') && !text.contains('.')) {
        return "[0-9a-f]+".to_owned();
    }
    format!("{NUMBER}[KMG]?")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(shown: &str, numbers: bool, output: &str) -> bool {
        let shown: Vec<String> = shown.lines().map(str::to_owned).collect();
        compare(&shown, numbers, output).is_ok()
    }

    #[test]
    fn equal_lines_fit_and_others_do_not() {
        assert!(fits("a\nb (c) [d]*", false, "a  \nb (c) [d]*\n\n"));
        assert!(!fits("a\nb", false, "a\n"));
        assert!(!fits("a", false, "a\nb\n"));
        assert!(!fits("a", false, "A\n"));
        assert!(fits("", false, ""));
        assert!(!fits("", false, "x\n"));
    }

    #[test]
    fn dots_stand_for_text_and_for_lines() {
        assert!(fits("a\n...\nd", false, "a\nb\nc\nd\n"));
        assert!(fits("a\n  ...", false, "a\n"));
        assert!(fits("...\nb\n...\nd", false, "b\nx\nb\nd\n"));
        assert!(!fits("a\n...\nd", false, "a\nb\n"));
        assert!(fits("from .../lib to ...", false, "from /usr/lib to /\n"));
        assert!(!fits("from ... to x", false, "from a\nto x\n"));
    }

    #[test]
    fn times_always_vary() {
        assert!(fits("ran 0.788 s, waited 2 ms", false, "ran 12.1 s, waited 3.5 us\n"));
        assert!(fits("id   922.026 ms  3", false, "id     1.163 ms  3\n"));
        assert!(!fits("ran 2 steps", false, "ran 3 steps\n"));
    }

    #[test]
    fn numbers_vary_where_the_page_says_so() {
        assert!(fits("x 12 of 1,024 at 0x1f", true, "x 345 of 99,000 at 0xabc\n"));
        assert!(fits("  rip 0000555555555145", true, "    rip 00007ffffeffe5ab\n"));
        assert!(fits("[    0.003918] on", true, "[   10.5] on\n"));
        assert!(fits("in kernel-19553c7a.debug", true, "in kernel-ffa0.debug\n"));
        assert!(fits(" 0  idle", true, "16  idle\n"));
        assert!(!fits("x 12", true, "y 12\n"));
        assert!(!fits("x 12", true, "x twelve\n"));
        assert!(!fits("x 12", false, "x 13\n"));
    }

    #[test]
    fn an_error_names_the_first_line_that_differs() {
        let error = compare(&["a".into(), "b".into(), "c".into()], false, "a\nx\nc\n").unwrap_err();
        assert!(error.contains("shows:  b\nprinted instead: x\n"), "{error}");
        let error = compare(&["a".into()], false, "a\nb\n").unwrap_err();
        assert!(error.contains("nothing more\nprinted instead: b\n"), "{error}");
    }
}
