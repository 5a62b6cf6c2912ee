// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The `hadal` command: runs programs on the Hadal kernel, makes bootable images, checks the machine, runs the tests.
//!
//! A run passes these files in order: [`args`] (command line), [`machine`] and [`accel`] (the machine), [`launch`]
//! with [`view`], [`compile`], [`elf`] and [`libraries`] (the program and the files it sees), [`session`] with
//! [`qemu`], [`child`], [`channel`], [`signals`] and [`log_tail`] (the running machine), and back to [`run`] with the
//! exit status. Every failure is a [`failure::Failure`]; [`qemu_failure`] finds out why QEMU did not start a machine,
//! [`hidden_input`] what a program that failed may have missed. [`live`] lets other commands find
//! a run and ask it.
#![deny(unsafe_code)]

mod accel;
mod args;
mod bench;
mod cc;
mod channel;
mod child;
mod compile;
mod completions;
mod doctor;
mod doctor_report;
mod dry_run;
#[allow(unsafe_code, reason = "an attribute, see there")]
mod early;
mod elf;
mod failure;
mod gdb;
mod hidden_input;
mod image;
mod job_control;
mod kernel;
mod languages;
mod launch;
mod libraries;
mod limits;
mod line_editor;
mod live;
mod log_tail;
mod machine;
mod native;
mod observed;
mod pack;
mod paths;
mod plain_qemu;
mod profile;
mod program_image;
mod progress;
mod qemu;
mod qemu_failure;
mod run;
mod script;
mod session;
mod signals;
mod stats;
mod stdio;
mod strace;
mod stream_file;
mod symbols;
mod terminal;
mod test;
mod trace;
mod translated;
mod values;
mod view;
mod waiting;

use std::env;
use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Command};
use crate::compile::Language;
use crate::failure::Failure;

fn main() -> ExitCode {
    child::run_hook_if_asked();
    // Compilers have options that mean something else to a parser of ours, such as --version.
    let compiler = env::args_os().nth(1).as_deref().and_then(cc::language);
    let result = match compiler {
        Some(language) => cc::run(language, env::args_os().skip(2).collect()),
        None => run(Cli::parse().command),
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

fn run(command: Command) -> Result<u8, Failure> {
    match command {
        Command::Run(args) => run::run(&args),
        Command::Shell(args) => run::shell(&args),
        Command::Machine(args) => machine::report(&args),
        Command::Image(args) => image::make(&args),
        Command::Ps(args) => live::ps(&args),
        Command::Stop(args) => live::stop(&args),
        Command::Stacks(args) => live::stacks(&args),
        Command::Doctor(args) => match &args.report {
            Some(file) => doctor_report::write(&args.qemu, file),
            None => doctor::report(&args.qemu),
        },
        Command::Bench(args) => bench::run(&args),
        Command::Test(args) => test::run(&args),
        Command::Pack(args) => pack::run(&args),
        Command::Nesl(args) => languages::prompt::run(&args),
        Command::Ndpc(args) => languages::translate::emit_ndpc(&args),
        Command::Sdk(args) => cc::write_sdk(&args.dir),
        Command::Cc(args) => cc::run(Language::C, args.arguments),
        Command::Cxx(args) => cc::run(Language::Cpp, args.arguments),
        Command::Fc(args) => cc::run(Language::Fortran, args.arguments),
        Command::Completions(args) => completions::print(&args),
    }
}
