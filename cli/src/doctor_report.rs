// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `hadal doctor --report FILE`: what this host's processor offers, which paths the kernel takes under each accelerator, and
//! whether each worked in a short run. For people first, then the same as JSON: to be sent to those who have no such machine.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::Context;
use hadal_abi::config::RunConfig;
use hadal_abi::paths::{CpuidLeaf, Paths, Trial};
use serde::Serialize;

use crate::channel::ReportTarget;
use crate::failure::Failure;
use crate::log_tail::LogSink;
use crate::progress::Progress;
use crate::qemu::{Accel, MachineSpec};
use crate::qemu_failure::Cause;
use crate::session::{Boot, Session};
use crate::{accel, kernel, paths};

/// The line between the two parts of the file.
const JSON_FOLLOWS: &str = "-- the same as JSON --";
/// A boot and some hundred milliseconds of trials, on a slow host.
const LIMIT: Duration = Duration::from_secs(60);

/// The whole report.
#[derive(Debug, Serialize)]
struct Report {
    hadal: &'static str,
    kernel: String,
    host: Host,
    runs: Vec<Run>,
}

#[derive(Debug, Serialize)]
struct Host {
    processor: String,
    cores: usize,
    system: String,
    qemu: String,
    /// As programs of this system see it.
    cpuid: Vec<CpuidLeaf>,
}

/// One machine.
#[derive(Debug, Serialize)]
struct Run {
    accelerator: &'static str,
    cpus: u32,
    passed: bool,
    /// Why nothing else is known.
    failure: Option<String>,
    machine: Option<Paths>,
}

/// Feature, leaf, subleaf, register (0 is EAX), bit.
type Feature = (&'static str, u32, u32, usize, u32);

/// What the kernel uses, or would use, of a processor.
const FEATURES: [Feature; 16] = [
    ("x2APIC", 1, 0, 2, 21),
    ("TSC deadline", 1, 0, 2, 24),
    ("MONITOR", 1, 0, 2, 3),
    ("PCID", 1, 0, 2, 17),
    ("XSAVE", 1, 0, 2, 26),
    ("AVX", 1, 0, 2, 28),
    ("hypervisor", 1, 0, 2, 31),
    ("FSGSBASE", 7, 0, 1, 0),
    ("AVX2", 7, 0, 1, 5),
    ("SMEP", 7, 0, 1, 7),
    ("AVX-512", 7, 0, 1, 16),
    ("SMAP", 7, 0, 1, 20),
    ("protection keys", 7, 0, 2, 3),
    ("1 GiB pages", 0x8000_0001, 0, 3, 26),
    ("RDTSCP", 0x8000_0001, 0, 3, 27),
    ("invariant TSC", 0x8000_0007, 0, 3, 8),
];

/// Writes the report, prints the part for people, and returns 0 if everything worked under one of the accelerators.
pub(crate) fn write(qemu: &Path, file: &Path) -> Result<u8, Failure> {
    let report = make(qemu)?;
    let words = in_words(&report);
    let json = serde_json::to_string_pretty(&report).context("the report cannot be written as JSON")?;
    fs::write(file, format!("{words}\n{JSON_FOLLOWS}\n{json}\n"))
        .with_context(|| format!("--report {}", file.display()))?;
    print!("{words}");
    eprintln!("hadal: wrote {}", file.display());
    Ok(u8::from(!report.runs.iter().any(|run| run.passed)))
}

fn make(qemu: &Path) -> Result<Report, Failure> {
    let qemu = paths::find_command(qemu).ok_or_else(|| Failure::QemuMissing(qemu.to_owned()))?;
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let cpus = cores.clamp(2, 4) as u32;
    let mut progress = Progress::new(2);
    progress.step("a machine under KVM");
    let kvm = match accel::kvm_device() {
        Ok(()) => run(&qemu, Accel::Kvm, cpus),
        Err(reason) => Run { failure: Some(reason), ..Run::of(Accel::Kvm, cpus) },
    };
    progress.step("a machine under TCG");
    let runs = vec![kvm, run(&qemu, Accel::Tcg, cpus)];
    drop(progress);
    let host = Host {
        processor: processor(),
        cores,
        system: fs::read_to_string("/proc/version").unwrap_or_default().trim().to_owned(),
        qemu: version(&qemu),
        cpuid: FEATURES.iter().map(|&(_, leaf, subleaf, ..)| cpuid(leaf, subleaf)).fold(
            Vec::new(),
            |mut all, one| {
                if !all.contains(&one) {
                    all.push(one);
                }
                all
            },
        ),
    };
    Ok(Report { hadal: env!("CARGO_PKG_VERSION"), kernel: kernel::identity().to_string(), host, runs })
}

impl Run {
    fn of(accelerator: Accel, cpus: u32) -> Self {
        let accelerator = if accelerator == Accel::Kvm { "KVM" } else { "TCG" };
        Self { accelerator, cpus, passed: false, failure: None, machine: None }
    }
}

/// Boots the kernel, which tries its paths and reports.
fn run(qemu: &Path, accel: Accel, cpus: u32) -> Run {
    let blank = Run::of(accel, cpus);
    let boot = match Boot::plain(RunConfig::report()) {
        Ok(boot) => boot,
        Err(error) => return Run { failure: Some(format!("{error:#}")), ..blank },
    };
    let session = Session {
        spec: MachineSpec {
            qemu: qemu.to_path_buf(),
            accel,
            cpus,
            memory_bytes: 256 << 20,
            numa_nodes: 1,
            numa_distance: 20,
            gdb_port: None,
        },
        boot,
        mounts: Vec::new(),
        log: LogSink::Quiet,
        reports: ReportTarget::Nowhere,
        time_limit: Some(LIMIT),
        forward_signals: false,
        listed: None,
    };
    match session.run() {
        Ok(outcome) => Run {
            passed: outcome.paths.as_ref().is_some_and(works),
            failure: outcome.paths.is_none().then(|| "the kernel did not report".to_owned()),
            machine: outcome.paths,
            ..blank
        },
        Err(Failure::QemuFailed { cause: Cause::Unknown, ended, output }) => {
            let last = output.lines().last().unwrap_or_default().trim();
            let failure = format!("QEMU could not start the machine ({ended}): {last}");
            Run { failure: Some(failure), ..blank }
        }
        Err(failure) => Run { failure: Some(failure.to_string()), ..blank },
    }
}

/// Whether no trial has failed.
fn works(paths: &Paths) -> bool {
    !paths.paths.is_empty() && !paths.paths.iter().any(|path| matches!(path.trial, Trial::Failed(_)))
}

fn cpuid(leaf: u32, subleaf: u32) -> CpuidLeaf {
    let last = core::arch::x86_64::__cpuid(leaf & 0x8000_0000).eax;
    let registers = if leaf > last {
        [0; 4]
    } else {
        let answer = core::arch::x86_64::__cpuid_count(leaf, subleaf);
        [answer.eax, answer.ebx, answer.ecx, answer.edx]
    };
    CpuidLeaf { leaf, subleaf, registers }
}

fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    name.map_or_else(|| "unknown".to_owned(), |(_, name)| name.to_owned())
}

fn version(qemu: &Path) -> String {
    let output = Command::new(qemu).arg("--version").output().map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&output).lines().next().unwrap_or("unknown").to_owned()
}

fn in_words(report: &Report) -> String {
    let host = &report.host;
    let mut text = format!(
        "hadal {}, kernel {}\nhost: {}, {} cores\n      {}\n      {}\n      offers: {}\n",
        report.hadal,
        report.kernel,
        host.processor,
        host.cores,
        host.system,
        host.qemu,
        offered(&host.cpuid)
    );
    for run in &report.runs {
        let verdict = if run.passed { "everything works" } else { "DOES NOT WORK" };
        let _ = writeln!(text, "\n{} with {} CPUs: {verdict}", run.accelerator, run.cpus);
        if let Some(why) = &run.failure {
            let _ = writeln!(text, "  {why}");
        }
        let Some(machine) = &run.machine else { continue };
        let _ = writeln!(text, "  {:20}  {}", "CPUID offers", offered(&machine.cpuid));
        for path in &machine.paths {
            let trial = match &path.trial {
                Trial::Passed(what) => format!(" (works: {what})"),
                Trial::Failed(what) => format!(" (FAILS: {what})"),
                Trial::None => String::new(),
            };
            let _ = writeln!(text, "  {:20}  {}{trial}", path.part, path.choice);
        }
    }
    text
}

/// Names of the features that these leaves offer.
fn offered(leaves: &[CpuidLeaf]) -> String {
    let has = |&(_, leaf, subleaf, register, bit): &Feature| {
        leaves
            .iter()
            .any(|one| (one.leaf, one.subleaf) == (leaf, subleaf) && one.registers[register] >> bit & 1 != 0)
    };
    let names: Vec<&str> = FEATURES.iter().filter(|feature| has(feature)).map(|feature| feature.0).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use hadal_abi::paths::Path as Tried;

    use super::*;

    fn paths(trial: Trial) -> Paths {
        let path = Tried { part: "timer".into(), choice: "TSC deadline".into(), trial };
        Paths {
            paths: vec![path],
            cpuid: vec![CpuidLeaf { leaf: 1, subleaf: 0, registers: [0, 0, 1 << 21, 0] }],
        }
    }

    fn report(trial: Trial) -> Report {
        let machine = paths(trial);
        let run = Run { passed: works(&machine), machine: Some(machine), ..Run::of(Accel::Tcg, 2) };
        let host =
            Host { processor: "P".into(), cores: 2, system: "S".into(), qemu: "Q".into(), cpuid: Vec::new() };
        Report { hadal: "0", kernel: "k".into(), host, runs: vec![run] }
    }

    #[test]
    fn a_failed_trial_is_told_and_is_a_failure_of_the_run() {
        let failed = report(Trial::Failed("it was early 3 times".into()));
        assert!(!failed.runs[0].passed);
        assert!(in_words(&failed).contains("TSC deadline (FAILS: it was early 3 times)"));
        assert!(in_words(&failed).contains("TCG with 2 CPUs: DOES NOT WORK"));
    }

    #[test]
    fn a_run_that_passed_names_paths_and_features() {
        let text = in_words(&report(Trial::Passed("on each CPU".into())));
        assert!(text.contains("CPUID offers          x2APIC\n"), "{text}");
        assert!(text.contains("TSC deadline (works: on each CPU)"), "{text}");
    }

    #[test]
    fn a_machine_that_reported_nothing_has_not_passed() {
        assert!(!works(&Paths::default()));
    }
}
