// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `hadal test`: every test of the source tree, one step after the other, with what failed and one line of sums at the end.
//!
//! The steps are formatting and lints, the host's unit and property tests, the models of the lock-free parts (loom), the
//! acceptance programs (package `hadal-tests`), which run whole programs with this very command, and the path lengths,
//! which must not grow. Each step's output is passed on as it comes.

mod failures;

use std::env;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::Context;

use crate::args::TestArgs;
use crate::failure::Failure;
use failures::Failures;

const KERNEL_TARGET: &str = "x86_64-unknown-none";
/// Runs only in the machine; every other crate has tests on the host.
const KERNEL: &str = "hadal-kernel";
const ACCEPTANCE: &str = "hadal-tests";
/// Have lock-free code with models.
const MODELLED: [&str; 5] = ["hadal-event", "hadal-hrt", "hadal-sched", "hadal-sync", "hadal-trace"];

/// Path lengths of the last change.
const BASELINE: &str = "bench/baseline.json";

/// What a step runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tool {
    Cargo,
    /// This command.
    Hadal,
}

/// One command of the test run.
#[derive(Debug)]
struct Step {
    title: &'static str,
    tool: Tool,
    args: Vec<String>,
    /// Whether it is built with loom's atomics, which needs a target directory of its own.
    models: bool,
    /// Whether it prints sums of its own; otherwise it is one test itself.
    counts: bool,
}

/// Tests passed and failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sums {
    passed: u64,
    failed: u64,
}

/// Runs the tests and prints `N passed, N failed` as the last line.
pub(crate) fn run(args: &TestArgs) -> Result<u8, Failure> {
    let root = source_tree()?;
    let has_acceptance = root.join("tests/Cargo.toml").is_file();
    let mut total = Sums::default();
    let mut failed_steps = Vec::new();
    let mut failures = Failures::default();
    let steps = steps(args, has_acceptance);
    let started_all = Instant::now();
    for (index, step) in steps.iter().enumerate() {
        let started = Instant::now();
        println!(
            "== {} (step {} of {}, {} min so far)",
            step.title,
            index + 1,
            steps.len(),
            started_all.elapsed().as_secs() / 60
        );
        let sums = run_step(&root, step, args, &mut failures)?;
        println!(
            "== {}: {} passed, {} failed, {:.1} s",
            step.title,
            sums.passed,
            sums.failed,
            started.elapsed().as_secs_f64()
        );
        total.passed += sums.passed;
        total.failed += sums.failed;
        if sums.failed > 0 {
            failed_steps.push(step.title);
        }
    }
    if let Some(text) = failures.text() {
        println!("== what failed tests said\n{text}");
    }
    if !failed_steps.is_empty() {
        println!("failed: {}", failed_steps.join(", "));
    }
    println!("{} passed, {} failed", total.passed, total.failed);
    Ok(u8::from(total.failed > 0))
}

/// The directory of the workspace, at or above the working directory.
fn source_tree() -> Result<PathBuf, Failure> {
    let cwd = env::current_dir().context("the working directory is gone")?;
    let is_tree = |dir: &Path| {
        fs::read_to_string(dir.join("Cargo.toml")).is_ok_and(|text| text.contains("[workspace]"))
            && dir.join("kernel/Cargo.toml").is_file()
    };
    cwd.ancestors().find(|dir| is_tree(dir)).map(Path::to_path_buf).ok_or_else(|| {
        Failure::setup(
            "no source tree of Hadal here",
            "`hadal test` runs in a checkout of Hadal's repository",
        )
    })
}

fn steps(args: &TestArgs, has_acceptance: bool) -> Vec<Step> {
    let step = |title, line: &str, counts| Step {
        title,
        tool: Tool::Cargo,
        args: line.split(' ').map(str::to_owned).collect(),
        models: false,
        counts,
    };
    let with_filter = |mut step: Step| {
        if let Some(filter) = &args.filter {
            step.args.extend(["--".to_owned(), filter.clone()]);
        }
        step
    };
    let mut steps = Vec::new();
    if args.filter.is_none() {
        let lints = format!("clippy --package {KERNEL} --target {KERNEL_TARGET} --bins -- -D warnings");
        steps.push(step("format", "fmt --all --check", false));
        steps.push(step(
            "lints, host",
            &format!("clippy --workspace --exclude {KERNEL} --all-targets -- -D warnings"),
            false,
        ));
        steps.push(step("lints, kernel", &lints, false));
    }
    if args.filter.is_none() && !args.quick {
        // A workspace of their own, which nothing else here builds. Without its features: to check, libFuzzer is not needed.
        let line =
            "check --locked --no-default-features --manifest-path fuzz/Cargo.toml --target-dir target/fuzz";
        steps.push(step("fuzz targets", line, false));
    }
    let units = format!("test --no-fail-fast --workspace --exclude {KERNEL} --exclude {ACCEPTANCE}");
    steps.push(with_filter(step("unit tests", &units, true)));
    if args.filter.is_none() && !args.quick {
        let packages = MODELLED.map(|name| format!("--package {name}")).join(" ");
        let line = format!("test --release --lib {packages} --target-dir target/loom model");
        steps.push(Step { models: true, ..step("models", &line, true) });
    }
    if has_acceptance {
        steps.push(with_filter(step(
            "programs",
            &format!("test --no-fail-fast --package {ACCEPTANCE}"),
            true,
        )));
    }
    if args.filter.is_none() && !args.quick {
        let compare = step("path lengths", &format!("bench compare {BASELINE}"), false);
        steps.push(Step { tool: Tool::Hadal, ..compare });
    }
    steps
}

/// Runs one step, passing its output on, and adds up its results.
fn run_step(root: &Path, step: &Step, args: &TestArgs, failures: &mut Failures) -> Result<Sums, Failure> {
    let this_command = env::current_exe().context("cannot find this command's own file")?;
    let tool = match step.tool {
        Tool::Cargo => env::var_os("CARGO").unwrap_or_else(|| "cargo".into()),
        Tool::Hadal => this_command.clone().into_os_string(),
    };
    let mut command = Command::new(&tool);
    command.current_dir(root).args(&step.args).stdin(Stdio::null()).env("HADAL", &this_command);
    if args.quick {
        command.env("HADAL_TESTS_QUICK", "1");
    }
    if args.all {
        command.env("HADAL_TESTS_ALL", "1");
    }
    if step.models {
        command.env("RUSTFLAGS", "--cfg loom").env_remove("CARGO_ENCODED_RUSTFLAGS");
    }
    if !step.counts {
        let status = command.status().with_context(|| cargo_hint(&tool))?;
        return Ok(one(status.success()));
    }
    let mut child = command.stdout(Stdio::piped()).spawn().with_context(|| cargo_hint(&tool))?;
    let mut sums = Sums::default();
    if let Some(output) = child.stdout.take() {
        for line in BufReader::new(output).split(b'\n') {
            let line = line.context("cannot read the output of cargo")?;
            let mut out = io::stdout().lock();
            // A closed pipe must not stop the tests; the sums still decide the status.
            let _ = out.write_all(&line).and_then(|()| out.write_all(b"\n"));
            let line = String::from_utf8_lossy(&line);
            failures.read(&line);
            if let Some(counted) = parse_result(&line) {
                sums.passed += counted.passed;
                sums.failed += counted.failed;
            }
        }
    }
    let status = child.wait().context("cannot wait for cargo")?;
    // A crash, or code that does not compile, is a failure even if no test said so.
    if !status.success() && sums.failed == 0 {
        sums.failed = 1;
    }
    Ok(sums)
}

fn cargo_hint(cargo: &std::ffi::OsStr) -> String {
    format!("cannot run {} (install Rust: https://rustup.rs)", Path::new(cargo).display())
}

fn one(passed: bool) -> Sums {
    Sums { passed: u64::from(passed), failed: u64::from(!passed) }
}

/// Reads `test result: ok. 5 passed; 0 failed; …`.
fn parse_result(line: &str) -> Option<Sums> {
    let rest = line.trim_start().strip_prefix("test result: ")?;
    let (_, rest) = rest.split_once(". ")?;
    let count =
        |name: &str| rest.split("; ").find_map(|part| part.trim().strip_suffix(name)?.trim().parse().ok());
    Some(Sums { passed: count("passed")?, failed: count("failed")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_test_drivers_are_read() {
        let line = "test result: FAILED. 12 passed; 3 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.1s";
        assert_eq!(parse_result(line), Some(Sums { passed: 12, failed: 3 }));
        assert_eq!(parse_result("test a ... ok"), None);
    }

    #[test]
    fn a_filter_leaves_out_the_lints() {
        let args = TestArgs { quick: false, all: false, filter: Some("futex".into()) };
        let titles: Vec<_> = steps(&args, true).iter().map(|s| s.title).collect();
        assert_eq!(titles, ["unit tests", "programs"]);
    }

    #[test]
    fn path_lengths_are_compared_by_this_command_and_last() {
        let all = |quick| steps(&TestArgs { quick, all: false, filter: None }, true);
        let last = |steps: Vec<Step>| steps.into_iter().next_back().unwrap();
        assert_eq!(last(all(false)).tool, Tool::Hadal);
        assert_eq!(last(all(true)).title, "programs");
    }
}
