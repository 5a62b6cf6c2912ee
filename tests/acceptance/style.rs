// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The C and C++ sources have the form that `.clang-format` describes; `cargo fmt` does the same for Rust.

use std::path::Path;
use std::process::Command;

use hadal_tests::TestError;

use crate::suite::Suite;

pub(crate) fn register(suite: &mut Suite) {
    suite.host("style/clang-format", clang_format);
}

fn run(command: &mut Command) -> Result<String, TestError> {
    let output = command.output().map_err(TestError::io(format!("cannot run {command:?}")))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        return Err(TestError::Wrong(format!("{command:?} ended with {}:\n{text}", output.status)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn clang_format() -> Result<(), TestError> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
    let files =
        run(Command::new("git").current_dir(root).args(["ls-files", "*.c", "*.h", "*.cpp", "*.hpp"]))?;
    run(Command::new("clang-format").current_dir(root).args(["--dry-run", "--Werror"]).args(files.lines()))
        .map(drop)
}
