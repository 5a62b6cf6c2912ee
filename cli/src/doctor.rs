// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `hadal doctor`: what this machine has and lacks for each part of Hadal, with the remedy.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::thread;

use crate::failure::Failure;
use crate::values::Bytes;
use crate::{accel, image, kernel, paths};

/// State of one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Good,
    /// Only this part of Hadal does not work, or works more slowly.
    Lacking,
    /// Nothing works.
    Broken,
}

/// One line of the table.
#[derive(Debug)]
struct Finding {
    part: &'static str,
    state: State,
    what: String,
    remedy: Option<String>,
}

/// Something that is a command of this name, or a file where it is a path.
struct Tool {
    part: &'static str,
    what: &'static str,
    any_of: &'static [&'static str],
    packages: &'static str,
}

const TOOLS: [Tool; 7] = [
    Tool { part: "run a .c file", what: "C compiler", any_of: &["cc"], packages: "gcc" },
    Tool { part: "run a .cpp file", what: "C++ compiler", any_of: &["c++"], packages: "g++" },
    Tool { part: "run a .f90 file", what: "Fortran compiler", any_of: &["gfortran"], packages: "gfortran" },
    Tool { part: "--gdb", what: "debugger", any_of: &["gdb"], packages: "gdb" },
    Tool { part: "build, test", what: "Rust", any_of: &["cargo"], packages: "" },
    Tool { part: "test", what: "clang", any_of: &["clang"], packages: "clang libomp-dev" },
    Tool { part: "test", what: "musl", any_of: &["musl-gcc"], packages: "musl-tools" },
];

/// Prints the table; the status is 0 when programs can run.
pub(crate) fn report(qemu: &Path) -> Result<u8, Failure> {
    let mut findings = vec![qemu_finding(qemu)];
    findings.push(kernel_finding());
    findings.push(kvm_finding(qemu));
    findings.push(machine_finding());
    findings.extend(TOOLS.iter().map(tool_finding));
    findings.push(image_finding());
    findings.push(firmware_finding());
    findings.push(cache_finding());
    print!("{}", table(&findings));
    let is_broken = findings.iter().any(|f| f.state == State::Broken);
    Ok(u8::from(is_broken))
}

fn qemu_finding(qemu: &Path) -> Finding {
    let part = "run";
    let remedy = Some("apt-get install qemu-system-x86".to_owned());
    let Some(file) = paths::find_command(qemu) else {
        return Finding { part, state: State::Broken, what: "QEMU not found".into(), remedy };
    };
    let version = first_line(&file, "--version");
    let devices =
        Command::new(&file).args(["-device", "help"]).output().map(|o| o.stdout).unwrap_or_default();
    let has_9p = String::from_utf8_lossy(&devices).contains("virtio-9p-pci");
    match (version, has_9p) {
        (Some(version), true) => Finding { part, state: State::Good, what: version, remedy: None },
        (Some(version), false) => Finding {
            part,
            state: State::Broken,
            what: format!("{version}, built without 9P file systems"),
            remedy: Some("use a QEMU with virtio-9p-pci".into()),
        },
        (None, _) => {
            Finding { part, state: State::Broken, what: format!("{} does not run", file.display()), remedy }
        }
    }
}

fn kernel_finding() -> Finding {
    let (state, what, remedy) = match kernel::image() {
        Ok(image) => {
            (State::Good, format!("kernel {} ({})", kernel::identity(), Bytes(image.len() as u64)), None)
        }
        Err(e) => (State::Broken, format!("{e:#}"), Some("unset HADAL_KERNEL".to_owned())),
    };
    Finding { part: "run", state, what, remedy }
}

fn kvm_finding(qemu: &Path) -> Finding {
    let part = "--accel kvm";
    match accel::kvm_works(qemu) {
        Ok(()) => Finding { part, state: State::Good, what: "KVM runs a guest".into(), remedy: None },
        Err(reason) => Finding {
            part,
            state: State::Lacking,
            what: format!("KVM does not work ({reason}); QEMU translates instead"),
            remedy: Some("enable virtualisation in the firmware; join the group kvm".into()),
        },
    }
}

fn machine_finding() -> Finding {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let memory = rustix::system::sysinfo();
    let total = u64::from(memory.mem_unit) * memory.totalram;
    Finding {
        part: "run",
        state: State::Good,
        what: format!("{cores} cores, {} of memory", Bytes(total >> 20 << 20)),
        remedy: None,
    }
}

fn tool_finding(tool: &Tool) -> Finding {
    let file = tool.any_of.iter().find_map(paths::find_command);
    match file {
        Some(file) => {
            let version = first_line(&file, "--version").unwrap_or_else(|| file.display().to_string());
            Finding {
                part: tool.part,
                state: State::Good,
                what: format!("{}: {version}", tool.what),
                remedy: None,
            }
        }
        None => Finding {
            part: tool.part,
            state: State::Lacking,
            what: format!("{} not found", tool.what),
            remedy: Some(match tool.packages {
                "" => "see https://rustup.rs".to_owned(),
                packages => format!("apt-get install {packages}"),
            }),
        },
    }
}

fn image_finding() -> Finding {
    let missing: Vec<_> = image::TOOLS.iter().filter(|(tool, _)| !image::is_present(tool)).collect();
    let names: Vec<_> = missing.iter().map(|(tool, _)| *tool).collect();
    let packages: Vec<_> = missing.iter().map(|(_, package)| *package).collect();
    match missing.is_empty() {
        true => Finding { part: "image", state: State::Good, what: "GRUB and xorriso".into(), remedy: None },
        false => Finding {
            part: "image",
            state: State::Lacking,
            what: format!("{} not found", names.join(", ")),
            remedy: Some(format!("apt-get install {}", packages.join(" "))),
        },
    }
}

fn firmware_finding() -> Finding {
    let is_there = ["/usr/share/OVMF/OVMF_CODE.fd", "/usr/share/OVMF/OVMF_CODE_4M.fd"]
        .iter()
        .any(|f| image::is_present(f));
    match is_there {
        true => {
            Finding { part: "test", state: State::Good, what: "UEFI firmware (OVMF)".into(), remedy: None }
        }
        false => Finding {
            part: "test",
            state: State::Lacking,
            what: "UEFI firmware (OVMF) not found".into(),
            remedy: Some("apt-get install ovmf".into()),
        },
    }
}

fn cache_finding() -> Finding {
    let part = "run a source";
    match paths::cache_dir("") {
        Ok(dir) => {
            Finding { part, state: State::Good, what: format!("cache in {}", dir.display()), remedy: None }
        }
        Err(e) => Finding {
            part,
            state: State::Lacking,
            what: e.to_string(),
            remedy: Some("name a writable directory in XDG_CACHE_HOME".into()),
        },
    }
}

/// First line that a command prints.
fn first_line(command: &Path, option: &str) -> Option<String> {
    let output = Command::new(command).arg(option).output().ok().filter(|o| o.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).lines().next()?.trim().to_owned())
}

fn table(findings: &[Finding]) -> String {
    let width = findings.iter().map(|f| f.part.len()).max().unwrap_or(0);
    let mut text = String::new();
    for finding in findings {
        let mark = match finding.state {
            State::Good => "ok     ",
            State::Lacking => "lacking",
            State::Broken => "BROKEN ",
        };
        let _ = writeln!(text, "{mark}  {:width$}  {}", finding.part, finding.what);
        if let Some(remedy) = &finding.remedy {
            let _ = writeln!(text, "{:9}{:width$}  -> {remedy}", "", "");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remedies_stand_below_what_is_lacking() {
        let findings = [
            Finding { part: "run", state: State::Good, what: "QEMU 7".into(), remedy: None },
            Finding {
                part: "image",
                state: State::Lacking,
                what: "no GRUB".into(),
                remedy: Some("install".into()),
            },
        ];
        assert_eq!(
            table(&findings),
            "ok       run    QEMU 7\nlacking  image  no GRUB\n                -> install\n"
        );
    }
}
