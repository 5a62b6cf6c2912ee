// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One comparison: the same binary with the same arguments, environment and input, on Linux and on Hadal.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use similar::{ChangeTag, TextDiff};

use crate::error::TestError;
use crate::machine::{Hadal, native_only, with_default_signals};
use crate::programs::{Program, Way};
use crate::run::{self, Outcome};
use crate::scratch;

/// A program never takes this long on Linux.
const NATIVE_LIMIT: Duration = Duration::from_secs(60);

/// A comparison in the making.
#[derive(Clone, Debug)]
pub struct Case {
    name: String,
    program: &'static Program,
    way: Way,
    hadal: Hadal,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    stdin: Vec<u8>,
}

impl Case {
    /// The program built in `way`, on `cpus` processors; `name` is that of the test.
    #[must_use]
    pub fn new(name: &str, program: &'static Program, way: Way, cpus: u32) -> Self {
        Self {
            name: name.to_owned(),
            program,
            way,
            hadal: Hadal::new(cpus),
            arguments: Vec::new(),
            environment: Vec::new(),
            stdin: Vec::new(),
        }
    }

    /// Adds arguments of the program.
    #[must_use]
    pub fn args<S: AsRef<OsStr>>(mut self, arguments: &[S]) -> Self {
        self.arguments.extend(arguments.iter().map(|argument| argument.as_ref().to_owned()));
        self
    }

    /// Sets a variable on both systems.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.environment.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self.hadal = self.hadal.env(name, value);
        self
    }

    /// Feeds standard input on both systems.
    #[must_use]
    pub fn stdin(mut self, bytes: &[u8]) -> Self {
        self.stdin = bytes.to_vec();
        self.hadal = self.hadal.stdin(bytes);
        self
    }

    /// Changes the options of the `hadal` command.
    #[must_use]
    pub fn hadal(mut self, change: impl FnOnce(Hadal) -> Hadal) -> Self {
        self.hadal = change(self.hadal);
        self
    }

    /// Seconds the run may take on Hadal.
    #[must_use]
    pub fn limit_s(self, seconds: u64) -> Self {
        self.hadal(|hadal| hadal.limit(Duration::from_secs(seconds)))
    }

    /// Runs on Linux, in `directory`.
    pub fn on_linux(&self, directory: &Path) -> Result<Outcome, TestError> {
        let mut command = with_default_signals(&self.program.build(self.way)?);
        command.args(&self.arguments).env_clear().current_dir(directory);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        run::run(command, &self.stdin, NATIVE_LIMIT)
    }

    /// Runs on Hadal, in `directory`; a second time on Linux when only that half is wanted.
    pub fn on_hadal(&self, directory: &Path) -> Result<Outcome, TestError> {
        if native_only() {
            return self.on_linux(directory);
        }
        let program = self.program.build(self.way)?;
        self.hadal.clone().cwd(directory).run(&program, &self.arguments)
    }

    /// Runs on both systems, each time in the same fresh directory: Linux first, then Hadal.
    pub fn both(&self) -> Result<(Outcome, Outcome), TestError> {
        let directory = scratch::empty_directory(&self.name)?;
        let linux = self.on_linux(&directory)?;
        scratch::make_empty(&directory)?;
        Ok((linux, self.on_hadal(&directory)?))
    }

    /// Passes when both outputs and the status are the same on both systems.
    pub fn compare(&self) -> Result<(), TestError> {
        let (linux, hadal) = self.both()?;
        expect_same(&linux, &hadal, true)
    }

    /// Passes when standard output and the status are the same, and standard error holds that of Linux and then a
    /// report with each of these texts.
    pub fn compare_with_report(&self, texts: &[&str]) -> Result<(), TestError> {
        let (linux, hadal) = self.both()?;
        expect_same(&linux, &hadal, false)?;
        let report = hadal.stderr_text();
        let own = linux.stderr_text();
        if !report.contains(own.trim_end()) {
            return Err(wrong(&format!("standard error lacks what the program wrote:\n{own}"), &hadal));
        }
        if native_only() {
            return Ok(());
        }
        expect_texts(&hadal, texts)
    }
}

/// An error that shows a whole outcome.
#[must_use]
pub fn wrong(what: &str, outcome: &Outcome) -> TestError {
    TestError::Wrong(format!("{what}\n{outcome}"))
}

/// Passes when standard error contains each text, whatever its case.
pub fn expect_texts(outcome: &Outcome, texts: &[&str]) -> Result<(), TestError> {
    let stderr = outcome.stderr_text().to_lowercase();
    match texts.iter().find(|text| !stderr.contains(&text.to_lowercase())) {
        Some(text) => Err(wrong(&format!("standard error does not mention \"{text}\""), outcome)),
        None => Ok(()),
    }
}

/// Passes when standard output has these texts, in this order.
pub fn expect_in_order(outcome: &Outcome, texts: &[&str]) -> Result<(), TestError> {
    let output = outcome.stdout_text();
    let mut rest = output.as_str();
    for text in texts {
        match rest.find(text) {
            Some(at) => rest = &rest[at + text.len()..],
            None => return Err(wrong(&format!("\"{text}\" does not follow in the output"), outcome)),
        }
    }
    Ok(())
}

/// Passes when the status is `status`.
pub fn expect_status(outcome: &Outcome, status: i32) -> Result<(), TestError> {
    if outcome.status == status {
        return Ok(());
    }
    Err(wrong(&format!("the status is {} instead of {status}", outcome.status), outcome))
}

/// Passes when standard output is this text.
pub fn expect_stdout(outcome: &Outcome, text: &str) -> Result<(), TestError> {
    if outcome.stdout == text.as_bytes() {
        return Ok(());
    }
    let difference = difference(text.as_bytes(), &outcome.stdout);
    Err(wrong(&format!("standard output differs:\n{difference}"), outcome))
}

/// Passes when two outcomes are the same.
pub fn expect_same(linux: &Outcome, hadal: &Outcome, with_stderr: bool) -> Result<(), TestError> {
    let mut report = String::new();
    if linux.status != hadal.status {
        let _ = writeln!(report, "status: {} on Linux, {} on Hadal", linux.status, hadal.status);
    }
    if linux.stdout != hadal.stdout {
        let _ = write!(report, "standard output:\n{}", difference(&linux.stdout, &hadal.stdout));
    }
    if with_stderr && linux.stderr != hadal.stderr {
        let _ = write!(report, "standard error:\n{}", difference(&linux.stderr, &hadal.stderr));
    }
    if report.is_empty() {
        return Ok(());
    }
    if with_stderr || linux.stderr == hadal.stderr {
        return Err(TestError::Wrong(format!("differs from Linux (- Linux, + Hadal)\n{report}")));
    }
    Err(wrong(&format!("differs from Linux (- Linux, + Hadal)\n{report}"), hadal))
}

/// Lines of the expected bytes (-) and the actual ones (+) that differ, with a little around them.
#[must_use]
pub fn difference(expected: &[u8], actual: &[u8]) -> String {
    const MOST_LINES: usize = 80;
    let (expected_text, actual_text) =
        (String::from_utf8(expected.to_vec()), String::from_utf8(actual.to_vec()));
    let (Ok(expected_text), Ok(actual_text)) = (expected_text, actual_text) else {
        let same = expected.iter().zip(actual).take_while(|(left, right)| left == right).count();
        return format!("{} and {} bytes, the first {same} are equal\n", expected.len(), actual.len());
    };
    let mut text = String::new();
    let diff = TextDiff::from_lines(&expected_text, &actual_text);
    let lines = diff.grouped_ops(2).into_iter().flatten().flat_map(|operation| {
        diff.iter_changes(&operation)
            .map(|change| (change.tag(), change.value().to_owned()))
            .collect::<Vec<_>>()
    });
    for (tag, line) in lines.take(MOST_LINES) {
        let sign = match tag {
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
            ChangeTag::Equal => ' ',
        };
        let _ = writeln!(text, "{sign} {}", line.trim_end_matches('\n'));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(stdout: &str, stderr: &str, status: i32) -> Outcome {
        Outcome { stdout: stdout.into(), stderr: stderr.into(), status }
    }

    #[test]
    fn every_kind_of_difference_is_found_and_shown() {
        let linux = outcome("a\nb\nc\n", "", 0);
        assert!(expect_same(&linux, &linux.clone(), true).is_ok());
        let error = expect_same(&linux, &outcome("a\nx\nc\n", "", 0), true).unwrap_err().to_string();
        assert!(error.contains("- b") && error.contains("+ x"), "{error}");
        let error = expect_same(&linux, &outcome("a\nb\nc\n", "", 139), true).unwrap_err().to_string();
        assert!(error.contains("139"), "{error}");
        assert!(expect_same(&linux, &outcome("a\nb\nc\n", "noise", 0), true).is_err());
        assert!(expect_same(&linux, &outcome("a\nb\nc\n", "report", 0), false).is_ok());
        assert!(expect_same(&linux, &outcome("a\nb\nc", "", 0), true).is_err());
    }

    #[test]
    fn bytes_that_are_no_text_are_counted() {
        assert!(difference(b"ab\xff", b"ab\xfe\x01").contains("the first 2 are equal"));
    }
}
