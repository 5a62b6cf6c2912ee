// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The peer: programs in a Linux guest on the machine that `hadal run` makes, from QEMU's start to its end.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::hadal::QemuLine;
use crate::initramfs::{self, Init, STATUS_MARK};
use crate::packages::Linux;
use crate::timed::{self, Ended};
use crate::toolchain::Program;

/// For one program, also on a busy host; booting is in it.
const PROGRAM_LIMIT: Duration = Duration::from_secs(900);

/// Kernel parameters. No work-arounds for leaks between processes, which makes Linux faster; no wait before the end after a
/// panic; and no test at start whether the timer ticks, which fails when the host is busy. Under `-icount` its clock is
/// exact without further ones.
const PARAMETERS: &str = "console=ttyS0 quiet mitigations=off panic=-1 no_timer_check";

/// A Linux guest that runs programs one after the other, ready to boot.
#[derive(Debug)]
pub(crate) struct Guest {
    command: Vec<String>,
    initramfs: tempfile::NamedTempFile,
    programs: u32,
}

impl Guest {
    /// Packs programs for a guest on a machine. `parameters` are for its kernel, besides those that it always has.
    pub(crate) fn new(
        linux: &Linux,
        line: &QemuLine,
        parameters: &str,
        init: Init,
        programs: &[Program],
    ) -> Result<Self> {
        let initramfs = tempfile::NamedTempFile::new().context("cannot make a file for the initramfs")?;
        let archive = initramfs::build(&linux.busybox, init, line.setting, programs)?;
        std::fs::write(&initramfs, archive).context("cannot write the initramfs")?;
        let kernel = linux.kernel.to_str().context("the cache directory's name is not UTF-8")?;
        let parameters = format!("{PARAMETERS} {parameters}");
        let serial = [
            "-append",
            parameters.trim_end(),
            "-chardev",
            "stdio,id=log,signal=off",
            "-serial",
            "chardev:log",
        ];
        let mut command = line.machine.clone();
        command.extend(["-kernel", kernel].iter().chain(&serial).map(|word| (*word).to_owned()));
        Ok(Self { command, initramfs, programs: programs.len() as u32 })
    }

    /// QEMU's command.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]).arg("-initrd").arg(self.initramfs.path());
        command
    }

    /// Boots, runs the programs, turns off; an error when a program failed. Their output is on standard output, with the
    /// kernel's.
    pub(crate) fn run(&self) -> Result<Ended> {
        let mut ended = timed::run(&mut self.command(), PROGRAM_LIMIT * self.programs.max(1))?;
        ended.stdout = ended.stdout.replace('\r', "");
        let succeeded = ended.stdout.matches(&format!("{STATUS_MARK} 0\n")).count();
        ensure!(
            succeeded == self.programs as usize,
            "a program failed in the Linux guest\n{}{}",
            ended.stdout,
            ended.stderr
        );
        Ok(ended)
    }
}

/// What each of the programs printed, and its status, in a guest's output.
pub(crate) fn outputs(stdout: &str) -> Vec<(String, Option<i32>)> {
    let stdout = stdout.replace('\r', "");
    let mut outputs = Vec::new();
    let mut rest = stdout.as_str();
    while let Some((output, after)) = rest.split_once(STATUS_MARK) {
        let (status, after) = after.split_once('\n').unwrap_or((after, ""));
        outputs.push((output.to_owned(), status.trim().parse().ok()));
        rest = after;
    }
    // A program that did not end has printed something, perhaps.
    outputs.push((rest.to_owned(), None));
    outputs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_told_apart() {
        let outputs = outputs(&format!("boot\na\n{STATUS_MARK} 0\nb\n{STATUS_MARK} 139\npower down\n"));
        assert_eq!(outputs[0], ("boot\na\n".to_owned(), Some(0)));
        assert_eq!(outputs[1], ("b\n".to_owned(), Some(139)));
        assert_eq!(outputs[2], ("power down\n".to_owned(), None));
    }
}
