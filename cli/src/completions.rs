// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `hadal completions`: prints completions for a shell, made from the definition of the command line.

use std::io::{self, Write};

use anyhow::Context;
use clap::CommandFactory;
use clap_complete::{Shell, generate};

use crate::args::{Cli, CompletionShell, CompletionsArgs};
use crate::failure::Failure;

/// Prints the completions of one shell.
pub(crate) fn print(args: &CompletionsArgs) -> Result<u8, Failure> {
    let shell = match args.shell {
        CompletionShell::Bash => Shell::Bash,
        CompletionShell::Zsh => Shell::Zsh,
        CompletionShell::Fish => Shell::Fish,
    };
    // The generator panics when it cannot write, so it writes to memory.
    let mut text = Vec::new();
    generate(shell, &mut Cli::command(), "hadal", &mut text);
    io::stdout().write_all(&text).context("cannot write the completions")?;
    Ok(0)
}
