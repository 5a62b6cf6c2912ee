// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `hadal bench`: what the kernel's primitives cost, beside a Linux guest on the same QEMU line and beside the host.
//!
//! [`catalogue`] lists the benchmarks; [`order`] makes turns of those that were asked for. [`runner`] takes the turns one
//! after the other: it has [`toolchain`] compile a program and runs it in its place ([`hadal`], [`linux`], [`native`]), or a
//! long one in all places at once ([`slices`]). What the programs print ([`protocol`]; [`answers`] for those in NESL and
//! NDPC) is [`collected`], saved after each turn ([`saved`]), and becomes [`results`] by way of [`stats`]; [`table`],
//! [`html`] and [`compare`] show and judge those, [`goals`] has the figures to reach. [`boot`] and [`heat`] are the
//! benchmarks that are no programs of this harness.
#![forbid(unsafe_code)]

mod answers;
mod args;
mod boot;
mod catalogue;
mod collected;
mod compare;
mod forecast;
mod goals;
mod hadal;
mod heat;
mod host;
mod html;
mod initramfs;
mod interrupt;
mod linux;
mod native;
mod order;
mod packages;
mod place;
mod progress;
mod protocol;
mod results;
mod runner;
mod saved;
mod slices;
mod stats;
mod table;
mod timed;
mod toolchain;

use std::path::PathBuf;

use anyhow::Result;

pub use args::{BenchArgs, BenchCommand, CompareArgs, ListArgs, Peer, ReportArgs, RunArgs};
pub use results::Mode;

/// What the harness gets from the command it is part of.
#[derive(Clone, Debug)]
pub struct Environment {
    /// The `hadal` command to measure: most often the one that is running.
    pub hadal: PathBuf,
    /// Directory for compiled programs and the Linux guest's packages.
    pub cache: PathBuf,
    /// What `hadal run` adds to the environment of programs whose instructions QEMU translates, as `NAME=value`. In parallel mode
    /// programs of both guests get it.
    pub translated: &'static str,
    /// First argument with which the running command becomes another one that cannot outlive its parent: the parent's process id
    /// and the words of that command come after it.
    pub exec_in_child: &'static str,
}

/// Carries out a `hadal bench` command; returns the status with which to end.
///
/// # Errors
///
/// When nothing could be measured or read; a benchmark that fails is part of the results instead.
pub fn run(args: &BenchArgs, environment: &Environment) -> Result<u8> {
    match &args.command {
        BenchCommand::List(args) => {
            print!("{}", catalogue::table(&args.names)?);
            Ok(0)
        }
        BenchCommand::Run(args) => runner::run(args, environment),
        BenchCommand::Compare(args) => compare::run(args, environment),
        BenchCommand::Report(args) => {
            let results = results::Results::read(&args.results)?;
            match &args.html {
                Some(file) => html::write(&results, file)?,
                None => print!("{}", table::text(&results)),
            }
            Ok(0)
        }
    }
}
