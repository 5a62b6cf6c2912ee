// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The command line of `hadal bench`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};
use serde::{Deserialize, Serialize};

use crate::catalogue::openmp::Class;
use crate::results::Mode;

/// `hadal bench`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct BenchArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: BenchCommand,
}

const EXAMPLES: &str = "\
Examples:
  hadal bench list
  hadal bench run --mode path thread sync.mutex          exact instruction counts, beside Linux's
  hadal bench run --quick                                a first look: few samples of everything
  hadal bench run --mode parallel --html report.html     times and their distributions
  hadal bench run --mode parallel nas --class W          the NAS parallel benchmarks of one size
  hadal bench run --mode parallel nas --class A --slices --peer linux
                                                         the same on a host that others use, too
  hadal bench run --mode parallel nesl --nesl31 vinterp  NESL beside C and beside its last release
  hadal bench run --resume results.json                  go on where a run was interrupted
  hadal bench compare bench/baseline.json                has a path grown?
  hadal bench report results.json                        the table again; --html: the page

The Linux guest is Debian's cloud kernel with busybox on the same QEMU line; both packages are
downloaded once with apt-get. Under TCG, instructions are exact; times are worth something only as
ratios, on a machine that does nothing else, and tell nothing about switches of privilege, TLBs and
caches.";

/// The subcommands of `hadal bench`.
#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// Show the benchmarks
    List(ListArgs),
    /// Measure: Hadal, a Linux guest on the same machine, and the host
    Run(RunArgs),
    /// Compare path lengths with a baseline: fails when one has grown by more than 2%
    Compare(CompareArgs),
    /// Show results again: as a table, or as a page with plots
    Report(ReportArgs),
}

/// What Hadal is measured beside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Peer {
    /// The same program unmodified on Hadal: the file that runs in the Linux guest; programs of OpenMP also with
    /// --omp=native
    Pik,
    /// The same program unmodified and isolated: hadal run --ring 3
    Ring3,
    /// Debian's cloud kernel in a guest on the same QEMU line
    Linux,
    /// This machine, without QEMU (parallel mode only)
    Native,
    /// The Linux guest with OMP_WAIT_POLICY=passive, for programs of OpenMP: in parallel mode, where the machine has
    /// more CPUs than this one
    Passive,
    /// Nothing
    None,
}

/// `hadal bench list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Names or groups [default: all]
    #[arg(value_name = "NAME|GROUP")]
    pub names: Vec<String>,
}

/// QEMU where nobody says otherwise.
pub(crate) const DEFAULT_QEMU: &str = "qemu-system-x86_64";

/// The machine of a run.
#[derive(Clone, Debug, PartialEq, Eq, Args, Serialize, Deserialize)]
pub struct MachineArgs {
    /// QEMU command, for both guests
    #[arg(long, value_name = "PATH", default_value = DEFAULT_QEMU, env = "HADAL_QEMU")]
    pub qemu: PathBuf,
    /// How QEMU executes both guests in parallel mode: tcg or kvm
    #[arg(long, value_name = "ACCEL", default_value = "tcg")]
    pub accel: String,
    /// Memory of both guests
    #[arg(long, value_name = "SIZE", default_value = "2G")]
    pub memory: String,
}

/// `hadal bench run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// What is counted
    #[arg(long, value_enum, default_value_t = Mode::Path)]
    pub mode: Mode,
    /// Write the results here, after each turn [default: a file in the cache directory, named at the end]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub json: Option<PathBuf>,
    /// Go on with an unfinished run, as its file says: same options, machine, QEMU and kernel
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath,
        conflicts_with_all = ["json", "mode", "peer", "rounds", "quick", "slices", "class", "accel", "memory", "names"])]
    pub resume: Option<PathBuf>,
    /// Write a page with plots here
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub html: Option<PathBuf>,
    /// What to measure beside Hadal [default: pik,ring3,linux in path mode, all but ring3 in parallel mode]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "PEER")]
    pub peer: Vec<Peer>,
    /// A look at everything in a few minutes: one round, a tenth of the samples, no machine with more CPUs than this one
    #[arg(long)]
    pub quick: bool,
    /// Turns that each place gets, one after the other [default: 1 in path mode, 3 in parallel mode]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: Option<u32>,
    /// Run each of the NAS parallel benchmarks in all places at once, one of which goes on at a time, for slices of 0.2 s:
    /// a host that is now fast and now slow then shows differences of a few hundredths. Memory for all must be there
    #[arg(long)]
    pub slices: bool,
    /// The interpreter of VCODE of CMU's NESL 3.1 (vinterp), to set programs in NESL against in parallel mode
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath, env = "HADAL_NESL31")]
    pub nesl31: Option<PathBuf>,
    /// Sizes of the NAS parallel benchmarks [default: W,A if nas is named, else none]
    #[arg(long, value_enum, value_delimiter = ',', ignore_case = true, value_name = "CLASS")]
    pub class: Vec<Class>,
    /// The machine
    #[command(flatten)]
    pub machine: MachineArgs,
    /// Names or groups [default: all of the mode but nas]
    #[arg(value_name = "NAME|GROUP")]
    pub names: Vec<String>,
}

impl RunArgs {
    /// Whether this peer is wanted.
    pub(crate) fn has_peer(&self, peer: Peer) -> bool {
        match (self.peer.is_empty(), self.mode) {
            (true, Mode::Path) => matches!(peer, Peer::Pik | Peer::Ring3 | Peer::Linux),
            (true, Mode::Parallel) => peer != Peer::Ring3,
            (false, _) => self.peer.contains(&peer),
        }
    }
}

/// `hadal bench compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// Path lengths to compare with
    #[arg(value_name = "BASELINE.json", value_hint = ValueHint::FilePath)]
    pub baseline: PathBuf,
    /// Results to compare [default: measure those of the baseline now]
    #[arg(value_name = "RESULT.json", value_hint = ValueHint::FilePath)]
    pub results: Option<PathBuf>,
    /// Write the new path lengths into the baseline instead of failing
    #[arg(long)]
    pub update: bool,
    /// The machine
    #[command(flatten)]
    pub machine: MachineArgs,
}

/// `hadal bench report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// What `hadal bench run --json` wrote; several files are joined
    #[arg(value_name = "RESULT.json", required = true, value_hint = ValueHint::FilePath)]
    pub results: Vec<PathBuf>,
    /// Write a page with plots here instead of the table
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub html: Option<PathBuf>,
}
