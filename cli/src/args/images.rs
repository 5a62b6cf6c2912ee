// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Commands that make images, and what is needed to make them.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};

use crate::values;

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
    #[arg(long, value_name = "hadal|system", default_value = "hadal", require_equals = true)]
    pub(crate) pthread: String,

    /// Keep the compiler's own OpenMP run-time instead of Hadal's for -fopenmp [default: as --pthread]
    #[arg(long, value_name = "hadal|system", require_equals = true)]
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
