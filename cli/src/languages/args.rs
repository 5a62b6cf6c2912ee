// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The command lines of `hadal nesl` and `hadal ndpc`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::args::Place;
use crate::values::{self, Bytes};

/// `hadal nesl`.
#[derive(Debug, Args)]
#[command(after_help = NESL_EXAMPLES)]
pub(crate) struct NeslArgs {
    /// Number of virtual CPUs [default: as for hadal run]
    #[arg(long, value_name = "N", value_parser = values::parse_cpus)]
    pub(crate) cpus: Option<u32>,

    /// Memory of the machine [default: as for hadal run]
    #[arg(long, value_name = "SIZE", value_parser = values::parse_memory)]
    pub(crate) memory: Option<Bytes>,

    /// Where expressions are evaluated: in a machine (kernel), or by the same program without one (linux)
    #[arg(long, value_name = "PLACE", value_enum, default_value_t = Place::Kernel)]
    pub(crate) place: Place,

    /// Write the program of FILE to standard output instead, for any interpreter of VCODE
    #[arg(long, value_name = "LANGUAGE", value_enum)]
    pub(crate) emit: Option<Emit>,

    /// Files whose forms come first
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
}

/// The choices of `hadal nesl --emit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Emit {
    /// VCODE, as text
    Vcode,
}

const NESL_EXAMPLES: &str = "\
Examples:
  hadal nesl                          a prompt: {x * x : x in [1:10]};
  hadal nesl quicksort.nesl           the same, with the functions of a file
  hadal nesl < tests.nesl             prints the answers only; status 1 if a form failed
  hadal nesl --emit vcode quicksort.nesl > quicksort.vcode
  hadal run quicksort.nesl            compiles the file and runs it; hadal cc makes an image of it

A form ends with ; or $. At the prompt `help;` lists the commands. Values stay in the machine from form to form; Ctrl-C ends
an evaluation and, with the machine, the values.";

/// `hadal ndpc`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hadal run sort.ndpc                           translates, compiles and runs
  hadal run sort.ndpc \"[3, 1, 2]\"               with arguments for its function main
  hadal ndpc --emit cpp sort.ndpc > sort.cpp
  hadal ndpc --emit header sort.ndpc > sort.h   for callers of its functions in C and C++
  hadal cc sort.ndpc -o sort.hadal              an image

The C++ needs the headers that `hadal sdk DIR` writes.")]
pub(crate) struct NdpcArgs {
    /// What to write to standard output
    #[arg(long, value_name = "WHAT", value_enum)]
    pub(crate) emit: NdpcEmit,

    /// The serial elision: plain loops in the order of the source, to compare with and to step through
    #[arg(long)]
    pub(crate) serial: bool,

    /// The source
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) file: PathBuf,
}

/// The choices of `hadal ndpc --emit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum NdpcEmit {
    /// The program in C++
    Cpp,
    /// The declarations of its functions
    Header,
}
