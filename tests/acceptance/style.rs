// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The sources have the form that `.clang-format` and `rustfmt.toml` describe. `cargo fmt` does not find modules that macros declare,
//! so rustfmt is given every file.

use std::path::Path;
use std::process::Command;

use hadal_tests::TestError;

use crate::suite::Suite;

pub(crate) fn register(suite: &mut Suite) {
    suite.host("style/clang-format", clang_format);
    suite.host("style/rustfmt", rustfmt);
}

fn run(command: &mut Command) -> Result<String, TestError> {
    let output = command.output().map_err(TestError::io(format!("cannot run {command:?}")))?;
    if !output.status.success() {
        let text = [&output.stderr[..], &output.stdout[..]].concat();
        let text = String::from_utf8_lossy(&text);
        return Err(TestError::Wrong(format!(
            "{:?} ended with {}:\n{text}",
            command.get_program(),
            output.status
        )));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a tool on all files of the tree that match one of the patterns.
fn check(tool: &[&str], patterns: &[&str]) -> Result<(), TestError> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
    let files = run(Command::new("git").current_dir(root).arg("ls-files").args(patterns))?;
    run(Command::new(tool[0]).current_dir(root).args(&tool[1..]).args(files.lines())).map(drop)
}

fn clang_format() -> Result<(), TestError> {
    check(&["clang-format", "--dry-run", "--Werror"], &["*.c", "*.h", "*.cpp", "*.hpp"])
}

fn rustfmt() -> Result<(), TestError> {
    check(&["rustfmt", "--edition", "2024", "--check", "-l"], &["*.rs"])
}
