// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tests under `hadal run`: many in one machine, where a shell runs them one after another, or one in a machine of its own.
//!
//! The shell says when a test begins and how it ended. So a machine that is lost, or that says nothing for longer than a test may
//! take, is the doing of the test that began last.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::error::TestError;
use crate::machine;
use crate::run::{Running, run};

/// Begins each line that the shell says. No test prints it.
const MARK: &str = "hadal-posix-shell:";

/// What a machine gets beyond the time of a test: to start, and to end what did not end by itself.
const GRACE: Duration = Duration::from_secs(45);

/// How often the output of a machine is read.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// What the shell does; each line of the list is a name and a program. Every test has a directory of its own.
const SCRIPT: &str = r#"
while read -r name program; do
    printf '\n%s begin %s\n' "$mark" "$name"
    mkdir "$name" && (cd "$name" && exec timeout -k 5 "$limit" "$program") </dev/null 2>&1
    printf '\n%s end %s %d\n' "$mark" "$name" $?
done <list
"#;

/// A test and its program.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The name of the test.
    pub name: String,
    /// A program for Linux.
    pub program: PathBuf,
}

/// How a test ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// Its status, unless the machine was lost or did not answer.
    pub status: Option<i32>,
    /// What it wrote.
    pub text: String,
}

/// Where the shell finds the programs: the machine's `/tmp` hides that of the host.
const PROGRAMS: &str = "/tmp/programs";

/// How tests are run.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Holds all programs.
    pub programs: PathBuf,
    /// Processors.
    pub cpus: u32,
    /// The ring that programs run in: 0 or 3.
    pub ring: String,
    /// What a test may take.
    pub limit: Duration,
}

impl Machine {
    /// Runs tests in one machine as far as it gets: how those ended that began, at least one.
    pub fn run(&self, place: &Path, tests: &[Candidate]) -> Result<Vec<Ending>, TestError> {
        let mut list = String::new();
        for (index, test) in tests.iter().enumerate() {
            let program = test.program.strip_prefix(&self.programs).unwrap_or(&test.program);
            let _ = writeln!(list, "{index} {PROGRAMS}/{}", program.display());
        }
        fs::write(place.join("list"), list).map_err(TestError::io("cannot write the list of tests"))?;
        let mut command = self.command(place)?;
        command.arg("--mount").arg(format!("{}:{PROGRAMS}", self.programs.display()));
        command.arg("--env").arg(format!("mark={MARK}"));
        command.arg("--env").arg(format!("limit={}", self.limit.as_secs()));
        command.args(["sh", "-c", SCRIPT]);
        let mut running = Running::start(command, b"")?;
        let (mut seen, mut since) = (0, Instant::now());
        while running.is_running()? && since.elapsed() < self.limit + GRACE {
            thread::sleep(POLL_INTERVAL);
            let said = running.output().matches(MARK).count();
            if said != seen {
                (seen, since) = (said, Instant::now());
            }
        }
        let (outcome, what) = match running.finish(Duration::ZERO) {
            Ok(outcome) => (outcome, "the machine was lost"),
            Err(TestError::Hung { outcome, .. }) => (*outcome, "the machine did not answer"),
            Err(error) => return Err(error),
        };
        let mut endings = endings(&outcome.stdout_text());
        if endings.is_empty() {
            endings.push(Ending { status: None, text: outcome.stdout_text() });
        }
        if let Some(Ending { status: None, text }) = endings.last_mut() {
            let _ = write!(text, "\n{what}\n{}", outcome.stderr_text());
        }
        Ok(endings)
    }

    /// Runs one test in a machine of its own.
    pub fn run_alone(&self, place: &Path, test: &Candidate) -> Result<Ending, TestError> {
        let mut command = self.command(place)?;
        command.arg("--timeout").arg(self.limit.as_secs().to_string()).arg(&test.program);
        Ok(match run(command, b"", self.limit + GRACE) {
            Ok(outcome) => Ending { status: Some(outcome.status), text: outcome.to_string() },
            Err(error) => Ending { status: None, text: error.to_string() },
        })
    }

    fn command(&self, place: &Path) -> Result<Command, TestError> {
        let mut command = machine::with_default_signals(&machine::hadal_command()?);
        command.current_dir(place).arg("run").arg("--cpus").arg(self.cpus.to_string());
        command.arg("--ring").arg(&self.ring);
        Ok(command)
    }
}

/// How the tests ended that began, by what the machine said; the last may have no status.
fn endings(output: &str) -> Vec<Ending> {
    let mut endings: Vec<Ending> = Vec::new();
    for line in output.lines() {
        let words = line.strip_prefix(MARK).map(|rest| rest.split_ascii_whitespace().collect::<Vec<_>>());
        match (words.as_deref(), endings.last_mut()) {
            (Some(["begin", ..]), _) => endings.push(Ending { status: None, text: String::new() }),
            (Some(["end", _, status]), Some(last)) => last.status = status.parse().ok(),
            (_, Some(last)) => {
                let _ = writeln!(last.text, "{line}");
            }
            _ => {}
        }
    }
    endings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_test_that_began_last_has_no_status() {
        let output = format!("noise\n{MARK} begin 0\na\n{MARK} end 0 3\n\n{MARK} begin 1\nb\n");
        let ended = endings(&output);
        assert_eq!(ended[0], Ending { status: Some(3), text: "a\n\n".into() });
        assert_eq!(ended[1], Ending { status: None, text: "b\n".into() });
        assert_eq!(endings("noise"), []);
    }
}
