// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `hadal run --place linux`: the same program on this Linux, without a machine.
//!
//! Sources are compiled as for the kernel, and a program with `hadal/hrt.h` is one binary for both places. So what the kernel
//! does differently is all that differs.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::args::{OpenMp, Ring, RunArgs};
use crate::elf::ElfError;
use crate::failure::Failure;
use crate::program_image::ProgramImage;
use crate::{compile, languages, launch, paths};

/// An option that `--place linux` cannot follow.
pub(crate) fn without_machine(option: &str) -> Failure {
    Failure::Usage {
        what: format!("{option} is about a machine, and --place linux has none"),
        help: "leave it out; taskset, timeout and strace do on Linux what it does here".into(),
    }
}

/// Becomes the program; returns only if that fails.
pub(crate) fn run(args: &RunArgs) -> Result<u8, Failure> {
    if let Some(option) = option_of_machine(args) {
        return Err(without_machine(option));
    }
    let name = launch::program_name(&args.command)?;
    compile::check_flags(name, args.cflags.as_deref())?;
    let mut arguments = &args.command[1..];
    let program = if compile::is_source(name) {
        if !name.exists() {
            return Err(wrong(name, ElfError::NotFound { elsewhere: None }));
        }
        let program = compile::compile(name, args.cflags.as_deref(), arguments)?;
        if languages::Language::of(name).is_some_and(languages::Language::compiles_arguments) {
            arguments = &[];
        }
        program
    } else {
        find(name)?
    };
    let image = ProgramImage::open(&program).map_err(|error| wrong(name, error.into()))?;
    if image.is_some() {
        return Err(Failure::Usage {
            what: format!("{}: an image is a machine's kernel and no Linux program", name.display()),
            help: "make a program for both places: hadal cc --linux, or run the source".into(),
        });
    }
    let mut command = Command::new(&program);
    command.arg0(name).args(arguments).env_clear();
    for setting in launch::environment(args) {
        let setting = setting.as_bytes();
        let at = setting.iter().position(|&byte| byte == b'=').unwrap_or(setting.len());
        let value = setting.get(at + 1..).unwrap_or_default();
        command.env(OsStr::from_bytes(&setting[..at]), OsStr::from_bytes(value));
    }
    if let Some(dir) = &args.cwd {
        command.current_dir(dir);
    }
    Err(wrong(name, ElfError::Unreadable(command.exec())))
}

/// The first option that says something about a machine or its kernel.
fn option_of_machine(args: &RunArgs) -> Option<&'static str> {
    let given = [
        ("--cpus", args.machine.cpus.is_some()),
        ("--memory", args.machine.memory.is_some()),
        ("--numa", args.machine.numa != 1),
        ("--icount", args.machine.icount),
        ("--log", !args.observe.log.is_empty()),
        ("--log-file", args.observe.log_file.is_some()),
        ("--timeout", args.observe.timeout.is_some()),
        ("--dry-run", args.observe.dry_run),
        ("--strace", args.strace.is_some()),
        ("--stats", args.stats.is_some()),
        ("--stats-file", args.stats_file.is_some()),
        ("--trace", args.trace.is_some()),
        ("--profile", args.profile.is_some()),
        ("--gdb", args.gdb.is_some()),
        ("--root", args.root.is_some()),
        ("--omp", args.omp == OpenMp::Native),
        ("--ring", args.ring == Ring::Three),
        ("--mount", !args.mount.is_empty()),
        ("--module", !args.module.is_empty()),
        ("--append", args.append.is_some()),
        ("--first-touch", args.first_touch),
    ];
    given.into_iter().find_map(|(option, is_given)| is_given.then_some(option))
}

/// A file of this name, or a command in `PATH`.
fn find(name: &Path) -> Result<PathBuf, Failure> {
    if name.is_file() {
        return Ok(std::path::absolute(name).map_err(anyhow::Error::from)?);
    }
    paths::find_command(name).ok_or_else(|| wrong(name, ElfError::NotFound { elsewhere: None }))
}

fn wrong(name: &Path, error: ElfError) -> Failure {
    Failure::Program { path: name.to_path_buf(), error }
}
