// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is run, and how it sees this host: `hadal run` and `hadal shell`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, ValueEnum};
use hadal_abi::calls::CallTrace;

use super::{MachineOptions, ObserveOptions};
use crate::strace;
use crate::values::{self, Bytes, MountArg};

/// The choices of `--omp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OpenMp {
    /// What the program would have on Linux
    System,
    /// Hadal's in the place of libgomp.so.1 and libomp.so.5
    Native,
}

/// The choices of `--place`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Place {
    /// A virtual machine, as part of the kernel
    Kernel,
    /// This Linux, natively
    Linux,
}

/// The choices of `--ring`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Ring {
    /// Program and kernel are one
    #[value(name = "0")]
    Zero,
    /// Neither the kernel nor other processes are in reach; nor is hadal/hrt.h, but for its Linux backend
    #[value(name = "3")]
    Three,
}

/// The choices of `--stats`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StatsChoice {
    /// Sums over all CPUs
    All,
    /// Those, and a table with a column for each CPU
    Cpu,
    /// Both, as one line of JSON
    Json,
}

/// `hadal run`.
#[derive(Debug, Args)]
#[command(after_help = RUN_EXAMPLES)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) machine: MachineOptions,

    #[command(flatten)]
    pub(crate) observe: ObserveOptions,

    /// One line per system call on standard error, with arguments and result. CALLS are names (openat,read), classes
    /// (%file, %process, %signal, %desc, %network, %memory, %ipc, %creds, %clock), or with a ! before the list all others;
    /// count among them: only a table at the end
    #[arg(long, value_name = "CALLS", num_args = 0..=1, require_equals = true, default_missing_value = "all",
          value_parser = strace::parse, help_heading = "Observation")]
    pub(crate) strace: Option<CallTrace>,

    /// With --strace: also the calls of the processes that the program makes; each line names process and thread
    #[arg(short = 'f', long, requires = "strace", help_heading = "Observation")]
    pub(crate) follow_forks: bool,

    /// Counters on standard error at the end (system calls, interrupts, switches, memory...); =cpu: of each CPU, too
    #[arg(long, value_enum, value_name = "OF", num_args = 0..=1, require_equals = true,
          default_missing_value = "all", help_heading = "Observation")]
    pub(crate) stats: Option<StatsChoice>,

    /// Write the counters to a file at the end, as JSON
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, help_heading = "Observation")]
    pub(crate) stats_file: Option<PathBuf>,

    /// Write what each CPU and thread did when to a file for ui.perfetto.dev (Chrome trace format)
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, help_heading = "Observation")]
    pub(crate) trace: Option<PathBuf>,

    /// Trace buffer of each CPU; a full one keeps the newest records [default: 4M]
    #[arg(long, value_name = "SIZE", value_parser = values::parse_buffer, requires = "trace",
          help_heading = "Observation")]
    pub(crate) trace_buffer: Option<Bytes>,

    /// Sample where program and kernel spend their time: flame graph NAME.svg and folded stacks NAME.folded
    #[arg(long, value_name = "NAME[.svg]", value_hint = clap::ValueHint::FilePath, help_heading = "Observation")]
    pub(crate) profile: Option<PathBuf>,

    /// Samples of each CPU per second
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000), default_value = "1000",
          requires = "profile", help_heading = "Observation")]
    pub(crate) profile_hz: u32,

    /// Wait for a debugger before the first instruction, on this TCP port [default: a free one]
    #[arg(long, value_name = "PORT", num_args = 0..=1, require_equals = true, default_missing_value = "0",
          help_heading = "Observation")]
    pub(crate) gdb: Option<u16>,

    /// Set a variable of the program's environment; the rest is that of this command
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Program",
          value_parser = OsStringValueParser::new().try_map(values::parse_env))]
    pub(crate) env: Vec<OsString>,

    /// Start with an empty environment
    #[arg(long, help_heading = "Program")]
    pub(crate) clear_env: bool,

    /// Working directory, which is also the one the program may write to [default: this one]
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath, help_heading = "Program")]
    pub(crate) cwd: Option<PathBuf>,

    /// Directory that the program sees as /
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath, help_heading = "Program")]
    pub(crate) root: Option<PathBuf>,

    /// The OpenMP run-time of a dynamic program: its own (system), or Hadal's in its place (native)
    #[arg(long, value_name = "RUN-TIME", value_enum, default_value_t = OpenMp::System, help_heading = "Program")]
    pub(crate) omp: OpenMp,

    /// Show a host directory to the program at GUEST; with :rw it may write there
    #[arg(long, value_name = "HOST:GUEST[:rw]", help_heading = "Program",
          value_parser = OsStringValueParser::new().try_map(values::parse_mount))]
    pub(crate) mount: Vec<MountArg>,

    /// Load a file into memory beside the program, for hrt_module()
    #[arg(long, value_name = "NAME=FILE", help_heading = "Program")]
    pub(crate) module: Vec<OsString>,

    /// The kernel's command line, as hrt_command_line() gives it
    #[arg(long, value_name = "TEXT", help_heading = "Program")]
    pub(crate) append: Option<OsString>,

    /// Fill the memory of an image's program at the first touch, not when it is mapped (NUMA machines do so anyway)
    #[arg(long, help_heading = "Program")]
    pub(crate) first_touch: bool,

    /// Ring of the processor that programs run in: 0, as a part of the kernel, or 3, isolated from it and from each other
    #[arg(long, value_name = "RING", value_enum, default_value_t = Ring::Zero, help_heading = "Program")]
    pub(crate) ring: Ring,

    /// Where the program runs: in a machine (kernel), or the same binary without one (linux), to compare
    #[arg(long, value_name = "PLACE", value_enum, default_value_t = Place::Kernel, help_heading = "Program")]
    pub(crate) place: Place,

    /// Further compiler flags when PROGRAM is a source file (always: -O2 -g -fopenmp)
    #[arg(long, value_name = "FLAGS", allow_hyphen_values = true, help_heading = "Program")]
    pub(crate) cflags: Option<String>,

    /// Executable, script (`#!`) or source file, and its arguments. A name without a slash is a file of the working
    /// directory, or else a command found in PATH
    #[arg(required = true, value_names = ["PROGRAM", "ARGS"], num_args = 1.., trailing_var_arg = true,
          value_hint = clap::ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<OsString>,
}

const RUN_EXAMPLES: &str = "\
Examples:
  hadal run ./a.out -v input.dat              all of the program's arguments follow its name
  hadal run --cpus 4 --env OMP_PROC_BIND=true ./a.out
  hadal run heat.c 500                        compiled by cc (CC, CXX, FC in the environment name others)
  hadal run --numa 2 --memory 4G ./stream
  hadal run --mount /data:/data:rw ./a.out    a second directory that the program may write to
  hadal run --timeout 10s ./deadlock          ends with status 122 and a list of threads
  hadal run --strace ./a.out 2> calls.txt
  hadal run --strace=%file,read ./a.out       only calls that take a file name, and read
  hadal run --strace -f bash script.sh        of all processes that it starts, too
  hadal run --strace=count ./a.out            how often each call was made, and for how long
  hadal run --trace out.json ./a.out          open out.json at ui.perfetto.dev
  hadal run --profile hot ./a.out             writes hot.svg, a flame graph
  hadal run --gdb ./a.out                     prints how to attach

The program sees this machine's files read-only and its working directory read-write; /tmp is in memory.
Ctrl-C sends SIGINT to the program; a second one within three seconds ends the machine,
unless the program is a shell that manages jobs.";

pub(super) const SHELL_EXAMPLES: &str = "\
Examples:
  hadal shell heat.hadal              then: help, run 500, threads, counters, halt
  hadal shell --trace out.json a.hadal
  echo 'cpus' | hadal shell           commands from a file or a pipe
  qemu-system-x86_64 -cpu max -smp 2 -m 1G -display none -serial mon:stdio -kernel heat.hadal -append shell

The options are those of `hadal run`; without a program there is nothing to run.";
