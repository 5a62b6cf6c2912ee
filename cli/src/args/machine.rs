// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The machine of any command that boots one, and what is seen of it.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::machine;
use crate::values::{self, Bytes};

/// How the virtual machine is built.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Machine")]
pub(crate) struct MachineOptions {
    /// Number of virtual CPUs [default: $HADAL_CPUS, or those of the host, at least 2; 1 with --icount]
    #[arg(long, value_name = "N", value_parser = values::parse_cpus)]
    pub(crate) cpus: Option<u32>,

    /// The default of --cpus, which is not for machines that count instructions.
    #[arg(long, value_name = "HADAL_CPUS", hide = true, value_parser = values::parse_cpus, env = "HADAL_CPUS")]
    usual_cpus: Option<u32>,

    /// Memory of the machine [default: $HADAL_MEMORY, or a quarter of the host's, between 1G and 8G]
    #[arg(long, value_name = "SIZE", value_parser = values::parse_memory)]
    pub(crate) memory: Option<Bytes>,

    /// The default of --memory, which a program without a machine does without.
    #[arg(long, value_name = "HADAL_MEMORY", hide = true, value_parser = values::parse_memory, env = "HADAL_MEMORY")]
    usual_memory: Option<Bytes>,

    /// Split CPUs and memory evenly over this many NUMA nodes
    #[arg(long, value_name = "NODES", value_parser = values::parse_nodes, default_value = "1")]
    pub(crate) numa: u32,

    /// Distance between any two NUMA nodes (a node to itself is 10)
    #[arg(long, value_name = "D", value_parser = clap::value_parser!(u8).range(10..=254), default_value = "20")]
    pub(crate) numa_distance: u8,

    /// How QEMU executes the guest [default: auto, without the line about falling back]
    #[arg(long, value_enum, env = "HADAL_ACCEL")]
    pub(crate) accel: Option<AccelChoice>,

    /// QEMU command
    #[arg(long, value_name = "PATH", default_value = "qemu-system-x86_64", env = "HADAL_QEMU")]
    pub(crate) qemu: PathBuf,

    /// Count instructions: time is their number since the program was started. On one CPU (the default here) every run
    /// is the same, but for input from a terminal or a pipe, signals, and files that have changed. With --cpus N the CPUs
    /// take turns, and time is what all of them execute together
    #[arg(long)]
    pub(crate) icount: bool,
}

impl MachineOptions {
    /// Number of virtual CPUs.
    pub(crate) fn cpus(&self) -> u32 {
        match self.icount {
            true => self.cpus.unwrap_or(1),
            false => self.cpus.or(self.usual_cpus).unwrap_or_else(machine::default_cpus),
        }
    }

    /// Memory.
    pub(crate) fn memory(&self) -> Bytes {
        self.memory.or(self.usual_memory).unwrap_or_else(machine::default_memory)
    }
}

/// The choices of `--accel`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AccelChoice {
    /// KVM if a real guest runs under it (tried once per boot of the host), else TCG with one line that says so
    Auto,
    /// QEMU's own translator: works everywhere
    Tcg,
    /// Hardware virtualisation
    Kvm,
}

/// What is logged where, and when to give up.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Observation")]
pub(crate) struct ObserveOptions {
    /// Show the kernel's log on standard error: LEVEL or MODULE=LEVEL (off, error, warn, info, debug, trace)
    #[arg(long, value_name = "LEVEL|MODULE=LEVEL", value_parser = values::parse_log)]
    pub(crate) log: Vec<String>,

    /// Write the kernel's log to a file instead (level info unless --log says otherwise)
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) log_file: Option<PathBuf>,

    /// End the run after this time (10, 1.5s, 2m) with status 122 and a list of threads and where each waits
    #[arg(long, value_name = "TIME", value_parser = values::parse_time)]
    pub(crate) timeout: Option<Duration>,

    /// Print a QEMU command line and end. The line runs the program by hand, with the terminal as its input and output; its
    /// files stay in the cache directory
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// `hadal machine`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hadal machine --cpus 200
  hadal machine --cpus 8 --numa 4 --memory 4G")]
pub(crate) struct MachineArgs {
    #[command(flatten)]
    pub(crate) machine: MachineOptions,

    #[command(flatten)]
    pub(crate) observe: ObserveOptions,
}
