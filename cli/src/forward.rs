// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Becomes the `hadal` command beside this one, or else that of `PATH`, with a subcommand in front of the arguments.

use std::env;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// Failure of the command itself (`hadal_abi::status::INTERNAL`).
const INTERNAL: u8 = 125;

/// Never returns if all is well.
pub(crate) fn to(subcommand: &str) -> ExitCode {
    let beside = env::current_exe().ok().map(|own| own.with_file_name("hadal"));
    let hadal = beside.filter(|file| file.is_file()).unwrap_or_else(|| PathBuf::from("hadal"));
    let error = Command::new(&hadal).arg(subcommand).args(env::args_os().skip(1)).exec();
    eprintln!("hadal-{subcommand}: cannot start {}: {error}", hadal.display());
    ExitCode::from(INTERNAL)
}
