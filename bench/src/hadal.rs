// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The `hadal` command under measurement, and the QEMU machine that it makes.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::timed::{self, Ended};
use crate::{Args, host};

/// Options of QEMU that make up the machine itself; all others are how a kernel talks to the host.
const MACHINE_OPTIONS: [&str; 11] = [
    "-nodefaults",
    "-no-user-config",
    "-no-reboot",
    "-display",
    "-vga",
    "-nic",
    "-M",
    "-accel",
    "-cpu",
    "-smp",
    "-m",
];

const RUN_LIMIT: Duration = Duration::from_secs(300);

/// The command and the machine that it is asked for.
#[derive(Debug)]
pub(crate) struct Hadal {
    command: PathBuf,
    qemu: PathBuf,
    accel: String,
    memory: String,
    cpus: u32,
}

/// The QEMU line of a run.
#[derive(Debug)]
pub(crate) struct QemuLine {
    /// QEMU and the options of the machine.
    pub(crate) machine: Vec<String>,
    /// The kernel's file.
    pub(crate) kernel: PathBuf,
}

impl Hadal {
    pub(crate) fn new(args: &Args) -> Result<Self> {
        let command = match &args.hadal {
            Some(command) => command.clone(),
            None => host::target_dir().join("release/hadal"),
        };
        let command = fs::canonicalize(&command).with_context(|| {
            format!("{}: build it with `cargo build --release -p hadal`", command.display())
        })?;
        Ok(Self {
            command,
            qemu: args.qemu.clone(),
            accel: args.accel.clone(),
            memory: args.memory.clone(),
            cpus: args.cpus,
        })
    }

    /// QEMU's command.
    pub(crate) fn qemu(&self) -> &Path {
        &self.qemu
    }

    /// `hadal run` in the directory of the programs, on the machine of the comparison.
    pub(crate) fn run_command(&self, options: &[&str], program: &[OsString]) -> Command {
        let mut command = self.bare_command(options);
        command.args(["--accel", &self.accel, "--cpus", &self.cpus.to_string(), "--qemu"]).arg(&self.qemu);
        command.args(program);
        command
    }

    /// `hadal run --icount` with another program in QEMU's place.
    pub(crate) fn counting_command(&self, qemu: &Path, program: &[OsString]) -> Command {
        let mut command = self.bare_command(&["--icount", "--qemu"]);
        command.arg(qemu).args(program);
        command
    }

    fn bare_command(&self, options: &[&str]) -> Command {
        let mut command = Command::new(&self.command);
        command.current_dir(host::work_dir()).args(["run", "--memory", &self.memory]).args(options);
        command
    }

    /// Runs a program on the machine of the comparison.
    pub(crate) fn run(&self, options: &[&str], program: &[OsString]) -> Result<Ended> {
        checked(timed::run(&mut self.run_command(options, program), RUN_LIMIT)?)
    }

    /// The QEMU line of a run of `program`.
    pub(crate) fn qemu_line(&self, program: &[OsString]) -> Result<QemuLine> {
        let ended = checked(timed::run(&mut self.run_command(&["--dry-run"], program), RUN_LIMIT)?)?;
        parse_line(&ended.stdout)
    }

    /// The machine as one line, for the report.
    pub(crate) fn machine_line(&self) -> Result<String> {
        Ok(self.qemu_line(&["/bin/true".into()])?.machine.join(" "))
    }
}

/// Nothing but success is measured.
pub(crate) fn checked(ended: Ended) -> Result<Ended> {
    ensure!(ended.status.success(), "hadal failed ({})\n{}{}", ended.status, ended.stdout, ended.stderr);
    Ok(ended)
}

fn parse_line(line: &str) -> Result<QemuLine> {
    let words = shlex::split(line.trim()).context("hadal --dry-run printed no command line")?;
    let mut words = words.into_iter().peekable();
    let mut machine = vec![words.next().context("hadal --dry-run printed nothing")?];
    let mut kernel = None;
    while let Some(option) = words.next() {
        let value = words.next_if(|word| !word.starts_with('-'));
        if MACHINE_OPTIONS.contains(&option.as_str()) {
            machine.push(option);
            machine.extend(value);
        } else if option == "-kernel" {
            kernel = value.map(PathBuf::from);
        }
    }
    Ok(QemuLine { machine, kernel: kernel.context("hadal --dry-run named no kernel")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_is_told_from_the_rest() {
        let line =
            parse_line("qemu -nodefaults -M q35,usb=off -kernel '/a b/k' -initrd c -smp 2 -device x -m 1M\n");
        let line = line.unwrap();
        assert_eq!(line.machine.join(" "), "qemu -nodefaults -M q35,usb=off -smp 2 -m 1M");
        assert_eq!(line.kernel, Path::new("/a b/k"));
    }
}
