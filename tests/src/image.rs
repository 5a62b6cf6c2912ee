// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Test programs as images: compiled by `hadal cc` or `hadal c++`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::case::expect_status;
use crate::error::TestError;
use crate::machine::hadal_command;
use crate::programs::{Program, Way};
use crate::{run, scratch};

/// A compiler, perhaps with Hadal's library to compile first.
const COMPILER_LIMIT: Duration = Duration::from_secs(180);

/// Compiles a program to an image in `directory`, with these options beside the usual ones.
pub fn build(directory: &Path, program: &Program, way: Way, options: &[&str]) -> Result<PathBuf, TestError> {
    let output = directory.join("program.hadal");
    let sources = scratch::workspace().join("tests/programs");
    let mut command = Command::new(hadal_command()?);
    command.current_dir(directory);
    match way {
        Way::Gxx => command.args(["c++", "-std=c++20"]),
        _ => command.arg("cc"),
    };
    command.args(["-O2", "-g"]).args(options).arg("-o").arg(&output);
    command.args(program.sources.iter().map(|source| sources.join(source)));
    expect_status(&run::run(command, b"", COMPILER_LIMIT)?, 0)?;
    Ok(output)
}
