// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The peer: one program in a Linux guest on the machine that `hadal run` makes, from QEMU's start to its
//! end.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::hadal::Hadal;
use crate::initramfs::{self, STATUS_MARK};
use crate::packages::Linux;
use crate::programs::Program;
use crate::timed::{self, Ended};

const RUN_LIMIT: Duration = Duration::from_secs(600);

/// Kernel parameters. The last two make Linux faster: no work-arounds for leaks between processes, and no
/// wait before the end after a panic.
const PARAMETERS: &str = "console=ttyS0 quiet mitigations=off panic=-1";

/// A Linux guest that runs one program, ready to boot.
#[derive(Debug)]
pub(crate) struct Guest {
    machine: Vec<String>,
    kernel: PathBuf,
    initramfs: tempfile::NamedTempFile,
}

impl Guest {
    /// Packs the program for a guest on the machine on which Hadal runs it.
    pub(crate) fn new(hadal: &Hadal, linux: &Linux, program: &Program) -> Result<Self> {
        let line = hadal.qemu_line(&program.words())?;
        let initramfs = tempfile::NamedTempFile::new().context("cannot make a file for the initramfs")?;
        let archive = initramfs::build(&linux.busybox, program)?;
        std::fs::write(&initramfs, archive).context("cannot write the initramfs")?;
        Ok(Self { machine: line.machine, kernel: linux.kernel.clone(), initramfs })
    }

    /// Boots, runs the program, turns off. The program's output is on standard output, with the kernel's.
    pub(crate) fn run(&self) -> Result<Ended> {
        let mut command = Command::new(&self.machine[0]);
        command.args(&self.machine[1..]).arg("-kernel").arg(&self.kernel);
        command.arg("-initrd").arg(self.initramfs.path());
        command.args([
            "-append",
            PARAMETERS,
            "-chardev",
            "stdio,id=log,signal=off",
            "-serial",
            "chardev:log",
        ]);
        let mut ended = timed::run(&mut command, RUN_LIMIT)?;
        ended.stdout = ended.stdout.replace("\r\n", "\n");
        let succeeded = ended.stdout.contains(&format!("{STATUS_MARK} 0\n"));
        ensure!(succeeded, "the program failed in the Linux guest\n{}{}", ended.stdout, ended.stderr);
        Ok(ended)
    }
}
