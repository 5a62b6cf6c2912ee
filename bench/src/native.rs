// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The host itself, without QEMU.

use std::env;
use std::path::Path;
use std::process::Command;

use crate::toolchain::Program;

/// A program's command.
pub(crate) fn command(program: &Program, cwd: &Path) -> Command {
    let mut command = Command::new(&program.file);
    // Not `env_clear`: what a command has of it cannot be told (`Command::get_envs`).
    for (name, _) in env::vars_os() {
        command.env_remove(name);
    }
    command.args(&program.args).current_dir(cwd).envs(program.env.iter().cloned());
    command
}
