// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What failed tests had to say, kept for the end of a run: in the output of all tests it is hard to find.

/// Lines kept of one command; a broken build can fail hundreds of tests.
const MOST_LINES: usize = 200;

/// Collects the reports of failed tests from the output of test drivers, line by line.
#[derive(Debug, Default)]
pub(super) struct Failures {
    lines: Vec<String>,
    is_in_report: bool,
    left_out: usize,
}

impl Failures {
    /// A line of a driver's output. Reports begin at `---- NAME ----` and end at the list of names, which follows `failures:`.
    pub(super) fn read(&mut self, line: &str) {
        if line.starts_with("---- ") {
            self.is_in_report = true;
        } else if line == "failures:" || line.starts_with("test result: ") {
            self.is_in_report = false;
        }
        if !self.is_in_report || line.is_empty() {
            return;
        }
        if self.lines.len() < MOST_LINES {
            self.lines.push(line.to_owned());
        } else {
            self.left_out += 1;
        }
    }

    /// The reports, unless there are none.
    pub(super) fn text(&self) -> Option<String> {
        let rest = match self.left_out {
            0 => String::new(),
            lines => format!("\n… and {lines} lines more, above"),
        };
        (!self.lines.is_empty()).then(|| format!("{}{rest}", self.lines.join("\n")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collect(output: &str) -> Option<String> {
        let mut failures = Failures::default();
        output.lines().for_each(|line| failures.read(line));
        failures.text()
    }

    #[test]
    fn reports_are_kept_and_nothing_else() {
        let output = "test a ... ok\ntest b ... FAILED\n\nfailures:\n\n---- b ----\nrun 1:\n\n5\n\n\nfailures:\n    b\n\n\
                      test result: FAILED. 1 passed; 1 failed\ntest c ... ok\n";
        assert_eq!(collect(output).as_deref(), Some("---- b ----\nrun 1:\n5"));
        assert_eq!(collect("test a ... ok\ntest result: ok. 1 passed; 0 failed\n"), None);
    }

    #[test]
    fn long_reports_are_cut() {
        let output = format!("---- b ----\n{}", "x\n".repeat(MOST_LINES + 4));
        assert!(collect(&output).is_some_and(|text| text.ends_with("… and 5 lines more, above")));
    }
}
