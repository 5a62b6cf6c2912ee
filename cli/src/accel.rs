// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Chooses how QEMU executes the guest.
//!
//! Whether KVM is there says little: some hosts offer a KVM that cannot run ring-0 programs. So `auto` boots the kernel
//! under it once, asks for its report, and remembers the answer until the host boots again or something changes.

use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

use hadal_abi::config::RunConfig;

use crate::args::AccelChoice;
use crate::channel::ReportTarget;
use crate::failure::Failure;
use crate::log_tail::LogSink;
use crate::qemu::{Accel, MachineSpec};
use crate::session::{Boot, Session};
use crate::{kernel, paths, qemu_failure};

const KVM_DEVICE: &str = "/dev/kvm";

/// Time for a small guest to boot, report and end.
const PROBE_LIMIT: Duration = Duration::from_secs(1);

/// Content of the cache file when KVM works; anything else is the reason why not.
const WORKS: &str = "works";

/// The accelerator for a choice on the command line; `None` is auto without the line about falling back.
pub(crate) fn choose(choice: Option<AccelChoice>, icount: bool, qemu: &Path) -> Result<Accel, Failure> {
    if icount {
        return match choice {
            Some(AccelChoice::Kvm) => Err(Failure::setup(
                "--icount counts instructions that QEMU translates, and KVM runs them itself",
                "leave out --accel kvm",
            )),
            _ => Ok(Accel::TcgCounting),
        };
    }
    match choice {
        Some(AccelChoice::Tcg) => Ok(Accel::Tcg),
        Some(AccelChoice::Kvm) => match kvm_device() {
            Ok(()) => Ok(Accel::Kvm),
            Err(reason) => Err(Failure::setup(
                format!("--accel kvm: {reason}"),
                "enable virtualisation and join the group kvm, or use --accel tcg",
            )),
        },
        Some(AccelChoice::Auto) => Ok(kvm_works(qemu).map_or_else(fall_back, |()| Accel::Kvm)),
        None => Ok(kvm_works(qemu).map_or(Accel::Tcg, |()| Accel::Kvm)),
    }
}

fn fall_back(reason: String) -> Accel {
    eprintln!("hadal: using TCG, because KVM does not work here: {reason}");
    Accel::Tcg
}

/// Whether the KVM device can be opened.
pub(crate) fn kvm_device() -> Result<(), String> {
    match File::options().read(true).write(true).open(KVM_DEVICE) {
        Ok(_) => Ok(()),
        Err(e) => Err(format!("{KVM_DEVICE}: {e}")),
    }
}

/// Whether KVM runs a real guest; the reason if it does not.
pub(crate) fn kvm_works(qemu: &Path) -> Result<(), String> {
    kvm_device()?;
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let qemu_file = paths::find_command(qemu).unwrap_or_else(|| qemu.to_path_buf());
    let changed = qemu_file.metadata().and_then(|m| m.modified()).ok();
    let key = format!("{boot} {} {} {changed:?}", kernel::identity(), qemu_file.display());
    let name = format!("{:016x}", paths::content_hash(&[key.as_bytes()]));
    let file = paths::cache_dir("kvm").ok().map(|dir| dir.join(name));
    let remembered = file.as_ref().and_then(|file| fs::read_to_string(file).ok());
    let answer = remembered.unwrap_or_else(|| {
        let answer = probe(qemu).map_or_else(|reason| reason, |()| WORKS.to_owned());
        if let Some(file) = &file {
            // Without a cache the probe is only repeated.
            let _ = paths::write_atomically(file, answer.as_bytes());
        }
        answer
    });
    if answer == WORKS { Ok(()) } else { Err(answer) }
}

/// Boots the kernel under KVM and waits for its report.
fn probe(qemu: &Path) -> Result<(), String> {
    let session = Session {
        spec: MachineSpec {
            qemu: qemu.to_path_buf(),
            accel: Accel::Kvm,
            cpus: 2,
            memory_bytes: 256 << 20,
            numa_nodes: 1,
            numa_distance: 20,
            gdb_port: None,
        },
        boot: Boot::plain(RunConfig::report()).map_err(|error| format!("{error:#}"))?,
        mounts: Vec::new(),
        log: LogSink::Quiet,
        reports: ReportTarget::Nowhere,
        time_limit: Some(PROBE_LIMIT),
        forward_signals: false,
        listed: None,
    };
    match session.run() {
        Ok(outcome) if outcome.status == 0 => Ok(()),
        Ok(outcome) => Err(format!("a guest ended with status {}", outcome.status)),
        Err(Failure::QemuFailed { output, .. }) => {
            Err(format!("QEMU says: {}", qemu_failure::reason(&output)))
        }
        Err(Failure::Timeout { .. }) => Err("a guest hung".to_owned()),
        Err(failure) => Err(failure.to_string()),
    }
}
