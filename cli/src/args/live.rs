// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Commands about live runs.

use std::time::Duration;

use clap::Args;

use crate::values;

/// `hadal ps`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hadal ps                        your live runs
  hadal ps 18223                  the processes in one of them
  hadal ps bash

Each run listens on a socket in the directory hadal of XDG_RUNTIME_DIR, or else in /tmp/hadal-UID. A run that cannot make
it is not listed.")]
pub(crate) struct PsArgs {
    /// List the processes in this run: its PID, or the program's file name
    #[arg(value_name = "PID|NAME")]
    pub(crate) run: Option<String>,

    /// Time for its kernel to answer (10, 1.5s, 2m)
    #[arg(long, value_name = "TIME", value_parser = values::parse_time, default_value = "20s", requires = "run")]
    pub(crate) wait: Duration,
}

/// `hadal stop`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hadal stop 18223
  hadal stop heat                 every live run of a program with this file name
  hadal stop --grace 60s --all
  hadal stop --kill               without a name: the only live run

The status is 0 when all of them have ended, 1 otherwise.")]
pub(crate) struct StopArgs {
    /// Runs: the PID that `hadal ps` shows, or the program's file name [default: the only one]
    #[arg(value_name = "PID|NAME", conflicts_with = "all")]
    pub(crate) runs: Vec<String>,

    /// End all of your live runs
    #[arg(long)]
    pub(crate) all: bool,

    /// End the machine at once; the program gets no signal
    #[arg(long, conflicts_with = "grace")]
    pub(crate) kill: bool,

    /// Time for the program to end by itself (10, 1.5s, 2m)
    #[arg(long, value_name = "TIME", value_parser = values::parse_time, default_value = "10s")]
    pub(crate) grace: Duration,
}

/// `hadal stacks`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hadal stacks                    of the only live run
  hadal stacks 18223
  hadal stacks heat
  hadal stacks --wait 2m          of many threads on a busy host

The list is the one that `hadal run --timeout` prints. The status is 0 when it came, 1 otherwise.")]
pub(crate) struct StacksArgs {
    /// The run: the PID that `hadal ps` shows, or the program's file name [default: the only one]
    #[arg(value_name = "PID|NAME")]
    pub(crate) run: Option<String>,

    /// Time for its kernel to answer (10, 1.5s, 2m)
    #[arg(long, value_name = "TIME", value_parser = values::parse_time, default_value = "20s")]
    pub(crate) wait: Duration,
}
