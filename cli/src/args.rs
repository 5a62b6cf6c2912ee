// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The command line: one type per subcommand, with the help texts. Values are checked in [`crate::values`].

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use hadal_abi::calls::CallTrace;

use crate::languages::args::{NdpcArgs, NeslArgs};
use crate::values::{self, Bytes, MountArg};
use crate::{machine, strace};

/// Runs parallel programs as the operating system kernel of a virtual machine.
#[derive(Debug, Parser)]
#[command(name = "hadal", version, max_term_width = 100, after_help = MAIN_EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const MAIN_EXAMPLES: &str = "\
Examples:
  hadal run ./a.out                     run a Linux program in ring 0 on all CPUs
  hadal run --cpus 8 heat.c 500         compile with -fopenmp and run
  hadal cc -O2 a.c -o a.hadal           one bootable image of kernel and program, run by hadal run a.hadal
  hadal doctor                          what this machine has and lacks
  hadal image --iso heat.iso ./heat     a bootable image with the program inside

`hadal run` ends with the program's exit status, or 128 plus the signal that killed it. Hadal's own failures:
  2 wrong command line · 119 program could not be started · 120 QEMU · 121 kernel panic · 122 time limit
  123 machine ended without its done message · 124 source did not compile · 125 anything else
  126 program is not executable · 127 program not found";

/// The subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a program: an x86-64 Linux ELF file, a program image, or a source in C, C++, Fortran, NESL, VCODE or NDPC
    Run(Box<RunArgs>),
    /// Boot to a prompt: threads, CPUs, memory, counters, and the program as often as you like
    #[command(mut_arg("command", |arg| arg.required(false)), after_help = SHELL_EXAMPLES)]
    Shell(Box<RunArgs>),
    /// List your live runs on this host
    Ps(PsArgs),
    /// End live runs: the program gets SIGTERM, and its machine ends after a while
    Stop(StopArgs),
    /// Show where each thread of a live run is and what it waits for; the run goes on
    Stacks(StacksArgs),
    /// Boot the machine without a program and print its CPUs and memory zones
    Machine(MachineArgs),
    /// Make a bootable image (BIOS and UEFI) with a program and what it needs inside
    Image(ImageArgs),
    /// Compile and link C to a program image: cc with Hadal's headers and library
    Cc(CompilerArgs),
    /// Compile and link C++ to a program image
    #[command(name = "c++")]
    Cxx(CompilerArgs),
    /// Compile and link Fortran to a program image
    Fc(CompilerArgs),
    /// Make a program image of a static program that is already linked
    Pack(PackArgs),
    /// Evaluate NESL: a prompt, or the forms of files and of standard input
    Nesl(NeslArgs),
    /// Translate NDPC to C++, to keep or to read
    Ndpc(NdpcArgs),
    /// Write headers and libraries of hadal/hrt.h for other build systems
    Sdk(SdkArgs),
    /// Show what this machine has and lacks for each part of Hadal, with the remedy
    Doctor(DoctorArgs),
    /// Measure the kernel's primitives beside Linux
    Bench(hadal_bench::BenchArgs),
    /// Run every test of the source tree
    Test(TestArgs),
    /// Print shell completions
    Completions(CompletionsArgs),
}

/// How the virtual machine is built.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Machine")]
pub(crate) struct MachineOptions {
    /// Number of virtual CPUs [default: $HADAL_CPUS, or those of the host, at least 2; 1 with --icount]
    #[arg(long, value_name = "N", value_parser = values::parse_cpus)]
    pub(crate) cpus: Option<u32>,

    /// The default of --cpus, which is not for machines that count instructions.
    #[arg(long, hide = true, value_parser = values::parse_cpus, env = "HADAL_CPUS")]
    usual_cpus: Option<u32>,

    /// Memory of the machine [default: a quarter of the host's, between 1G and 8G]
    #[arg(long, value_name = "SIZE", value_parser = values::parse_memory, env = "HADAL_MEMORY")]
    pub(crate) memory: Option<Bytes>,

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
  hadal run --strace=count ./a.out            how often each call was made, and for how long
  hadal run --trace out.json ./a.out          open out.json at ui.perfetto.dev
  hadal run --profile hot ./a.out             writes hot.svg, a flame graph
  hadal run --gdb ./a.out                     prints how to attach

The program sees this machine's files read-only and its working directory read-write; /tmp is in memory.
Ctrl-C sends SIGINT to the program; a second one within three seconds ends the machine.";

const SHELL_EXAMPLES: &str = "\
Examples:
  hadal shell heat.hadal              then: help, run 500, threads, counters, halt
  hadal shell --trace out.json a.hadal
  echo 'cpus' | hadal shell           commands from a file or a pipe
  qemu-system-x86_64 -cpu max -smp 2 -m 1G -display none -serial mon:stdio -kernel heat.hadal -append shell

The options are those of `hadal run`; without a program there is nothing to run.";

/// `hadal ps`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  hadal ps

Each run listens on a socket in the directory hadal of XDG_RUNTIME_DIR, or else in /tmp/hadal-UID. A run that cannot make
it is not listed.")]
pub(crate) struct PsArgs {}

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

The list is the one that `hadal run --timeout` prints. The status is 0 when it came, 1 otherwise.")]
pub(crate) struct StacksArgs {
    /// The run: the PID that `hadal ps` shows, or the program's file name [default: the only one]
    #[arg(value_name = "PID|NAME")]
    pub(crate) run: Option<String>,
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

/// `hadal image`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hadal image --iso heat.iso ./heat 500
  hadal image --iso app.iso --add data.bin:/data.bin --env OMP_NUM_THREADS=8 ./app /data.bin
  hadal image --iso heat.iso heat.hadal 500          the same of a program image
  qemu-system-x86_64 -M q35 -cpu max -smp 4 -m 2G -display none -serial mon:stdio -cdrom heat.iso

The machine turns itself off when the program has ended.")]
pub(crate) struct ImageArgs {
    /// The image to write
    #[arg(long, value_name = "OUT", required = true, value_hint = clap::ValueHint::FilePath)]
    pub(crate) iso: PathBuf,

    /// Put a file into the image, at GUEST or at its own path
    #[arg(long, value_name = "HOST[:GUEST]")]
    pub(crate) add: Vec<OsString>,

    /// Load a file beside the kernel, for hrt_module()
    #[arg(long, value_name = "NAME=FILE")]
    pub(crate) module: Vec<OsString>,

    /// Set a variable of the program's environment (which starts empty but for PATH)
    #[arg(long, value_name = "NAME=VALUE",
          value_parser = OsStringValueParser::new().try_map(values::parse_env))]
    pub(crate) env: Vec<OsString>,

    /// The kernel's command line; `shell` starts the shell, `stay` leaves the machine on when the program has ended
    #[arg(long, value_name = "TEXT")]
    pub(crate) append: Option<String>,

    /// Log levels of the kernel: LEVEL or MODULE=LEVEL
    #[arg(long, value_name = "LEVEL|MODULE=LEVEL", value_parser = values::parse_log)]
    pub(crate) log: Vec<String>,

    /// Further compiler flags when PROGRAM is a source file
    #[arg(long, value_name = "FLAGS", allow_hyphen_values = true)]
    pub(crate) cflags: Option<String>,

    /// Executable, script (`#!`) or source file, and its arguments. A name without a slash is a file of the working
    /// directory, or else a command found in PATH
    #[arg(required = true, value_names = ["PROGRAM", "ARGS"], num_args = 1.., trailing_var_arg = true,
          value_hint = clap::ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<OsString>,
}

/// `hadal cc`, `hadal c++`, `hadal fc`: read by [`crate::cc`], which leaves everything to the compiler but this.
#[derive(Debug, Args)]
#[command(disable_help_flag = true, override_usage = "hadal cc|c++|fc [OPTIONS] COMPILER-ARGUMENTS...",
          after_help = COMPILER_EXAMPLES)]
pub(crate) struct CompilerArgs {
    /// Keep the C library's own threads instead of Hadal's for -pthread and -fopenmp
    #[arg(long, value_name = "hadal|system", default_value = "hadal")]
    pub(crate) pthread: String,

    /// Keep the compiler's own OpenMP run-time instead of Hadal's for -fopenmp [default: as --pthread]
    #[arg(long, value_name = "hadal|system")]
    pub(crate) openmp: Option<String>,

    /// Make an image that loads the OpenMP tools which OMP_TOOL_LIBRARIES names
    #[arg(long)]
    pub(crate) openmp_tools: bool,

    /// Make an ordinary Linux program with libhrt-linux instead of an image
    #[arg(long)]
    pub(crate) linux: bool,

    /// Put a file into the image, for hrt_module()
    #[arg(long, value_name = "NAME=FILE")]
    pub(crate) module: Vec<OsString>,

    /// Print where headers and libraries are
    #[arg(long)]
    pub(crate) print_paths: bool,

    /// Print this help
    #[arg(long)]
    pub(crate) help: bool,

    /// Arguments of the compiler
    #[arg(value_name = "COMPILER-ARGUMENTS", num_args = 0.., trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<OsString>,
}

const COMPILER_EXAMPLES: &str = "\
Examples:
  hadal cc -O2 -fopenmp heat.c -o heat.hadal && hadal run heat.hadal 500
  hadal cc -c a.c && hadal c++ -c b.cc && hadal c++ a.o b.o -o both.hadal
  hadal cc --linux a.c -o a.out                        the same source as a Linux program
  make CC=hadal-cc CXX=hadal-c++ FC=hadal-fc
  qemu-system-x86_64 -cpu max -smp 2 -m 1G -display none -serial mon:stdio -kernel heat.hadal

The compilers are cc, c++ and gfortran, or those that CC, CXX and FC name. They get all arguments but those above;
programs are linked with -static (or -static-pie). Without -o the output is a.out. -c, -S, -E, -M and
-fsyntax-only only compile. The status is the compiler's.";

/// `hadal pack`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hadal pack build/solver -o solver.hadal
  hadal pack --module mesh=mesh.bin solver -o solver.hadal -- --steps 100
  hadal run solver.hadal --steps 5

Arguments, --env and --log are for booting without this command: qemu-system-x86_64 -m 1G -kernel solver.hadal.
`hadal run` brings its own.")]
pub(crate) struct PackArgs {
    /// A static x86-64 program (-static or -static-pie)
    #[arg(value_name = "PROGRAM", value_hint = clap::ValueHint::FilePath)]
    pub(crate) program: PathBuf,

    /// The image to write
    #[arg(short, long, value_name = "OUT", value_hint = clap::ValueHint::FilePath)]
    pub(crate) output: PathBuf,

    /// Put a file into the image, for hrt_module()
    #[arg(long, value_name = "NAME=FILE")]
    pub(crate) module: Vec<OsString>,

    /// Set a variable of the program's environment (which starts empty but for PATH and HOME)
    #[arg(long, value_name = "NAME=VALUE",
          value_parser = OsStringValueParser::new().try_map(values::parse_env))]
    pub(crate) env: Vec<OsString>,

    /// Log levels of the kernel: LEVEL or MODULE=LEVEL
    #[arg(long, value_name = "LEVEL|MODULE=LEVEL", value_parser = values::parse_log)]
    pub(crate) log: Vec<String>,

    /// Arguments of the program
    #[arg(last = true, value_name = "ARGS")]
    pub(crate) args: Vec<OsString>,
}

/// `hadal sdk`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hadal sdk ~/hadal-sdk
  PKG_CONFIG_PATH=~/hadal-sdk/lib/pkgconfig pkg-config --cflags --libs hadal-hrt
  cmake -B build -DCMAKE_TOOLCHAIN_FILE=$HOME/hadal-sdk/hadal-toolchain.cmake")]
pub(crate) struct SdkArgs {
    /// The directory: include/hadal/hrt.h, lib/libhrt.a, lib/libhrt-linux.a, lib/openmp, lib/pkgconfig,
    /// hadal-toolchain.cmake
    #[arg(value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub(crate) dir: PathBuf,
}

/// `hadal doctor`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hadal doctor
  hadal doctor --report report.txt       for a bug report, or from a machine that we do not have
  hadal doctor --qemu /opt/qemu/bin/qemu-system-x86_64

The status is 0 when programs can run, 1 otherwise.")]
pub(crate) struct DoctorArgs {
    /// Run short machines and write to FILE what the processor offers, which paths the kernel takes, and whether they work
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,

    /// QEMU command
    #[arg(long, value_name = "PATH", default_value = "qemu-system-x86_64", env = "HADAL_QEMU")]
    pub(crate) qemu: PathBuf,
}

/// `hadal test`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hadal test                 formatting, lints, unit tests, then whole programs in the machine
  hadal test --quick         without the slow ones
  hadal test --all           and those that take an hour
  hadal test futex           only tests with this in their name")]
pub(crate) struct TestArgs {
    /// Leave out slow tests
    #[arg(long, conflicts_with = "all")]
    pub(crate) quick: bool,

    /// Add those that take an hour: every processor model of the emulator bochs
    #[arg(long)]
    pub(crate) all: bool,

    /// Run only tests whose name contains this (then formatting and lints are left out)
    pub(crate) filter: Option<String>,
}

/// `hadal completions`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hadal completions bash > ~/.local/share/bash-completion/completions/hadal
  hadal completions zsh > ~/.zfunc/_hadal        (with `fpath+=~/.zfunc` before compinit)
  hadal completions fish > ~/.config/fish/completions/hadal.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: CompletionShell,
}

/// Shells with completions.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum CompletionShell {
    /// GNU bash
    Bash,
    /// zsh
    Zsh,
    /// fish
    Fish,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn run(args: &[&str]) -> RunArgs {
        let line = ["hadal", "run"].iter().chain(args);
        match Cli::try_parse_from(line).unwrap().command {
            Command::Run(run) => *run,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn everything_after_the_program_is_its_own() {
        let args = run(&["--cpus", "3", "./a", "--cpus", "9", "--", "-x"]);
        assert_eq!(args.machine.cpus, Some(3));
        assert_eq!(args.command, ["./a", "--cpus", "9", "--", "-x"]);
    }

    #[test]
    fn a_mistyped_option_is_not_the_program() {
        for (wrong, meant) in [("--memry", "--memory"), ("--timout=3", "--timeout"), ("--stat", "--stats")] {
            let error = Cli::try_parse_from(["hadal", "run", wrong, "./a"]).unwrap_err().to_string();
            let option = wrong.split('=').next().unwrap();
            assert!(error.contains(&format!("unexpected argument '{option}' found")), "{error}");
            assert!(error.contains(&format!("a similar argument exists: '{meant}'")), "{error}");
        }
        assert_eq!(run(&["--", "-odd", "--memry"]).command, ["-odd", "--memry"]);
    }

    #[test]
    fn gdb_takes_a_port_only_after_an_equals_sign() {
        assert_eq!(run(&["--gdb", "./a"]).gdb, Some(0));
        assert_eq!(run(&["--gdb=1234", "./a"]).gdb, Some(1234));
        assert_eq!(run(&["./a"]).gdb, None);
    }

    #[test]
    fn wrong_values_are_usage_errors() {
        for wrong in [["--cpus", "0"], ["--memory", "1M"], ["--numa", "0"], ["--env", "X"], ["--log", "loud"]]
        {
            let line = ["hadal", "run"].iter().chain(&wrong).chain(&["./a"]);
            let error = Cli::try_parse_from(line).unwrap_err();
            assert_eq!(error.exit_code(), 2, "{wrong:?}");
        }
    }
}
