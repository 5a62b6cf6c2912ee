// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `--dry-run`: prints a QEMU command line that runs the program when it is started by hand.
//!
//! A real run hands QEMU open files and sockets, and copies the program's input and output. The printed line needs nobody at
//! the other end: its files are kept in the cache directory, the program has the terminal by the serial line, and the
//! machine turns itself off when the program has ended.

use std::hash::{DefaultHasher, Hash, Hasher};

use hadal_abi::config::StdioKind;

use crate::failure::Failure;
use crate::paths;
use crate::qemu::{self, Endpoints, MachineSpec};
use crate::session::Boot;
use crate::view::HostMount;

/// The terminal that the serial line leads to, in character cells: nobody can ask for its size.
const TERMINAL: StdioKind = StdioKind::Tty { rows: 24, cols: 80 };

/// Writes the files and prints the line; returns the command's status.
pub(crate) fn print(spec: &MachineSpec, mut boot: Boot, mounts: &[HostMount]) -> Result<u8, Failure> {
    boot.config.stdio = [TERMINAL; 3];
    if !boot.config.counts_instructions {
        // The machine finds out by itself when it is started.
        (boot.config.realtime_ns, boot.config.random_seed) = (0, [0; 32]);
    }
    let dir = paths::cache_dir("dry-run")?;
    let module = boot.module();
    // Lines that were printed before go on working.
    let kernel_file = dir.join(format!("hadal-kernel-{:016x}.elf", hash(&boot.kernel.elf)));
    let config_file = dir.join(format!("run-config-{:016x}", hash(&module)));
    paths::write_atomically(&kernel_file, &boot.kernel.elf)?;
    paths::write_atomically(&config_file, &module)?;
    let ends = Endpoints {
        kernel: kernel_file.into(),
        config: config_file.into(),
        command_line: boot.command_line,
        control: None,
        serial: "stdio,id=serial,signal=off".into(),
    };
    println!("{}", qemu::shell_line(&qemu::command_line(spec, &ends, mounts)));
    Ok(0)
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}
