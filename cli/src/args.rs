// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The command line: one type per subcommand, with the help texts. Values are checked in [`crate::values`].

mod images;
mod live;
mod machine;
mod run;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::languages::args::{NdpcArgs, NeslArgs};

pub(crate) use images::{CompilerArgs, ImageArgs, PackArgs, SdkArgs};
pub(crate) use live::{PsArgs, StacksArgs, StopArgs};
pub(crate) use machine::{AccelChoice, MachineArgs, MachineOptions, ObserveOptions};
use run::SHELL_EXAMPLES;
pub(crate) use run::{OpenMp, Place, Ring, RunArgs, StatsChoice};

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
  hadal test --all           and those that take more than an hour
  hadal test futex           only tests with this in their name")]
pub(crate) struct TestArgs {
    /// Leave out slow tests
    #[arg(long, conflicts_with = "all")]
    pub(crate) quick: bool,

    /// Add those that take more than an hour: every model of bochs, the largest sizes
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

    #[test]
    fn wrong_defaults_name_their_variables() {
        for (option, variable) in [("--usual-cpus", "HADAL_CPUS"), ("--usual-memory", "HADAL_MEMORY")] {
            let error = Cli::try_parse_from(["hadal", "run", option, "x", "./a"]).unwrap_err();
            assert!(error.to_string().contains(variable), "{error}");
        }
    }
}
