// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From the machine options of the command line to a [`MachineSpec`], and the `hadal machine` command.

use std::fs::{self, File};
use std::thread;

use anyhow::Context;
use hadal_abi::config::RunConfig;
use hadal_abi::machine::MAX_CPUS;

use crate::args::{MachineArgs, MachineOptions, ObserveOptions};
use crate::channel::ReportTarget;
use crate::failure::Failure;
use crate::live::Description;
use crate::log_tail::LogSink;
use crate::qemu::MachineSpec;
use crate::session::{Boot, Session};
use crate::values::Bytes;
use crate::{accel, dry_run, limits, paths};

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// Least memory of one NUMA node, in bytes.
const MIN_NODE_BYTES: u64 = 16 << 20;

/// What each CPU takes while the kernel starts, in bytes: what it keeps at hand of the allocators' included.
const MIN_CPU_BYTES: u64 = 512 << 10;

/// Most CPUs the command chooses by itself at least.
const DEFAULT_MIN_CPUS: u32 = 2;

/// Builds the machine that the options describe.
pub(crate) fn spec(options: &MachineOptions) -> Result<MachineSpec, Failure> {
    limits::raise_open_files()?;
    let qemu =
        paths::find_command(&options.qemu).ok_or_else(|| Failure::QemuMissing(options.qemu.clone()))?;
    let cpus = options.cpus();
    let memory = options.memory();
    if options.numa > cpus {
        return Err(Failure::setup(
            format!("--numa {}: more nodes than CPUs ({cpus})", options.numa),
            format!("use --cpus {} or more", options.numa),
        ));
    }
    if memory.0 / u64::from(options.numa) < MIN_NODE_BYTES {
        return Err(Failure::setup(
            format!(
                "--numa {}: {memory} leave less than {} for each node",
                options.numa,
                Bytes(MIN_NODE_BYTES)
            ),
            "give the machine more with --memory",
        ));
    }
    if memory.0 / u64::from(cpus) < MIN_CPU_BYTES {
        return Err(Failure::setup(
            format!("--cpus {cpus}: {memory} leave less than {} for each CPU", Bytes(MIN_CPU_BYTES)),
            format!("use --memory {}M or more, or fewer CPUs", u64::from(cpus) * MIN_CPU_BYTES / MIB + 1),
        ));
    }
    Ok(MachineSpec {
        accel: accel::choose(options.accel, options.icount, &qemu)?,
        qemu,
        cpus,
        memory_bytes: memory.0,
        numa_nodes: options.numa,
        numa_distance: options.numa_distance,
        gdb_port: None,
    })
}

/// How many CPUs of a machine can run at the same time, as the kernel should see it; 0 if that is not known. Those of a
/// machine that counts instructions take turns, and none of them ever waits for a core that another one has.
pub(crate) fn cores(options: &MachineOptions) -> u32 {
    let host = thread::available_parallelism().map_or(0, |cores| cores.get() as u32);
    match options.icount {
        true => host.max(options.cpus()),
        false => host,
    }
}

/// CPUs of a machine when nobody says how many: those of the host.
pub(crate) fn default_cpus() -> u32 {
    let host = thread::available_parallelism().map_or(1, |n| n.get() as u32);
    host.clamp(DEFAULT_MIN_CPUS, MAX_CPUS)
}

/// A quarter of the host's memory, between 1 and 8 GiB; QEMU takes it only as the guest touches it.
pub(crate) fn default_memory() -> Bytes {
    let quarter = host_memory().map_or(0, |(total, _)| total.0 / 4);
    Bytes(quarter.clamp(GIB, 8 * GIB) >> 20 << 20)
}

/// The host's memory, and what of it is free.
pub(crate) fn host_memory() -> Option<(Bytes, Bytes)> {
    let info = fs::read_to_string("/proc/meminfo").ok()?;
    let bytes = |name: &str| {
        let kib = info.lines().find_map(|line| line.strip_prefix(name)?.trim().strip_suffix("kB"))?;
        Some(Bytes(kib.trim().parse::<u64>().ok()? * 1024))
    };
    Some((bytes("MemTotal:")?, bytes("MemAvailable:")?))
}

/// Log filter of the kernel for these options.
pub(crate) fn log_filter(options: &ObserveOptions) -> String {
    match (options.log.is_empty(), &options.log_file) {
        (false, _) => options.log.join(","),
        (true, Some(_)) => "info".to_owned(),
        (true, None) => "warn".to_owned(),
    }
}

/// Where the kernel's log goes.
pub(crate) fn log_sink(options: &ObserveOptions) -> Result<LogSink, Failure> {
    Ok(match &options.log_file {
        Some(file) => {
            let opened = File::create(file).with_context(|| format!("--log-file {}", file.display()))?;
            LogSink::File(opened)
        }
        None if options.log.is_empty() => LogSink::Quiet,
        None => LogSink::Stderr,
    })
}

/// `hadal machine`: boots, prints what the kernel found, ends.
pub(crate) fn report(args: &MachineArgs) -> Result<u8, Failure> {
    let config = RunConfig { log_filter: log_filter(&args.observe), ..RunConfig::report() };
    boot(&args.machine, &args.observe, config, None)
}

/// Boots a machine that has no program and no files; reports go to standard output. With a description it is in the list of
/// live runs.
pub(crate) fn boot(
    machine: &MachineOptions,
    observe: &ObserveOptions,
    config: RunConfig,
    listed: Option<Description>,
) -> Result<u8, Failure> {
    let spec = spec(machine)?;
    let boot = Boot::plain(config)?;
    if observe.dry_run {
        return dry_run::print(&spec, boot, &[]);
    }
    let session = Session {
        spec,
        boot,
        mounts: Vec::new(),
        log: log_sink(observe)?,
        reports: ReportTarget::Stdout,
        time_limit: observe.timeout,
        forward_signals: true,
        listed,
    };
    Ok(session.run()?.status)
}
