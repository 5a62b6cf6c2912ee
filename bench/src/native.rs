// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The host itself, without QEMU.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use crate::timed::{self, Ended};
use crate::toolchain::Program;

/// Runs a program.
pub(crate) fn run(program: &Program, cwd: &Path, limit: Duration) -> Result<Ended> {
    let mut command = Command::new(&program.file);
    command.args(&program.args).current_dir(cwd).env_clear().envs(program.env.iter().cloned());
    timed::run(&mut command, limit)
}
