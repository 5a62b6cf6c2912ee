// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `--dry-run`: prints a QEMU command line that works by hand, with its files kept in the cache directory.
//!
//! A real run hands QEMU open files and sockets instead. In the printed line the kernel's log goes to the terminal,
//! and the control channel is a socket that may have no peer: program output is then lost, the machine still runs.

use std::ffi::OsString;

use crate::failure::Failure;
use crate::paths;
use crate::qemu::{self, Endpoints, MachineSpec};
use crate::session::Boot;
use crate::view::HostMount;

/// Writes the files and prints the line; returns the command's status.
pub(crate) fn print(spec: &MachineSpec, boot: &Boot, mounts: &[HostMount]) -> Result<u8, Failure> {
    let dir = paths::cache_dir("dry-run")?;
    let kernel_file = dir.join("hadal-kernel.elf");
    let config_file = dir.join("run-config");
    paths::write_atomically(&kernel_file, &boot.kernel.elf)?;
    paths::write_atomically(&config_file, &boot.module())?;
    let mut control = OsString::from("server=on,wait=off,path=");
    control.push(qemu::escape_commas(&dir.join("control.socket")));
    let ends = Endpoints {
        kernel: kernel_file.into(),
        config: config_file.into(),
        command_line: boot.command_line.clone(),
        control,
        log: "fd=log".into(),
    };
    let mut line = qemu::command_line(spec, &ends, mounts);
    for word in &mut line {
        if word == "socket,id=log,fd=log" {
            *word = "stdio,id=log,signal=off".into();
        }
    }
    println!("{}", qemu::shell_line(&line));
    Ok(0)
}
