// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The QEMU command line that boots an image without the `hadal` command.

use std::env;
use std::ffi::OsString;
use std::path::Path;

use crate::values::{self, Bytes};
use crate::{machine, qemu};

/// What is booted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Medium {
    /// A program image, loaded as a kernel.
    Kernel,
    /// An ISO.
    Disc,
}

/// The line for an image, with as many CPUs and as much memory as `hadal run` gives it: as `HADAL_CPUS` and `HADAL_MEMORY`
/// say. The program's terminal is QEMU's: Ctrl-C reaches the program, Ctrl-A X ends QEMU.
pub(crate) fn line(medium: Medium, image: &Path) -> String {
    let variable = |name| env::var(name).unwrap_or_default();
    let (cpus, memory) = size(&variable("HADAL_CPUS"), &variable("HADAL_MEMORY"));
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

/// CPUs and memory for QEMU. What `hadal run` would not take counts as not given.
fn size(cpus: &str, memory: &str) -> (String, String) {
    let cpus = values::parse_cpus(cpus).unwrap_or_else(|_| machine::default_cpus());
    let Bytes(memory_bytes) = values::parse_memory(memory).unwrap_or_else(|_| machine::default_memory());
    (cpus.to_string(), format!("{}M", memory_bytes >> 20))
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

    #[test]
    fn machines_are_as_large_as_the_environment_says() {
        assert_eq!(size("3", "1.5G"), ("3".to_owned(), "1536M".to_owned()));
        assert_eq!(size("many", "1"), size("", ""));
    }
}
