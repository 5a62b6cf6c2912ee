// SPDX-License-Identifier: Apache-2.0 OR MIT
//! [`Cause`]: why QEMU could not start a machine, as far as that shows in what it printed; and whether a command is QEMU.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::machine::host_memory;
use crate::qemu::{Accel, MachineSpec};
use crate::values::Bytes;

/// Time for a command to say its version.
const VERSION_LIMIT: Duration = Duration::from_secs(3);

/// Why a machine could not be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The host does not give the machine its memory.
    NoMemory {
        /// What the machine should have.
        asked: Bytes,
        /// What the host has, and what of it is free.
        host: Option<(Bytes, Bytes)>,
    },
    /// KVM is there and does not run this machine.
    Kvm {
        /// What QEMU says of it.
        reason: String,
    },
    /// The command is something else.
    NotQemu(PathBuf),
    /// QEMU for another processor, or one too old.
    NoSuchMachine(PathBuf),
    /// QEMU's own words must do.
    Unknown,
}

impl Cause {
    /// Judges by what QEMU printed before the kernel said a word.
    pub(crate) fn find(spec: &MachineSpec, output: &str) -> Self {
        if output.contains("cannot set up guest memory") || output.contains("Cannot allocate memory") {
            return Self::NoMemory { asked: Bytes(spec.memory_bytes), host: host_memory() };
        }
        if output.contains("unsupported machine type") {
            return Self::NoSuchMachine(spec.qemu.clone());
        }
        if !is_qemu(&spec.qemu) {
            return Self::NotQemu(spec.qemu.clone());
        }
        // Under KVM, too, QEMU may fail for something else, such as a directory that is gone.
        match spec.accel == Accel::Kvm && output.to_ascii_lowercase().contains("kvm") {
            true => Self::Kvm { reason: reason(output) },
            false => Self::Unknown,
        }
    }

    /// The message's first line; `ended` is how QEMU ended.
    pub(crate) fn text(&self, ended: &str) -> String {
        match self {
            Self::NoMemory { asked, host: Some((total, free)) } => {
                let gib = |bytes: &Bytes| format!("{:.1} GiB", bytes.0 as f64 / (1_u64 << 30) as f64);
                let (total, free) = (gib(total), gib(free));
                format!(
                    "this host cannot give the machine {asked} of memory: it has {total}, {free} of them free"
                )
            }
            Self::NoMemory { asked, host: None } => {
                format!("this host cannot give the machine {asked} of memory")
            }
            Self::Kvm { reason } => format!("KVM does not run the machine on this host: {reason}"),
            Self::NotQemu(file) => {
                format!("{}: is not QEMU (it does not answer --version as QEMU does)", file.display())
            }
            Self::NoSuchMachine(file) => {
                format!("{}: has no machine of type q35; it is QEMU for another processor", file.display())
            }
            Self::Unknown => format!("QEMU could not start the machine ({ended})"),
        }
    }

    /// What to do.
    pub(crate) fn help(&self) -> &'static str {
        match self {
            Self::NoMemory { .. } => "ask for less with --memory",
            Self::Kvm { .. } => "--accel tcg works without KVM",
            Self::NotQemu(_) | Self::NoSuchMachine(_) => {
                "name qemu-system-x86_64 with --qemu or HADAL_QEMU, or leave both out"
            }
            Self::Unknown => "`hadal doctor` checks QEMU and the machine's limits",
        }
    }
}

/// The line of QEMU's output that says most: a failed assertion is only what follows from the error before it.
pub(crate) fn reason(output: &str) -> String {
    let lines = || output.lines().map(str::trim).filter(|line| !line.is_empty());
    let error = lines().find(|line| line.contains("error:") || line.contains("failed"));
    let line = error.or_else(|| lines().next_back()).unwrap_or("QEMU ended without a word");
    let line = line.split_once(": ").filter(|(name, _)| !name.contains(' ')).map_or(line, |(_, rest)| rest);
    line.trim_start_matches("error: ").to_owned()
}

/// Whether a command says that it is QEMU.
pub(crate) fn is_qemu(command: &Path) -> bool {
    let child = Command::new(command)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = child else { return false };
    let deadline = Instant::now() + VERSION_LIMIT;
    while matches!(child.try_wait(), Ok(None)) && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(2));
    }
    // It has ended, or is no command that answers.
    let _ = child.kill();
    let _ = child.wait();
    let mut said = Vec::new();
    let _ = child.stdout.take().map(|stdout| stdout.take(4096).read_to_end(&mut said));
    String::from_utf8_lossy(&said).contains("QEMU emulator version")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_the_error_and_not_the_assertion() {
        let output = "qemu-system-x86_64: error: failed to set MSR 0x10a to 0x4000\n\
                      qemu-system-x86_64: kvm.c:3183: kvm_buf_set_msrs: Assertion `ret == n' failed.\n";
        assert_eq!(reason(output), "failed to set MSR 0x10a to 0x4000");
        assert_eq!(reason("Could not access KVM kernel module\n"), "Could not access KVM kernel module");
        assert_eq!(reason("\n"), "QEMU ended without a word");
    }

    #[test]
    fn other_commands_are_not_qemu() {
        for command in ["/bin/true", "/bin/cat", "/no/such/command"] {
            assert!(!is_qemu(Path::new(command)), "{command}");
        }
    }
}
