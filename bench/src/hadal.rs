// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The `hadal` command under measurement, and the QEMU machine that it makes.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::Environment;
use crate::args::MachineArgs;
use crate::catalogue::Shape;
use crate::results::Mode;
use crate::timed::{self, Ended};

/// Options of QEMU that make up the machine itself; all others are how a kernel talks to the host.
const MACHINE_OPTIONS: [&str; 14] = [
    "-nodefaults",
    "-no-user-config",
    "-no-reboot",
    "-display",
    "-vga",
    "-nic",
    "-M",
    "-accel",
    "-icount",
    "-cpu",
    "-smp",
    "-m",
    "-object",
    "-numa",
];

/// For anything but a benchmark.
const LIMIT: Duration = Duration::from_secs(900);
/// What a command is given beyond the limit: the kernel itself says where its threads are.
pub(crate) const GRACE: Duration = Duration::from_secs(60);

/// The command and the machine that it is asked for.
#[derive(Debug)]
pub(crate) struct Hadal {
    command: PathBuf,
    cwd: PathBuf,
    machine: MachineArgs,
    /// `NAME=value` for programs whose instructions QEMU translates.
    translated: &'static str,
}

/// The QEMU line of a run.
#[derive(Debug)]
pub(crate) struct QemuLine {
    /// QEMU and the options of the machine.
    pub(crate) machine: Vec<String>,
    /// The kernel's file.
    pub(crate) kernel: PathBuf,
    /// `NAME=value` for every program on this machine.
    pub(crate) setting: Option<&'static str>,
}

impl Hadal {
    /// The command, run in a directory with the machine of these options.
    pub(crate) fn new(environment: &Environment, cwd: &Path, machine: &MachineArgs) -> Self {
        let (command, translated) = (environment.hadal.clone(), environment.translated);
        Self { command, cwd: cwd.to_path_buf(), machine: machine.clone(), translated }
    }

    /// QEMU's command.
    pub(crate) fn qemu(&self) -> &Path {
        &self.machine.qemu
    }

    /// What programs of both guests find in their environment in a mode.
    fn setting(&self, mode: Mode) -> Option<&'static str> {
        (mode == Mode::Parallel && self.machine.accel == "tcg").then_some(self.translated)
    }

    /// `hadal run` of a program on the machine of a mode. Nothing of the user's environment is in the program's: it would be
    /// part of the stack, and paths would depend on the user.
    pub(crate) fn command(
        &self,
        mode: Mode,
        shape: Shape,
        options: &[&str],
        program: &[OsString],
    ) -> Command {
        let mut command = Command::new(&self.command);
        command.current_dir(&self.cwd).args(["run", "--clear-env", "--memory", &self.machine.memory]);
        match mode {
            Mode::Path => command.arg("--icount"),
            Mode::Parallel => command.args(["--accel", &self.machine.accel]),
        };
        command.args(self.setting(mode).iter().flat_map(|setting| ["--env", setting]));
        command.args(["--cpus", &shape.cpus.to_string()]);
        if shape.zones > 1 {
            command.args(["--numa", &shape.zones.to_string()]);
        }
        if !options.contains(&"--qemu") {
            command.arg("--qemu").arg(&self.machine.qemu);
        }
        command.args(options).args(program);
        command
    }

    /// Runs a program to its end, whatever that is.
    pub(crate) fn run(
        &self,
        mode: Mode,
        shape: Shape,
        options: &[&str],
        program: &[OsString],
    ) -> Result<Ended> {
        timed::run(&mut self.command_within(LIMIT, mode, shape, options, program), LIMIT + GRACE)
    }

    /// The command for a run with a limit. That is the kernel's, which then says where its threads are.
    pub(crate) fn command_within(
        &self,
        limit: Duration,
        mode: Mode,
        shape: Shape,
        options: &[&str],
        program: &[OsString],
    ) -> Command {
        let seconds = limit.as_secs().to_string();
        let options = [&["--timeout", &seconds], options].concat();
        self.command(mode, shape, &options, program)
    }

    /// The QEMU line of a mode.
    pub(crate) fn qemu_line(&self, mode: Mode, shape: Shape) -> Result<QemuLine> {
        let mut command = self.command(mode, shape, &["--dry-run"], &["/bin/true".into()]);
        let (machine, kernel) = parse_line(&checked(timed::run(&mut command, LIMIT)?)?.stdout)?;
        Ok(QemuLine { machine, kernel, setting: self.setting(mode) })
    }
}

/// Nothing but success is measured.
pub(crate) fn checked(ended: Ended) -> Result<Ended> {
    ensure!(ended.status.success(), "hadal failed ({})\n{}{}", ended.status, ended.stdout, ended.stderr);
    Ok(ended)
}

/// QEMU with the options of the machine, and the kernel's file.
fn parse_line(line: &str) -> Result<(Vec<String>, PathBuf)> {
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
    Ok((machine, kernel.context("hadal --dry-run named no kernel")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_is_told_from_the_rest() {
        let line =
            parse_line("qemu -nodefaults -M q35,usb=off -kernel '/a b/k' -initrd c -smp 2 -device x -m 1M\n");
        let (machine, kernel) = line.unwrap();
        assert_eq!(machine.join(" "), "qemu -nodefaults -M q35,usb=off -smp 2 -m 1M");
        assert_eq!(kernel, Path::new("/a b/k"));
    }

    #[test]
    fn each_mode_has_its_machine() {
        let machine = MachineArgs { qemu: "q".into(), accel: "tcg".into(), memory: "1G".into() };
        let environment =
            Environment { hadal: "hadal".into(), cache: "/".into(), translated: "A=b", exec_in_child: "" };
        let hadal = Hadal::new(&environment, Path::new("/"), &machine);
        let line = |mode, shape| format!("{:?}", hadal.command(mode, shape, &[], &["p".into()]));
        let path = line(Mode::Path, Shape { cpus: 1, zones: 1 });
        assert!(path.contains("\"--icount\" \"--cpus\" \"1\"") && !path.contains("A=b"), "{path}");
        let parallel = line(Mode::Parallel, Shape { cpus: 4, zones: 2 });
        assert!(parallel.contains("\"A=b\" \"--cpus\" \"4\" \"--numa\" \"2\""), "{parallel}");
    }
}
