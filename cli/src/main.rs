// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The `hadal` command: runs programs on the Hadal kernel, makes bootable images, checks the machine, runs the tests.
//!
//! A run passes these files in order: [`args`] (command line), [`machine`] and [`accel`] (the machine), [`launch`]
//! with [`view`], [`compile`], [`elf`] and [`libraries`] (the program and the files it sees), [`session`] with
//! [`qemu`], [`child`], [`channel`], [`signals`] and [`log_tail`] (the running machine), and back to [`run`] with the
//! exit status. Every failure is a [`failure::Failure`].
#![forbid(unsafe_code)]

mod accel;
mod args;
mod bench;
mod channel;
mod child;
mod compile;
mod completions;
mod cpio;
mod doctor;
mod dry_run;
mod elf;
mod failure;
mod gdb;
mod image;
mod kernel;
mod launch;
mod libraries;
mod log_tail;
mod machine;
mod paths;
mod qemu;
mod run;
mod session;
mod signals;
mod stdio;
mod symbols;
mod test;
mod values;
mod view;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Command};

fn main() -> ExitCode {
    child::run_hook_if_asked();
    let result = match Cli::parse().command {
        Command::Run(args) => run::run(&args),
        Command::Machine(args) => machine::report(&args),
        Command::Image(args) => image::make(&args),
        Command::Doctor(args) => doctor::report(&args.qemu),
        Command::Bench(args) => bench::run(&args),
        Command::Test(args) => test::run(&args),
        Command::Completions(args) => completions::print(&args),
    };
    match result {
        Ok(status) => ExitCode::from(status),
        Err(failure) => {
            if !session::is_plain_interrupt(&failure) {
                eprint!("{}", failure.message());
            }
            ExitCode::from(failure.status())
        }
    }
}
