// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The QEMU command line that boots an image without the `hadal` command.

use std::ffi::OsString;
use std::path::Path;

use crate::values::Bytes;
use crate::{machine, qemu};

/// What is booted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Medium {
    /// A program image, loaded as a kernel.
    Kernel,
    /// An ISO.
    Disc,
}

/// The line for an image, with as many CPUs and as much memory as `hadal run` gives it. The program's terminal is QEMU's:
/// Ctrl-C reaches the program, Ctrl-A X ends QEMU.
pub(crate) fn line(medium: Medium, image: &Path) -> String {
    let Bytes(memory_bytes) = machine::default_memory();
    let cpus = machine::default_cpus().to_string();
    let memory = format!("{}M", memory_bytes >> 20);
    let option = match medium {
        Medium::Kernel => "-kernel",
        Medium::Disc => "-cdrom",
    };
    let fixed =
        ["qemu-system-x86_64", "-M", "q35", "-cpu", "max", "-smp", &cpus, "-m", &memory, "-no-reboot"];
    let terminal = ["-display", "none", "-serial", "mon:stdio", option];
    let mut words: Vec<OsString> = fixed.iter().chain(&terminal).map(Into::into).collect();
    words.push(image.into());
    qemu::shell_line(&words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_and_machines_have_cpus() {
        let line = line(Medium::Kernel, Path::new("my image.hadal"));
        assert!(line.ends_with(" -serial mon:stdio -kernel 'my image.hadal'"), "{line}");
        assert!(line.contains(" -smp ") && line.contains(" -m "), "{line}");
        assert!(super::line(Medium::Disc, Path::new("a.iso")).ends_with(" -cdrom a.iso"));
    }
}
